//! The options of `serow stop`.

use clap::Args;

use super::AdminSocketArguments;
use crate::written::Span;

/// The options of `serow stop`.
#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    #[command(flatten)]
    pub(crate) admin_socket: AdminSocketArguments,

    /// How long to wait until the server has ended; 0 does not wait.
    ///
    /// The server itself cuts the requests that are still in progress after its --grace.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) timeout: Span,
}
