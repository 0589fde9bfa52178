//! When another server is asked.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{Count, RetryCauses};

/// When another server is asked.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<RetryOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Retries")]
pub struct RetryOptions {
    /// How often a request is tried at most, the first time included.
    #[arg(long, value_name = "N", default_value = "3")]
    pub tries: Count<1, 100>,

    /// After what it is tried again: connect, timeout, broken and statuses, such as 503 or 5xx (repeatable, or with commas).
    ///
    /// connect: there was no connection. timeout: the response did not begin in time. broken: the connection was lost
    /// before the response, or what came was none. Once a response has begun for the client, nothing is tried again.
    #[arg(long, value_name = "LIST", default_value = "connect,timeout,broken")]
    pub retry_on: Vec<RetryCauses>,

    /// Try requests again too that may change something each time they come, such as POST.
    ///
    /// Without it, they are tried again only where no server can have seen them.
    #[arg(long)]
    pub retry_all_methods: bool,

    /// How many requests may be tried again, in per cent of those of the last seconds; a few always may.
    ///
    /// Servers that are overloaded are not asked several times as much.
    #[arg(long, value_name = "PERCENT", default_value = "20")]
    pub retry_budget: Count<0, 1000>,
}
