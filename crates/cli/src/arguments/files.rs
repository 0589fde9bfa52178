//! The options of `serow files`: the folder to serve, and how.

use std::path::PathBuf;

use clap::Args;
use serow_config::options::{FolderOptions, GeneralOptions};

use crate::{script_option::ScriptOptions, terminal_lines::TerminalOptions};

/// The options of `serow files`.
#[derive(Debug, Args)]
pub(crate) struct FilesArguments {
    /// The folder to serve [default: the current folder]
    ///
    /// If the current folder contains an application (config.ru, app.psgi, manage.py, package.json …) and no index file,
    /// Serow names the command that runs it, and serves the folder only if DIR names it, as in 'serow .'.
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) folder: FolderOptions,
    #[command(flatten)]
    pub(crate) script: ScriptOptions,
    #[command(flatten)]
    pub(crate) general: GeneralOptions,

    /// Let people upload files with a form in the listing; the same as --write form.
    #[arg(long, conflicts_with = "write", help_heading = "Uploads")]
    pub(crate) upload: bool,

    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}
