//! Retries.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{Count, RetryCauses};

/// Retries.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<RetryOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Retries")]
pub struct RetryOptions {
    /// Maximum number of attempts for a request, the first one included.
    #[arg(long, value_name = "N", default_value = "3")]
    pub tries: Count<1, 100>,

    /// Failures to retry: connect, timeout, broken and statuses, such as 503 or 5xx (repeatable, or separated by
    /// commas).
    ///
    /// connect: the connection failed. timeout: the response did not begin in time. broken: the connection was lost
    /// before the response, or the response was invalid. Once the client has received the beginning of a response,
    /// nothing is retried.
    #[arg(long, value_name = "LIST", default_value = "connect,timeout,broken")]
    pub retry_on: Vec<RetryCauses>,

    /// Retry non-idempotent requests too, such as POST.
    ///
    /// By default they are retried only if no server can have received them.
    #[arg(long)]
    pub retry_all_methods: bool,

    /// Maximum share of retries, in per cent of the requests of the last seconds; a few retries are always allowed.
    ///
    /// It keeps retries from multiplying the load of overloaded servers.
    #[arg(long, value_name = "PERCENT", default_value = "20")]
    pub retry_budget: Count<0, 1000>,
}
