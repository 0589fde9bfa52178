//! Where lines are written.

mod command;
mod file;

use self::{command::Command, file::LogFile};
use super::{AccessLogError, destination::Destination, sink_error::SinkError, syslog::Link};

/// Takes lines, one call at a time, on a thread that may wait.
pub(super) enum Sink {
    File(LogFile),
    Command(Command),
    Syslog(Link),
}

impl Sink {
    /// Opens a file. Commands start and collectors are connected with the first line: a collector that is down does not
    /// keep the server from starting, and a command must not inherit sockets that the server is opening.
    pub(super) fn open(destination: Destination) -> Result<Self, AccessLogError> {
        Ok(match destination {
            Destination::StandardOutput => Self::File(LogFile::standard_output()?),
            Destination::StandardError => Self::File(LogFile::standard_error()?),
            Destination::File(path) => Self::File(LogFile::open(path)?),
            Destination::Command(line) => Self::Command(Command::new(line)),
            Destination::Syslog(address) => Self::Syslog(Link::new(address)),
        })
    }

    /// Writes whole lines, or goes on with them; gives how many bytes of them need no other call.
    pub(super) fn write(&mut self, lines: &[u8]) -> (usize, Result<(), SinkError>) {
        match self {
            Self::File(file) => file.write(lines),
            Self::Command(command) => command.write(lines),
            Self::Syslog(link) => link.write(lines),
        }
    }

    /// Opens a file again: log rotation has moved it away.
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
