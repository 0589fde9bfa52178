//! What `serow run` runs.

use std::path::PathBuf;

use clap::Args;

use super::SettingsFileArguments;

/// What is run.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) settings: SettingsFileArguments,

    /// A file for the process id, locked as long as the server runs.
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,

    /// A process that this command starts for itself.
    #[arg(long, hide = true)]
    pub(crate) generation: bool,
}
