//! What lines are written to.

mod command;
mod file;

use std::{io, time::Duration};

use self::{command::Command, file::LogFile};
use super::{AccessLogError, destination::Destination, syslog::Link};

/// Takes lines, one call at a time, on a thread that may wait.
pub(super) enum Sink {
    File(LogFile),
    Command(Command),
    Syslog(Link),
}

/// Why no more was taken.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nobody will ever read it.
    Over(io::Error),
    /// Whoever reads it has not made room yet; it goes on where it stopped.
    Full,
    /// It may go on after a pause, where it stopped.
    Failed { reason: String, pause: Duration },
}

impl Sink {
    /// Opens a file. Commands are started and collectors are connected to when there is something for them: one that is not
    /// there yet is no reason not to serve, and a command must not inherit sockets that are only now being opened.
    pub(super) fn open(destination: Destination) -> Result<Self, AccessLogError> {
        Ok(match destination {
            Destination::StandardOutput => Self::File(LogFile::standard_output()?),
            Destination::File(path) => Self::File(LogFile::open(path)?),
            Destination::Command(line) => Self::Command(Command::new(line)),
            Destination::Syslog(address) => Self::Syslog(Link::new(address)),
        })
    }

    /// Writes whole lines, or goes on with them; gives how many bytes of them need no other call.
    pub(super) fn write(&mut self, lines: &[u8]) -> (usize, Result<(), Trouble>) {
        match self {
            Self::File(file) => file.write(lines),
            Self::Command(command) => command.write(lines),
            Self::Syslog(link) => link.write(lines),
        }
    }

    /// Opens a file anew: somebody has moved it away.
    pub(super) fn reopen(&mut self) {
        if let Self::File(file) = self {
            file.reopen();
        }
    }

    /// All is written.
    pub(super) fn finish(self) {
        if let Self::Command(command) = self {
            command.finish();
        }
    }
}
