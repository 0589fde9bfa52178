//! Which settings file is meant.

use std::path::PathBuf;

use clap::Args;

/// Which settings file is meant.
#[derive(Debug, Args)]
pub(crate) struct SettingsFileArguments {
    /// The settings file; paths in it are relative to its folder.
    #[arg(short = 'c', long = "config", value_name = "FILE", default_value = "serow.toml")]
    pub(crate) file: PathBuf,
}

/// The options of `serow check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) settings: SettingsFileArguments,

    /// Print what the file says: all that differs from the defaults, each value in its shortest form.
    #[arg(long)]
    pub(crate) explain: bool,
}
