//! How much a peer may send, and ask for, before it is refused.

use core::time::Duration;

use serow_streams::MessageLimits;

/// Limits on what is received. Each answers a way to use up memory or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, or of trailers, counted as RFC 9113 §6.5.2 does it (32 for each field beside its text); 32 KiB,
    /// as for HTTP/1. Also bounds what one header block may be on the wire: a small block can stand for a large head.
    pub head: usize,
    /// Header fields in a head; 100, as for HTTP/1.
    pub fields: usize,
    /// Bytes of `:path`; 8 KiB, as for HTTP/1.
    pub target: usize,
    /// Bytes of a body; no limit of its own (the service or the server sets one).
    pub body: u64,
    /// Streams that the peer may have open at once; 128, as nginx has it. Each may keep a handler at work.
    pub streams: u32,
    /// Bytes of data that one connection may have in flight, and so in memory where nobody reads them, once its reader
    /// has shown that it reads that fast; 16 MiB, which fills a gigabit over 130 ms.
    pub window: u32,
    /// Bytes of data that a new stream may send unasked; 65,535, where HTTP/2 itself begins (RFC 9113 §6.9.2).
    pub stream_window: u32,
    /// Bytes that the window of a stream may grow to; no limit of its own, so two thirds of the connection's. Where it
    /// is no more than `stream_window`, nothing grows, and the connection's window is `window` from the beginning.
    pub largest_stream_window: u32,
    /// Bytes of control frames that wait for a peer that does not read; 16 KiB, about a thousand answers to PING
    /// (CVE-2019-9512, CVE-2019-9515). nghttp2 holds a thousand frames.
    pub control: usize,
    /// Streams that may be cut off at once, by the peer or over its mistakes (CVE-2023-44487, CVE-2025-8671); 1000, and
    /// 33 more each second, as nghttp2 has it: a browser that leaves a page cuts off a hundred.
    pub resets: u32,
    /// Frames at once that ask for work and bring nothing (CVE-2019-9512, -9515, -9516, -9518); 10,000, and 330 more
    /// each second, as nghttp2 has it. Requests and data earn some more.
    pub idle_frames: u32,
    /// How long the peer may take to acknowledge our settings; 30 s, so that the slowest link does it.
    pub settings_time: Duration,
    /// Whether requests may ask for another protocol in their stream (RFC 8441); yes.
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
            window: 16 << 20,
            stream_window: 65_535,
            largest_stream_window: u32::MAX,
            control: 16 * 1024,
            resets: 1000,
            idle_frames: 10_000,
            settings_time: Duration::from_secs(30),
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

    /// Bytes of one header block on the wire. A block is rarely longer than the head it stands for; twice that leaves
    /// room to answer a head that is too large with 431, for which the whole block must be decoded.
    pub(crate) fn block(&self) -> usize {
        self.head.saturating_mul(2).max(LEAST_BLOCK)
    }

    /// Frames of one header block (CVE-2024-27316): as many as its bytes may fill, and eight more, as nghttp2 has it.
    pub(crate) fn continuations(&self) -> u32 {
        8 + (self.block() / LEAST_BLOCK) as u32
    }
}

/// RFC 9113 §4.2: a frame of this size is always taken.
const LEAST_BLOCK: usize = 16 * 1024;
