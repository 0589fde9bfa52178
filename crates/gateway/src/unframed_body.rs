//! Responses whose end is not marked.

/// In the extensions of a response: only the end of its connection says where its body ends (RFC 9112 §6.3, rule 8), so a
/// body that was cut off looks like a complete one. Such a response must not be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnframedBody;
