//! Time limits for clients.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::Span;

/// Time limits for clients.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<TimeoutOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Timeouts")]
pub struct TimeoutOptions {
    /// Time limit for a request head, from its first byte to its last.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub head_timeout: Span,

    /// How long a keep-alive connection may be idle between two requests.
    #[arg(long, value_name = "TIME", default_value = "75s")]
    pub idle_timeout: Span,

    /// Time limit for each 4k of a request or response body.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub body_timeout: Span,

    /// How long requests in progress may take during a graceful shutdown; then their connections are closed.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub grace: Span,
}
