//! Why the admin endpoint cannot be opened.

use std::{error::Error, fmt, io};

/// Why the admin endpoint cannot be opened.
#[derive(Debug)]
pub enum AdminError {
    /// Its socket cannot be opened.
    Listen(serow::Error),
    /// Its thread cannot be started.
    Thread(io::Error),
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The library knows one option only that names an address, and it is not this one.
            Self::Listen(error) => write!(f, "{}", error.to_string().replace("with --listen", "with --admin")),
            Self::Thread(error) => write!(f, "cannot start its thread: {error}"),
        }
    }
}

impl Error for AdminError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Listen(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}
