//! What can be set.

use std::time::Duration;

use serow_pacing::Pacing;
use serow_tls::Protocol;

/// How long a peer may take. None ends early; those below 4 s end within a few milliseconds, longer ones within half a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a head (of the connection, for the first) to its last; 10 s, as h2o has it. Answers
    /// slowloris: a head sent byte by byte.
    pub head: Duration,
    /// Between two requests of a connection; 75 s, as nginx has it: browsers keep connections about that long.
    pub idle: Duration,
    /// For the next [`RENEWAL`](crate::Timeouts::RENEWAL) bytes of a body that somebody waits for, in either direction;
    /// 30 s. Answers bodies sent by the byte, and readers that take a response by the byte to keep it in our memory.
    pub body: Duration,
    /// For what runs when the server is told to stop; 30 s. Then it is cut.
    pub grace: Duration,
}

impl Timeouts {
    /// A slow peer gets its time again when it has moved this many bytes; so a body moves at 4 KiB in [`Self::body`] (140
    /// bytes a second) at the least, which a modem exceeds and an attacker with a thousand connections does not like.
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

/// How much a peer may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time, all workers together. At the limit, the one that has been waiting for a request for
    /// the longest is closed for a new one, if it has for a second; where all are busy, new ones wait in the kernel's
    /// queue until one ends, so a flood costs neither memory nor descriptors. (When several workers accept at the same moment, each may let one in beyond
    /// it.) 0 is no limit of its own; then the limit of open files is one.
    pub connections: usize,
    /// Bytes of a request's body; 413 beyond. 10 MiB: without a limit, whoever keeps bodies fills memory or disk for any client.
    /// `u64::MAX` is no limit; a service that takes longer bodies knows how many bytes it wants.
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

    pub(crate) fn http2(&self) -> serow_http2::Limits {
        let Self { body, head, fields, target, .. } = *self;
        let target = target.min(MAX_TARGET_LENGTH);
        serow_http2::Limits { body, head, fields, target, ..serow_http2::Limits::default() }
    }
}

/// Room for a photograph or a document; nginx takes 1 MiB, and many raise that at once.
const MAX_BODY: u64 = 10 << 20;

/// What `http::Uri` takes: a longer one could not be handed to a service.
const MAX_TARGET_LENGTH: usize = u16::MAX as usize - 1;

/// Whether connections begin with a PROXY header (HAProxy's protocol, versions 1 and 2), in which a proxy in front says
/// who the client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// They do not.
    #[default]
    Off,
    /// All do; one that does not is closed. Only for listeners that nobody but the proxy reaches: who can write the
    /// header can be anybody.
    Required,
}

/// Which versions of HTTP are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// HTTP/1 and HTTP/2, as the client likes: it says so by ALPN (RFC 7301), or without TLS by its first bytes (RFC 9113
    /// §3.3).
    #[default]
    Both,
    /// HTTP/1.1 and 1.0.
    Http1,
    /// HTTP/2. A connection that does not begin with its preface is told so in HTTP/2, and closed (RFC 9113 §3.4).
    Http2,
}

impl Versions {
    /// What is offered of these protocols by ALPN.
    pub(crate) fn choose(self, protocols: Vec<Protocol>) -> Vec<Protocol> {
        match self {
            Self::Both => protocols,
            Self::Http1 => vec![Protocol::Http1],
            Self::Http2 => vec![Protocol::Http2],
        }
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
