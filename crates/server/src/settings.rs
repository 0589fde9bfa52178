//! The settings of a server.

use std::time::Duration;

use serow_pacing::Pacing;

use crate::versions::Versions;

/// The timeouts of connections. None expires early; those below 4 s expire at most a few milliseconds late, longer
/// ones at most half a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a head (of the connection, for the first) to its last; 10 s, as in h2o.
    /// Protects against slowloris, a head sent byte by byte.
    pub head: Duration,
    /// Between two requests of a connection; 75 s, as in nginx: browsers keep connections about that long.
    pub idle: Duration,
    /// For the next [`RENEWAL`](crate::Timeouts::RENEWAL) bytes of a body that the handler or the client
    /// waits for; 30
    /// s. Answers bodies sent by the byte, and readers that take a response by the byte to keep it in our memory.
    pub body: Duration,
    /// For requests in progress when the server stops; 30 s. Then the server closes their connections.
    pub grace: Duration,
}

impl Timeouts {
    /// The timeout starts again when the peer has sent or received this many bytes; so the minimum rate of a
    /// body is 4
    /// KiB per [`Self::body`] (140 bytes per second), which a modem exceeds and which makes an attack with slow
    /// connections expensive.
    pub const RENEWAL: usize = 4 * 1024;
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body: Duration::from_secs(30),
            grace: Duration::from_secs(30),
        }
    }
}

/// The limits on connections and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time, all workers together. At the limit, the one that has been idle for the
    /// longest is
    /// closed in favour of a new one, if it has been idle for a second; while all are busy, new ones wait in the
    /// kernel's queue until one ends, so a flood costs neither memory nor descriptors. (When several workers
    /// accept at
    /// the same moment, each may let one in beyond it.) 0 disables this limit; then the limit of open files applies.
    pub connections: usize,
    /// Bytes of a request's body; 413 beyond. 10 MiB: without a limit, any client could fill the memory or disk of a
    /// handler that stores bodies.
    /// `u64::MAX` disables this limit.
    pub body: u64,
    /// Bytes of a head; 431 beyond.
    pub head: usize,
    /// Header fields; 431 beyond. At most 128.
    pub fields: usize,
    /// Bytes of a request target; 414 beyond.
    pub target: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let serow_http1::Limits { head, fields, target, .. } = serow_http1::Limits::default();
        Self { connections: 0, body: MAX_BODY, head, fields, target }
    }
}

impl Limits {
    pub(crate) fn http1(&self) -> serow_http1::Limits {
        let Self { body, head, fields, target, .. } = *self;
        let target = target.min(MAX_TARGET_LENGTH);
        serow_http1::Limits { body, head, fields, target, ..serow_http1::Limits::default() }
    }

    #[cfg(feature = "http3")]
    pub(crate) fn http3(&self) -> serow_http3::Limits {
        let Self { body, head, fields, target, .. } = *self;
        let target = target.min(MAX_TARGET_LENGTH);
        serow_http3::Limits { body, head, fields, target, ..serow_http3::Limits::default() }
    }

    #[cfg(feature = "http2")]
    pub(crate) fn http2(&self) -> serow_http2::Limits {
        let Self { body, head, fields, target, .. } = *self;
        let target = target.min(MAX_TARGET_LENGTH);
        serow_http2::Limits { body, head, fields, target, ..serow_http2::Limits::default() }
    }
}

/// Room for a photograph or a document; nginx allows 1 MiB, which many administrators raise first.
const MAX_BODY: u64 = 10 << 20;

/// The limit of `http::Uri`: a longer target could not be passed to a service.
const MAX_TARGET_LENGTH: usize = u16::MAX as usize - 1;

/// Whether connections begin with a PROXY header (HAProxy's protocol, versions 1 and 2), in which a proxy in front
/// sends the client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "proxy-protocol"), allow(unreachable_pub, reason = "without the feature, nobody can set it"))]
pub enum ProxyProtocol {
    /// They do not begin with one.
    #[default]
    Off,
    /// All do; the server closes a connection that does not. Only for listeners that only the proxy can reach: a
    /// client that sends the header can claim any address.
    Required,
}

impl ProxyProtocol {
    pub(crate) fn is_required(self) -> bool {
        self == Self::Required
    }
}

/// All settings of a running server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
    pub(crate) proxy_protocol: ProxyProtocol,
    pub(crate) pacing: Pacing,
    pub(crate) versions: Versions,
}
