//! The options of `serow man`.

use std::path::PathBuf;

use clap::Args;

/// The options of `serow man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder for the pages; it is created if it does not exist.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
