//! The options of `serow app`: the application to run, and how.

use std::ffi::OsString;

use clap::Args;
use serow_config::options::{ApplicationOptions, GeneralOptions};

use crate::{
    response_options::ResponseOptions, script_option::ScriptOptions, static_files::StaticOptions,
    terminal_lines::TerminalOptions,
};

/// The options of `serow app`.
#[derive(Debug, Args)]
pub(crate) struct AppArguments {
    /// config.ru, app.psgi, module:callable for Python, as in project.wsgi:application, or for PHP a folder or a script.
    #[arg(required_unless_present = "command", conflicts_with = "command", value_name = "FILE")]
    pub(crate) application: Option<OsString>,

    /// A program that serves HTTP, with its arguments; {port} and {socket} are replaced by the address to listen on.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) run: ApplicationOptions,
    #[command(flatten)]
    pub(crate) static_files: StaticOptions,
    #[command(flatten)]
    pub(crate) responses: ResponseOptions,
    #[command(flatten)]
    pub(crate) script: ScriptOptions,
    #[command(flatten)]
    pub(crate) general: GeneralOptions,
    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}
