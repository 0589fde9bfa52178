//! The error of a run.

use std::{error::Error, fmt, io};

use crate::{BatchError, report, script::ScriptError};

/// The error of a run: not of a single request, but one that concerns all of them.
#[derive(Debug)]
pub enum LoadError {
    /// The system refused a resource that a thread needs.
    System(io::Error),
    /// The script has an error.
    Script(ScriptError),
    /// The script returned an invalid request.
    ScriptRequest(BatchError),
    /// The server does not speak the requested version of HTTP.
    NotHttp {
        /// The requested version.
        version: http::Version,
        /// The violation.
        reason: String,
        /// The first bytes that it sent, as far as they are printable.
        beginning: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(formatter, "the system refused a resource that the run needs: {error}"),
            Self::Script(error) => error.fmt(formatter),
            Self::ScriptRequest(error) => write!(formatter, "the script's request cannot be sent: {error}"),
            Self::NotHttp { reason, beginning, .. } if beginning.is_empty() => formatter.write_str(reason),
            // It speaks the requested version, but violates it; the others do not begin like this.
            Self::NotHttp { version, reason, beginning }
                if *version != http::Version::HTTP_2 && beginning.starts_with("HTTP/1.") =>
            {
                write!(formatter, "{reason}; its response begins with \"{beginning}\"")
            }
            Self::NotHttp { version, beginning, .. } => {
                let version = report::version(*version);
                write!(formatter, "the server does not speak {version}; its response begins with \"{beginning}\"")
            }
        }
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::System(error) => Some(error),
            Self::Script(error) => error.source(),
            Self::ScriptRequest(error) => Some(error),
            Self::NotHttp { .. } => None,
        }
    }
}

impl From<ScriptError> for LoadError {
    fn from(error: ScriptError) -> Self {
        Self::Script(error)
    }
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
