//! The destination of standard output and error, of the supervisor and its workers.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Command, Stdio},
    str::FromStr,
};

use rustix::stdio::{dup2_stderr, dup2_stdout};

/// The destination of standard output and error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDestination {
    /// A file, to which they are appended.
    File(PathBuf),
    /// A command that a shell runs and that reads them.
    Command(String),
}

impl LogDestination {
    /// Opens the destination.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        match self {
            Self::File(path) => File::options().append(true).create(true).open(path).map(OwnedFd::from),
            Self::Command(command) => {
                let mut shell = Command::new("/bin/sh");
                let child = shell.arg("-c").arg(command).stdin(Stdio::piped()).spawn()?;
                child.stdin.map(OwnedFd::from).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
            }
        }
    }
}

impl FromStr for LogDestination {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.trim_start().strip_prefix('|') {
            Some(command) => Self::Command(command.trim().to_owned()),
            None => Self::File(text.into()),
        })
    }
}

/// Redirects standard output and error to the destination.
pub(crate) fn redirect(destination: &OwnedFd) -> io::Result<()> {
    dup2_stdout(destination)?;
    dup2_stderr(destination)?;
    Ok(())
}

/// Writes a line; if that fails, there is no other place to report it.
pub(crate) fn line(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations() {
        for (text, expected) in [
            ("/var/log/a", LogDestination::File("/var/log/a".into())),
            ("| cat -n", LogDestination::Command("cat -n".to_owned())),
            (" |cat", LogDestination::Command("cat".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
    }
}
