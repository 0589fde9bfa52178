//! Application protocols inside TLS.

/// An application protocol inside TLS, negotiated by ALPN (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112).
    Http1,
    /// HTTP/2 (RFC 9113).
    Http2,
}

impl Protocol {
    /// The name in IANA's registry of ALPN protocol IDs.
    #[must_use]
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }

    /// The protocol of this name.
    #[must_use]
    pub fn of_name(name: &[u8]) -> Option<Self> {
        [Self::Http1, Self::Http2].into_iter().find(|protocol| protocol.name() == name)
    }
}
