//! A line of the log for what is there and cannot be opened: the client sees 403, 500 or 503, and not why.

use std::{os::unix::ffi::OsStrExt, path::Path};

use rustix::{io::Errno, process::geteuid};
use serow_message::LogLimit;

use crate::clock::milliseconds_of_system;

/// Says which file below the root could not be opened, and why.
#[cold]
pub(crate) fn log(root: &Path, path: &[u8], errno: Errno) {
    static LIMIT: LogLimit = LogLimit::new(1);
    let Some(left_out) = LIMIT.admit(milliseconds_of_system() / 1000) else { return };
    let path = root.join(std::ffi::OsStr::from_bytes(path));
    let (error, user) = (std::io::Error::from(errno), geteuid().as_raw());
    match left_out {
        // In quotes, with escapes: a name may hold a line break.
        0 => tracing::warn!("cannot open {path:?}: {error}; the server runs as uid {user}"),
        lines => tracing::warn!("cannot open {path:?}: {error}; the server runs as uid {user}; {lines} like it before"),
    }
}
