//! The live line: how it goes, on a terminal only.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use serow_load::{Interval, report};

/// Shows a line on standard error while a run goes, where that is a terminal.
pub(crate) struct Watcher {
    shows: bool,
    planned: Option<Duration>,
    errors: u64,
    is_shown: bool,
}

impl Watcher {
    pub(crate) fn new(planned: Option<Duration>) -> Self {
        Self { shows: io::stderr().is_terminal(), planned, errors: 0, is_shown: false }
    }

    /// A step is over.
    pub(crate) fn show(&mut self, step: &Interval) {
        self.errors += step.errors;
        if self.shows {
            let elapsed = step.start + step.length;
            let line = report::live(step, elapsed, self.planned, self.errors, width());
            // A terminal that is gone is not worth the run.
            let _ = write!(io::stderr(), "\r{line}{ERASE_REST}");
            let _ = io::stderr().flush();
            self.is_shown = true;
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr(), "\r{ERASE_REST}");
            let _ = io::stderr().flush();
        }
        self.shows = false;
    }
}

/// Columns of the terminal.
fn width() -> usize {
    rustix::termios::tcgetwinsize(io::stderr()).map_or(USUAL_WIDTH, |size| match size.ws_col {
        0 => USUAL_WIDTH,
        columns => usize::from(columns),
    })
}

/// ECMA-48 §8.3.41: from the cursor to the end of the line.
const ERASE_REST: &str = "\x1b[K";

/// Of a terminal that does not say.
const USUAL_WIDTH: usize = 80;
