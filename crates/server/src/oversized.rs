//! What the log says of bodies that are longer than allowed.

use std::sync::atomic::{AtomicU64, Ordering};

use serow_message::Peer;
use serow_net::monotonic;

/// A request was refused since its body is longer than `limit`. Who runs the server may not know of the limit, so this is a
/// warning; clients could fill the log, so there is one a second.
pub(crate) fn note(peer: Peer, limit: u64) {
    /// The second in which the last warning was written, and one more.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = monotonic().as_secs() + 1;
    match LAST.swap(now, Ordering::Relaxed) == now {
        true => tracing::debug!(?peer, "a request was refused: its body is longer than {limit} bytes"),
        false => {
            tracing::warn!(?peer, "413: a body is longer than {limit} bytes; --max-body (max-body) sets the limit")
        }
    }
}
