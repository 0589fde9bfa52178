//! How much a peer may send before it is refused.

/// Limits on what is received. Each answers a way to use up memory or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, or of trailers; 32 KiB. A peer that never ends its head would fill the memory. nginx takes four
    /// buffers of 8 KiB.
    pub head: usize,
    /// Header fields in a head; 100, as hyper and Apache have it. Each costs 16 bytes of list beside its text.
    pub fields: usize,
    /// Bytes of a request target; 8,000, the least that RFC 9112 §3 asks for, rounded as nginx does.
    pub target: usize,
    /// Bytes of a body; no limit of its own (the service or the server sets one).
    pub body: u64,
    /// Bytes of all chunk extensions of a body together; 16 KiB, as Go has it. They have no use, but one byte of data
    /// a chunk with a long extension makes a server read gigabytes for kilobytes (CVE-2023-39326).
    pub chunk_extensions: usize,
    /// Informational responses (1xx) to one request; 64. A server that never ends them keeps a client busy for as long
    /// as it likes. Early hints come once or twice; Go's client takes five.
    pub informational: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: 32 * 1024,
            fields: 100,
            target: 8 * 1024,
            body: u64::MAX,
            chunk_extensions: 16 * 1024,
            informational: 64,
        }
    }
}

/// RFC 9112 §3: a method longer than all that are known is answered with 501. The longest registered one,
/// `UPDATEREDIRECTREF`, has 17 letters.
pub(crate) const MAX_METHOD_LENGTH: usize = 32;
