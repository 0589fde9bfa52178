//! Log lines about request bodies that are longer than the limit.

use std::sync::atomic::{AtomicU64, Ordering};

use serow_message::Peer;
use serow_net::monotonic;

/// Logs that the server refused a request since its body is longer than `limit`. The administrator may not know of the
/// limit, so this is a warning; clients could fill the log, so there is at most one per second.
pub(crate) fn note(peer: Peer, limit: u64) {
    /// The second in which the last warning was written, plus one.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = monotonic().as_secs() + 1;
    match LAST.swap(now, Ordering::Relaxed) == now {
        true => tracing::debug!(?peer, "refused a request: its body is longer than {limit} bytes"),
        false => {
            tracing::warn!(
                ?peer,
                "refused a request with 413: its body is longer than {limit} bytes; --max-body (max-body) sets the limit"
            )
        }
    }
}
