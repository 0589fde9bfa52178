//! On which side of a connection we are.

/// On which side of a connection we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}
