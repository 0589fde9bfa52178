//! The data that servers and Redis exchange about a key of a limit.

/// A server's requests for a key since its last exchange, which it adds to the counts in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumption {
    /// The key as all servers call it.
    pub name: KeyName,
    /// How many requests were served, by their cost; fewer than none if responses have given some back.
    pub admitted: i32,
    /// How many requests came, served or not.
    pub demand: u32,
    /// The time in which they came, until now, in microseconds.
    pub span: u64,
    /// How far ahead of the present all requests end of which the server knows, in microseconds; negative if they have
    /// ended. It counts where Redis has lost what it knew.
    pub ahead: i64,
    /// When this was collected, by the clock of the server, in nanoseconds.
    pub at: u64,
}

/// The state of a key in Redis after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How far ahead of the present the requests of all servers end, in microseconds; negative if they have ended.
    pub ahead: i64,
    /// How many requests have come to all servers; it begins again after 2^31.
    pub total: u32,
}

/// A key as all servers call it: the beginning of the SHA-256 digest of its text. So values of requests are not in Redis,
/// keys have the same length, and nobody can find two that share a count.
pub type KeyName = [u8; 16];
