//! Which paths of a site a handler is for.

use std::fmt::Debug;

/// Which paths of a site a handler is for, where other handlers get the requests for some of them.
///
/// The router asks for the path of a request only. WebDAV reaches others as well: that of `Destination`, those below a
/// folder, those that `If` names. If another handler is for them, with rules of its own, they are refused.
pub trait PathScope: Debug + Send + Sync {
    /// Whether the handler gets the requests for a path, which is decoded and clean; that of a folder ends with a slash.
    fn receives(&self, path: &[u8]) -> bool;

    /// Whether another handler may get requests for a path.
    fn is_taken(&self, path: &[u8]) -> bool;
}
