//! Log lines about request bodies that are longer than the limit.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use serow_message::{Peer, RequestHead};
use serow_net::monotonic;

/// Logs that the server refused a request since its body is longer than `limit`. The administrator may not know of the
/// limit, so this is a warning; clients could fill the log, so there is at most one per second.
pub(crate) fn note(request: Option<&RequestHead>, peer: Peer, limit: u64) {
    /// The second in which the last warning was written, plus one.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = monotonic().as_secs() + 1;
    let refused = Refused(request);
    match LAST.swap(now, Ordering::Relaxed) == now {
        true => tracing::debug!(%peer, "{refused} refused with 413, since its body is longer than {limit} bytes"),
        false => {
            tracing::warn!(
                %peer,
                "{refused} refused with 413, since its body is longer than {limit} bytes; max-body (--max-body) sets the \
                 limit"
            )
        }
    }
}

/// A request with its method and path, where they are known; the query may have secrets in it.
struct Refused<'a>(Option<&'a RequestHead>);

impl fmt::Display for Refused<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(head) = self.0 else { return formatter.write_str("a request was") };
        let path = head.target.path().as_bytes();
        let shown = path.get(..MAX_PATH_LENGTH).unwrap_or(path);
        let more = if shown.len() < path.len() { "…" } else { "" };
        write!(formatter, "{} {}{more}:", head.method.as_str().escape_default(), shown.escape_ascii())
    }
}

/// A client chooses the path, and not how long the lines of the log are.
const MAX_PATH_LENGTH: usize = 200;
