//! The options of `serow run`.

use std::path::PathBuf;

use clap::Args;

use super::SettingsFileArguments;

/// The options of `serow run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) settings: SettingsFileArguments,

    /// File for the process ID; locked while the server runs.
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,

    /// Internal: this process is a worker generation.
    #[arg(long, hide = true)]
    pub(crate) generation: bool,
}
