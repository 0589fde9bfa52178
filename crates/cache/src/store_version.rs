//! The instants that order requests and invalidations.

/// The instant at which a request was forwarded. A response to the request is stored only if its URI was not invalidated
/// since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreVersion(pub(crate) u64);
