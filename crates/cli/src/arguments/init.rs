//! The options of `serow init`.

use std::path::PathBuf;

use clap::Args;

/// The options of `serow init`.
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The folder of the site or application.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// Print the settings instead of writing DIR/serow.toml.
    #[arg(long)]
    pub(crate) print: bool,
}
