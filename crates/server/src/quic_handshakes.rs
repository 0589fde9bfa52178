//! The handshakes of QUIC in progress, of which a flood of forged addresses would have any number.

use std::{cell::Cell, rc::Rc};

/// Counts the handshakes in progress of a worker.
#[derive(Debug, Default)]
pub(crate) struct Handshakes(Rc<Cell<usize>>);

/// Counts one handshake until it is dropped.
#[derive(Debug)]
pub(crate) struct HandshakeGuard(Rc<Cell<usize>>);

impl Handshakes {
    /// Counts one more.
    pub(crate) fn begin(&self) -> HandshakeGuard {
        self.0.set(self.0.get() + 1);
        HandshakeGuard(Rc::clone(&self.0))
    }

    /// Whether clients have to show first that their addresses are theirs.
    pub(crate) fn are_many(&self) -> bool {
        self.0.get() >= MANY_HANDSHAKES
    }
}

impl Drop for HandshakeGuard {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Handshakes in progress of one worker above which clients are asked for a round trip more (RFC 9000 §8.1.2). A busy
/// server has a few; a flood of forged addresses never ends one.
const MANY_HANDSHAKES: usize = 100;
