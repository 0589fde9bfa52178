//! `serow manual`: the manual, in Markdown.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::{command_error::CommandError, command_line::CommandLine};

/// Prints the manual.
pub(crate) fn print() -> Result<(), CommandError> {
    let text = serow_manual::markdown(CommandLine::command());
    io::stdout().write_all(text.as_bytes()).map_err(CommandError::output)
}
