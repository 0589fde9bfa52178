//! The report of a server's counters.

use std::time::{Duration, SystemTime};

/// The status of a server: the sums of all workers' counters. Workers go on counting meanwhile, so two numbers may
/// differ by what happened in between.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StatusReport {
    /// The version of Serow.
    pub version: &'static str,
    /// When the server began to listen.
    pub started: SystemTime,
    /// How long it has listened.
    pub uptime: Duration,
    /// The number of worker threads.
    pub workers: usize,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Requests, and the sizes of bodies.
    pub requests: RequestCounts,
    /// The streams of HTTP/2.
    pub http2: StreamCounts,
    /// The streams of HTTP/3.
    pub http3: StreamCounts,
    /// How long responses wait in the kernel behind one another.
    pub pacing: PacingCounts,
}

/// Connections, since the server started unless noted otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionCounts {
    /// Accepted, with and without TLS.
    pub accepted: u64,
    /// Open now, including tunnels and connections whose version of HTTP is not known yet.
    pub open: u64,
    /// Open now, with HTTP/1.
    pub open_http1: u64,
    /// Open now, with HTTP/2.
    pub open_http2: u64,
    /// Open now, with HTTP/3.
    pub open_http3: u64,
    /// Accepted by listeners without TLS.
    pub plain: u64,
    /// Accepted by TCP listeners with TLS.
    pub tls: u64,
    /// Accepted over QUIC.
    pub quic: u64,
    /// Connections negotiated to HTTP/1.
    pub http1: u64,
    /// Connections negotiated to HTTP/2.
    pub http2: u64,
    /// Connections negotiated to HTTP/3.
    pub http3: u64,
    /// Failed TLS handshakes, including timeouts. A client that disconnected without sending anything is not counted.
    pub handshakes_failed: u64,
    /// Closed because the required PROXY header was missing or malformed.
    pub refused: u64,
    /// Closed because the client was banned.
    pub refused_banned: u64,
    /// Closed because the client had as many as one may have.
    pub refused_per_client: u64,
}

/// Requests since the server started. The total is the sum of the finished ones and of those in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestCounts {
    /// All requests, including malformed ones that did not reach a handler.
    pub total: u64,
    /// Over HTTP/1.0 and 1.1.
    pub http1: u64,
    /// Over HTTP/2.
    pub http2: u64,
    /// Over HTTP/3.
    pub http3: u64,
    /// In progress: the response is not ready yet, or not completely sent.
    pub in_progress: u64,
    /// Responses with a status 1xx, which is 101: the connection became a tunnel.
    pub status_1xx: u64,
    /// Responses with a status 2xx.
    pub status_2xx: u64,
    /// Responses with a status 3xx.
    pub status_3xx: u64,
    /// Responses with a status 4xx, except 499.
    pub status_4xx: u64,
    /// Responses with a status 5xx.
    pub status_5xx: u64,
    /// Requests whose client disconnected before the response (499, as in nginx).
    pub status_499: u64,
    /// Responses with a status above 599.
    pub status_other: u64,
    /// Received bytes of request bodies.
    pub body_bytes_received: u64,
    /// Sent bytes of response bodies: handed to the kernel, or (HTTP/2) about to be.
    pub body_bytes_sent: u64,
}

/// The streams of HTTP/2 or HTTP/3, since the server started unless noted otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamCounts {
    /// Opened by clients.
    pub streams_opened: u64,
    /// Open now.
    pub streams_active: u64,
    /// Reset by clients.
    pub streams_reset_by_peer: u64,
    /// Reset by the server for any reason, including the refused ones.
    pub streams_reset_by_us: u64,
    /// Refused, since the client had reached the limit of concurrent streams.
    pub streams_refused: u64,
    /// Connections that the server closed because of an error, by error code (RFC 9113 §7, RFC 9114 §8.1); those with unknown codes
    /// come last.
    pub connection_errors: Vec<(ConnectionError, u64)>,
}

/// The error code with which the server closed an HTTP/2 or HTTP/3 connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The name of the code in its RFC, such as `PROTOCOL_ERROR` or `H3_FRAME_ERROR`.
    Code(&'static str),
    /// A code that the RFC does not define.
    Other,
}

impl StreamCounts {
    /// Builds the list from the counts, and the names of the codes that they belong to.
    pub(super) fn set_connection_errors(&mut self, counts: &[u64], name: impl Fn(u32) -> Option<&'static str>) {
        let known = counts.iter().zip(0..).skip(1).filter_map(|(count, place)| {
            let name = name(place)?;
            Some((ConnectionError::Code(name), *count))
        });
        let other = counts.first().map(|count| (ConnectionError::Other, *count));
        self.connection_errors = known.chain(other).collect();
    }
}

/// How long HTTP/2 bytes wait in a socket until the kernel sends them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacingCounts {
    /// Connections that have more to send than the network takes at present.
    pub connections_waiting: u64,
    /// The delays since the server started, weighted by bytes.
    pub queue_delay: DelayCounts,
}

/// A distribution of delays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DelayCounts {
    /// The number of delays.
    pub count: u64,
    /// The median; as all of these percentiles, up to an eighth too high, never too low. `None` without any delays.
    pub p50: Option<Duration>,
    /// The 90th percentile.
    pub p90: Option<Duration>,
    /// The 99th percentile.
    pub p99: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
    /// The number of delays per class, which is named by its longest delay. Empty classes are left out.
    pub buckets: Vec<(Duration, u64)>,
}
