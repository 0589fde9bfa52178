//! How much a peer may send, and ask for, before it is refused.

use serow_streams::MessageLimits;

/// Limits on what is received. Each answers a way to use up memory or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, or of trailers, counted as RFC 9114 §4.2.2 does it (32 for each field beside its text); 32 KiB,
    /// as for HTTP/1. Also bounds what one field section may be on the wire: a small one can stand for a large head.
    pub head: usize,
    /// Header fields in a head; 100, as for HTTP/1.
    pub fields: usize,
    /// Bytes of `:path`; 8 KiB, as for HTTP/1.
    pub target: usize,
    /// Bytes of a body; no limit of its own (the service or the server sets one).
    pub body: u64,
    /// Requests that the client may have open at once; 128, as nginx has it. Each may keep a handler at work. QUIC's
    /// limit on streams, which the client learns, should be the same; one stream more is rejected.
    pub streams: u32,
    /// Bytes of field sections that one connection may have begun and not ended, or that wait for entries of QPACK's
    /// table; 512 KiB: each of 128 streams may begin with a head that is four times a usual one.
    pub sections: usize,
    /// Bytes of QPACK's dynamic table that the client's encoder may use; 4 KiB, as over HTTP/2 (RFC 7541 §4.2).
    pub qpack_table: u32,
    /// Streams that may wait for entries of that table; 16, as most implementations have it. Each holds its field
    /// section meanwhile.
    pub qpack_blocked: u16,
    /// Bytes of our own unidirectional streams, each, that wait for a peer that does not read them; 16 KiB.
    pub control: usize,
    /// Streams that may be cut off at once, by the peer or over its mistakes (CVE-2023-44487, CVE-2025-8671); 1000, and
    /// 33 more each second, as over HTTP/2.
    pub resets: u32,
    /// Frames and streams at once that ask for work and bring nothing (as CVE-2019-9512, -9515, -9516, -9518); 10,000,
    /// and 330 more each second, as over HTTP/2. Requests and data earn some more.
    pub idle_frames: u32,
    /// Whether requests may ask for another protocol in their stream (RFC 9220); yes.
    pub extended_connect: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: 32 * 1024,
            fields: 100,
            target: 8 * 1024,
            body: u64::MAX,
            streams: 128,
            sections: 512 * 1024,
            qpack_table: 4096,
            qpack_blocked: 16,
            control: 16 * 1024,
            resets: 1000,
            idle_frames: 10_000,
            extended_connect: true,
        }
    }
}

impl Limits {
    /// Those of messages.
    #[inline]
    pub(crate) fn of_messages(&self) -> MessageLimits {
        let Self { head, fields, target, body, extended_connect, .. } = *self;
        MessageLimits { head, fields, target, body, extended_connect }
    }

    /// Bytes of one field section on the wire. One is rarely longer than the head it stands for; twice that leaves room
    /// to say what is wrong with a head that is a little too large.
    pub(crate) fn section(&self) -> usize {
        self.head.saturating_mul(2)
    }
}
