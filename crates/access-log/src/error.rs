//! Why an access log cannot be opened.

use std::{error::Error, fmt, io, path::PathBuf};

/// Why an access log cannot be opened.
#[derive(Debug)]
pub enum AccessLogError {
    /// The file cannot be opened for writing.
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Standard output is closed.
    StandardOutput(io::Error),
    /// Standard error is closed.
    StandardError(io::Error),
    /// The system refuses a thread, or the handler of SIGUSR1.
    System(io::Error),
}

impl fmt::Display for AccessLogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, error } => {
                let path = path.display();
                write!(f, "cannot write the access log {path}: {error}; name another file with --access-log")
            }
            Self::StandardOutput(error) => write!(f, "cannot write the access log to standard output: {error}"),
            Self::StandardError(error) => write!(f, "cannot write a line for each request to standard error: {error}"),
            Self::System(error) => write!(f, "the system refuses what an access log needs: {error}"),
        }
    }
}

impl Error for AccessLogError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { error, .. }
            | Self::StandardOutput(error)
            | Self::StandardError(error)
            | Self::System(error) => Some(error),
        }
    }
}
