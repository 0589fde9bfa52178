//! The properties of a connection that a handler can see.

use std::{fmt, net::SocketAddr, num::NonZeroU32, sync::Arc};

/// The connection of a request. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    shared: Arc<ConnectionProperties>,
}

#[derive(Clone, Debug, Default)]
struct ConnectionProperties {
    peer: Peer,
    credentials: Option<PeerCredentials>,
    local: Option<SocketAddr>,
    scheme: Scheme,
    encryption: Option<Encryption>,
}

/// The result of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// `TLSv1.3`, as nginx and Apache write it in their logs.
    pub version: &'static str,
    /// The name of the cipher suite in IANA's registry.
    pub cipher_suite: &'static str,
    /// The server name that the client requested (SNI, RFC 6066 §3), in lower case.
    pub server_name: Option<Arc<str>>,
    /// The client's certificate in DER, if it sent one; it is verified.
    pub client_certificate: Option<Arc<[u8]>>,
    /// How far the handshake had come when the request arrived.
    pub stage: HandshakeStage,
}

/// How far a TLS handshake has come when a request arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandshakeStage {
    /// The request is early data (0-RTT, RFC 8446 §2.3): its packets may be a copy of those that a client sent earlier, so
    /// that a server should answer it only if that does no harm (RFC 8470 §3).
    EarlyData,
    /// The handshake is complete.
    #[default]
    Complete,
}

/// The peer of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peer {
    /// An address and port: the client's, or the one that a trusted proxy sent in its PROXY header.
    Tcp(SocketAddr),
    /// A program on this machine, over a unix socket.
    #[default]
    Unix,
}

impl fmt::Display for Peer {
    /// As the log names it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix => formatter.write_str("unix"),
        }
    }
}

/// The process at the other end of a unix socket, as the kernel recorded it at the connect (SO_PEERCRED).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Its id; `None` if it is in a PID namespace that this process does not see.
    pub process: Option<NonZeroU32>,
    /// Its effective user id.
    pub user: u32,
}

/// Whether the connection is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Without encryption.
    #[default]
    Http,
    /// TLS.
    Https,
}

impl Connection {
    /// A connection with these addresses.
    #[must_use]
    pub fn new(peer: Peer, local: Option<SocketAddr>, scheme: Scheme) -> Self {
        Self { shared: Arc::new(ConnectionProperties { peer, credentials: None, local, scheme, encryption: None }) }
    }

    /// An encrypted connection with these addresses.
    #[must_use]
    pub fn encrypted(peer: Peer, local: Option<SocketAddr>, encryption: Encryption) -> Self {
        Self {
            shared: Arc::new(ConnectionProperties {
                peer,
                credentials: None,
                local,
                scheme: Scheme::Https,
                encryption: Some(encryption),
            }),
        }
    }

    /// The result of the TLS handshake, if the connection is encrypted and this is known.
    #[must_use]
    pub fn encryption(&self) -> Option<&Encryption> {
        self.shared.encryption.as_ref()
    }

    /// The same connection for requests that arrive after its TLS handshake.
    #[must_use]
    pub fn with_complete_handshake(mut self) -> Self {
        if let Some(encryption) = &mut Arc::make_mut(&mut self.shared).encryption {
            encryption.stage = HandshakeStage::Complete;
        }
        self
    }

    /// The peer of a connection.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.shared.peer
    }

    /// The same connection from the other end, which this process opened.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Option<PeerCredentials>) -> Self {
        Arc::make_mut(&mut self.shared).credentials = credentials;
        self
    }

    /// The process at the other end, if it is known: of a unix socket on Linux.
    #[must_use]
    pub fn credentials(&self) -> Option<PeerCredentials> {
        self.shared.credentials
    }

    /// The local address of the connection; `None` for a unix socket, and if it is not known.
    #[must_use]
    pub fn local(&self) -> Option<SocketAddr> {
        self.shared.local
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.shared.scheme
    }
}
