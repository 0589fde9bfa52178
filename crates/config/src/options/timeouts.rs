//! How long a client may take.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::Span;

/// How long a client may take.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<TimeoutOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Timeouts")]
pub struct TimeoutOptions {
    /// For the head of a request, from its first byte to its last.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub head_timeout: Span,

    /// Between two requests of a connection.
    #[arg(long, value_name = "TIME", default_value = "75s")]
    pub idle_timeout: Span,

    /// For each 4k of a body, sent or received, that is waited for.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub body_timeout: Span,

    /// For what still runs when the server is told to stop; then it is cut.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub grace: Span,
}
