//! What `serow files` serves, and how.

use std::path::PathBuf;

use clap::Args;
use serow_config::options::{FolderOptions, GeneralOptions};

/// The options of `serow files`.
#[derive(Debug, Args)]
pub(crate) struct FilesArguments {
    /// The folder to serve.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) folder: FolderOptions,
    #[command(flatten)]
    pub(crate) general: GeneralOptions,
}
