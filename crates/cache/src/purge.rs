//! Purges: what is stored is removed, or becomes stale, before its time.

use crate::time::Time;

/// What a purge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeMode {
    /// It removes responses.
    Remove,
    /// They are stale from this moment on: they are validated before they are sent, or sent while they are validated, or in
    /// place of an error, as far as they may be.
    Outdate(Time),
}

/// Which responses a purge concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeTarget<'a> {
    /// Those of this URI, with all additions to its key.
    Uri(&'a str),
    /// Those whose URIs begin so.
    Prefix(&'a str),
    /// Those with this tag.
    Tag(&'a [u8]),
    /// All.
    Everything,
}
