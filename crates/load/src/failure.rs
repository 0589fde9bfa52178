//! Why a run cannot go on.

use std::{error::Error, fmt, io};

/// Why a run cannot go on: nothing that a single request meets, but what meets all of them.
#[derive(Debug)]
pub enum Failure {
    /// The system refuses what a thread needs.
    System(io::Error),
    /// What the server says is not what it was asked to speak; the beginning of it.
    NotHttp {
        /// Which version was asked for.
        version: http::Version,
        /// What it said first, as far as it can be shown.
        beginning: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(formatter, "the system refuses what the run needs: {error}"),
            Self::NotHttp { version, beginning } => {
                write!(formatter, "the server does not speak {version:?}; its answer begins with \"{beginning}\"")
            }
        }
    }
}

impl Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
