//! A line for each request on a terminal, for people who try a page or an application in a browser.

use std::io::{self, IsTerminal};

use clap::Args;
use serow_access_log::{Colour, Destination, Format};
use serow_assembly::ServerSettings;

use crate::error_log;

/// Whether requests are shown on a terminal.
#[derive(Debug, Args)]
pub(crate) struct TerminalOptions {
    /// Do not print a line for each request.
    ///
    /// Without an access log, Serow prints method, path, status, size and duration of each request on standard error, if
    /// that is a terminal.
    #[arg(short, long, help_heading = "Logs")]
    quiet: bool,
}

impl TerminalOptions {
    /// Shows requests, if standard error is a terminal and there is no access log.
    pub(crate) fn apply(&self, server: &mut ServerSettings) {
        if server.access_log.is_none() && !self.quiet && io::stderr().is_terminal() {
            let colour = if error_log::is_coloured() { Colour::On } else { Colour::Off };
            server.access_log = Some((Destination::StandardError, Format::Terminal(colour)));
        }
    }
}
