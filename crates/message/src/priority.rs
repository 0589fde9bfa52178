//! How urgent a response is to the client (RFC 9218).

/// RFC 9218 §4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Priority {
    /// From 0, the most urgent, to 7, which is for the background.
    pub urgency: u8,
    /// Whether the response is of use while it comes in, so that it may share with others.
    pub incremental: bool,
}

impl Priority {
    /// What holds where nothing is said (RFC 9218 §4.1, §4.2).
    pub const DEFAULT: Self = Self { urgency: 3, incremental: false };
}

impl Default for Priority {
    fn default() -> Self {
        Self::DEFAULT
    }
}
