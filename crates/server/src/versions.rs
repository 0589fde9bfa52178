//! The versions of HTTP on TCP connections, and the choice among them.

use std::ops::ControlFlow;

use crate::status::{Counter, Counters};

/// The versions of HTTP that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// HTTP/1 and HTTP/2, as the client chooses: by ALPN (RFC 7301), or without TLS by its first bytes (RFC
    /// 9113 §3.3).
    #[default]
    Both,
    /// HTTP/1.1 and 1.0.
    Http1,
    /// HTTP/2 only. A connection that does not begin with its preface gets a GOAWAY and is closed (RFC 9113 §3.4).
    Http2,
}

/// The version that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpokenVersion {
    Http1,
    Http2,
}

impl Versions {
    pub(crate) fn has_http1(self) -> bool {
        self != Self::Http2
    }

    pub(crate) fn has_http2(self) -> bool {
        self != Self::Http1
    }

    /// The version of a connection whose handshake did not agree on one, by its first bytes.
    pub(crate) fn recognize(self, input: &[u8], is_encrypted: bool) -> ControlFlow<SpokenVersion> {
        match self {
            Self::Http1 => ControlFlow::Break(SpokenVersion::Http1),
            // Whether it is one, the machine finds out.
            Self::Http2 => ControlFlow::Break(SpokenVersion::Http2),
            // RFC 9113 §3.3: who wants HTTP/2 over TLS has to say so in the handshake.
            Self::Both if is_encrypted => ControlFlow::Break(SpokenVersion::Http1),
            Self::Both if input.starts_with(serow_http2::PREFACE) => ControlFlow::Break(SpokenVersion::Http2),
            Self::Both if serow_http2::PREFACE.starts_with(input) => ControlFlow::Continue(()),
            Self::Both => ControlFlow::Break(SpokenVersion::Http1),
        }
    }
}

impl SpokenVersion {
    /// The version that `h2` means in ALPN.
    pub(crate) const HTTP2: Option<Self> = Some(Self::Http2);

    /// Counts its connections: all, and the open ones.
    pub(crate) fn counters(self, counters: &Counters) -> (&Counter, &Counter) {
        match self {
            Self::Http1 => (&counters.begun_http1, &counters.open_http1),
            Self::Http2 => (&counters.begun_http2, &counters.open_http2),
        }
    }
}
