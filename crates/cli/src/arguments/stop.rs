//! The options of `serow stop`.

use clap::Args;
use serow_config::values::Span;

use super::AdminClientArguments;

/// The options of `serow stop`.
#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    /// How long to wait until the server has ended; 0 does not wait.
    ///
    /// The server itself cuts the requests that are still in progress after its --grace.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) timeout: Span,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
