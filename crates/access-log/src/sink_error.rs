//! Why a sink took only a part of the lines.

use std::{io, time::Duration};

/// Why a sink took only a part of the lines.
#[derive(Debug)]
pub(crate) enum SinkError {
    /// The reader is gone for good.
    Closed(io::Error),
    /// The reader has not made room yet; writing continues where it stopped.
    WouldBlock,
    /// Writing may continue after a pause, where it stopped.
    Failed { reason: String, pause: Duration },
}
