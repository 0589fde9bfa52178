//! The options of `serow reload`.

use clap::Args;

use super::AdminClientArguments;

/// The options of `serow reload`.
#[derive(Debug, Args)]
pub(crate) struct ReloadArguments {
    /// Start a new process even if the running one can adopt the settings.
    ///
    /// A changed program gets one without this option.
    #[arg(long)]
    pub(crate) new_process: bool,

    #[command(flatten)]
    pub(crate) client: AdminClientArguments,
}
