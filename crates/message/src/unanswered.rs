//! Requests without a response.

/// In the extensions of a response: the client gets none of it. The server closes the connection, over HTTP/2 and 3 it resets
/// the stream, and logs the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered;
