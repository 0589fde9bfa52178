//! The numbers, as they are given out.

use std::time::{Duration, SystemTime};

use serow_http2::ErrorCode;

/// What a server has done and is doing: a moment's look at the counters of all workers. They go on counting meanwhile, so
/// two numbers may differ by what happened in between.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StatusReport {
    /// The version of Serow.
    pub version: &'static str,
    /// When it began to listen.
    pub started: SystemTime,
    /// For how long it has listened.
    pub uptime: Duration,
    /// How many threads serve.
    pub workers: usize,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Requests, and the bodies of requests and responses.
    pub requests: RequestCounts,
    /// The streams of HTTP/2.
    pub http2: StreamCounts,
    /// Whether responses wait in the kernel behind one another.
    pub pacing: PacingCounts,
}

/// Connections. Where nothing else is said, since the server began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionCounts {
    /// Accepted: plain ones and those with TLS.
    pub accepted: u64,
    /// Open just now. Those that became tunnels, and those that have not shown their version yet, are among them.
    pub open: u64,
    /// Open just now and speaking HTTP/1.
    pub open_http1: u64,
    /// Open just now and speaking HTTP/2.
    pub open_http2: u64,
    /// Accepted where there is no TLS.
    pub plain: u64,
    /// Accepted where there is TLS.
    pub tls: u64,
    /// That turned out to speak HTTP/1.
    pub http1: u64,
    /// That turned out to speak HTTP/2.
    pub http2: u64,
    /// Closed since no TLS could be agreed upon, or not in time. A client that left without a word is not counted.
    pub handshakes_failed: u64,
    /// Closed since they did not begin as they must: with the header of the PROXY protocol, where that is required.
    pub refused: u64,
}

/// Requests since the server began. All that have an answer, and those in progress, are all there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestCounts {
    /// All. Those that were so malformed that nobody was asked are among them.
    pub total: u64,
    /// Over HTTP/1.0 and 1.1.
    pub http1: u64,
    /// Over HTTP/2.
    pub http2: u64,
    /// Begun, and not over: the response is not made yet, or not sent.
    pub in_progress: u64,
    /// Answered with a status 1xx, which is 101: the connection became a tunnel.
    pub status_1xx: u64,
    /// Answered with a status 2xx.
    pub status_2xx: u64,
    /// Answered with a status 3xx.
    pub status_3xx: u64,
    /// Answered with a status 4xx, but for 499.
    pub status_4xx: u64,
    /// Answered with a status 5xx.
    pub status_5xx: u64,
    /// Not answered, since the client left before, as nginx writes it (499).
    pub status_499: u64,
    /// Answered with a status above 599.
    pub status_other: u64,
    /// Bytes received of requests' bodies.
    pub body_bytes_received: u64,
    /// Bytes sent of responses' bodies: handed to the kernel, or (HTTP/2) about to be.
    pub body_bytes_sent: u64,
}

/// Streams of HTTP/2. Where nothing else is said, since the server began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamCounts {
    /// Opened by clients.
    pub streams_opened: u64,
    /// Open just now.
    pub streams_active: u64,
    /// Cut off by clients.
    pub streams_reset_by_peer: u64,
    /// Cut off by the server, for whatever reason; those refused are among them.
    pub streams_reset_by_us: u64,
    /// Refused, since the client had as many as it may.
    pub streams_refused: u64,
    /// Connections that the server ended for an error, by its code (RFC 9113 §7). Last those with a code that the RFC does
    /// not know.
    pub connection_errors: Vec<(ConnectionError, u64)>,
}

/// Why the server ended a connection of HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The name of the code in RFC 9113 §7, such as `PROTOCOL_ERROR`.
    Code(&'static str),
    /// A code that is not there.
    Other,
}

impl StreamCounts {
    /// From the counts by code.
    pub(super) fn set_connection_errors(&mut self, counts: &[u64]) {
        let known = counts.iter().zip(0..).skip(1).filter_map(|(count, code)| {
            let name = ErrorCode(code).name()?;
            Some((ConnectionError::Code(name), *count))
        });
        let other = counts.first().map(|count| (ConnectionError::Other, *count));
        self.connection_errors = known.chain(other).collect();
    }
}

/// How long bytes of HTTP/2 wait in a socket until the kernel sends them, where they wait at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacingCounts {
    /// Connections that have more to send than goes out just now.
    pub connections_waiting: u64,
    /// The delays since the server began, once per byte.
    pub queue_delay: DelayCounts,
}

/// Delays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DelayCounts {
    /// How many there were.
    pub count: u64,
    /// What half of them do not exceed; as all of these up to an eighth too high, never too low. Nothing without any.
    pub p50: Option<Duration>,
    /// What 90 % do not exceed.
    pub p90: Option<Duration>,
    /// What 99 % do not exceed.
    pub p99: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
    /// How many were of each class, given by the longest delay that belongs to it. Classes without any are left out.
    pub buckets: Vec<(Duration, u64)>,
}
