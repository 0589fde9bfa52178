//! Why a run cannot go on.

use std::{error::Error, fmt, io};

use crate::{BatchError, report, script::ScriptError};

/// Why a run cannot go on: nothing that a single request meets, but what meets all of them.
#[derive(Debug)]
pub enum LoadError {
    /// The system refuses what a thread needs.
    System(io::Error),
    /// The script has a mistake.
    Script(ScriptError),
    /// What the script wants to send is no request.
    ScriptRequest(BatchError),
    /// What the server says is not what it was asked to speak; the beginning of it.
    NotHttp {
        /// Which version was asked for.
        version: http::Version,
        /// Which rule it broke.
        reason: String,
        /// What it said first, as far as it can be shown.
        beginning: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(formatter, "the system refuses what the run needs: {error}"),
            Self::Script(error) => error.fmt(formatter),
            Self::ScriptRequest(error) => write!(formatter, "the script's request cannot be sent: {error}"),
            Self::NotHttp { reason, beginning, .. } if beginning.is_empty() => formatter.write_str(reason),
            // It speaks what it was asked to, badly; in HTTP/2 nothing begins like this.
            Self::NotHttp { version, reason, beginning }
                if *version != http::Version::HTTP_2 && beginning.starts_with("HTTP/1.") =>
            {
                write!(formatter, "{reason}; its answer begins with \"{beginning}\"")
            }
            Self::NotHttp { version, beginning, .. } => {
                let version = report::version(*version);
                write!(formatter, "the server does not speak {version}; its answer begins with \"{beginning}\"")
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
