//! The mark of requests whose user is known.

/// In the extensions of a request: an access check has found out its user. The response of a handler may depend on the
/// user, whatever field the user was found in.
#[derive(Clone, Copy, Debug)]
pub struct Identified;
