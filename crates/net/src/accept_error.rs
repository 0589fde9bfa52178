//! Why no connection could be accepted.

use std::{error::Error, fmt, io, time::Duration};

/// Why no connection could be accepted.
#[derive(Debug)]
pub enum AcceptError {
    /// Descriptors or memory ran out, and the connection still waits in the queue: asking again at once would spin, so
    /// pause for [`PAUSE_AFTER_EXHAUSTION`] first.
    Exhausted(io::Error),
    /// The socket will never accept again.
    Fatal(io::Error),
}

impl fmt::Display for AcceptError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted(error) => write!(
                formatter,
                "cannot accept more connections for now ({error}); raise the limit of open files (ulimit -n) \
                 or lower that of connections"
            ),
            Self::Fatal(error) => write!(formatter, "cannot accept connections any more: {error}"),
        }
    }
}

impl Error for AcceptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Exhausted(error) | Self::Fatal(error) => Some(error),
        }
    }
}

/// How long to wait after [`AcceptError::Exhausted`].
///
/// Long enough that ten tries a second, each a failing system call and perhaps a line in the log, cost nothing; short
/// enough that clients, who wait in the kernel's queue meanwhile, hardly notice it. A descriptor only comes free when a
/// connection ends, and nothing tells us when one ends in another process (ENFILE).
pub const PAUSE_AFTER_EXHAUSTION: Duration = Duration::from_millis(100);
