//! A line of the log for what is there and cannot be opened: the client sees 403, 500 or 503, and not why.

use std::{
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{io::Errno, process::geteuid};

use crate::clock::milliseconds_of_system;

/// Says which file below the root could not be opened, and why.
#[cold]
pub(crate) fn log(root: &Path, path: &[u8], errno: Errno) {
    static LIMIT: Limit = Limit::new();
    let Some(left_out) = LIMIT.admit(milliseconds_of_system() / 1000) else { return };
    let path = root.join(std::ffi::OsStr::from_bytes(path));
    let (error, user) = (std::io::Error::from(errno), geteuid().as_raw());
    match left_out {
        // In quotes, with escapes: a name may hold a line break.
        0 => tracing::warn!("cannot open {path:?}: {error}; the server runs as uid {user}"),
        lines => tracing::warn!("cannot open {path:?}: {error}; the server runs as uid {user}; {lines} like it before"),
    }
}

/// At most one line a second: whoever asks for such a file a thousand times does not fill the disk.
struct Limit {
    /// The second of the last line, counted from 1; 0 is none.
    second: AtomicU64,
    /// Lines that were left out since.
    left_out: AtomicU64,
}

impl Limit {
    const fn new() -> Self {
        Self { second: AtomicU64::new(0), left_out: AtomicU64::new(0) }
    }

    /// Whether there may be a line in this second; how many were left out before it.
    fn admit(&self, second: u64) -> Option<u64> {
        let second = second + 1;
        if self.second.swap(second, Ordering::Relaxed) == second {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.left_out.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_line_a_second_that_counts_those_left_out() {
        let limit = Limit::new();
        let admitted: Vec<_> = [0, 0, 0, 1, 1, 5, 6].into_iter().map(|second| limit.admit(second)).collect();
        assert_eq!(admitted, [Some(0), None, None, Some(2), None, Some(1), Some(0)]);
    }
}
