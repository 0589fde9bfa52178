//! What a handler can know of the connection its request came on.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

/// The connection a request came on. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    shared: Arc<Shared>,
}

#[derive(Clone, Debug, Default)]
struct Shared {
    peer: Peer,
    credentials: Option<PeerCredentials>,
    local: Option<SocketAddr>,
    scheme: Scheme,
    encryption: Option<Encryption>,
}

/// What the handshake of an encrypted connection agreed upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// `TLSv1.3`, as nginx and Apache write it in their logs.
    pub version: &'static str,
    /// The name of the cipher suite in IANA's registry.
    pub cipher_suite: &'static str,
    /// The server that the client asked for (SNI, RFC 6066 §3), in lower case.
    pub server_name: Option<Arc<str>>,
    /// The client's certificate in DER, if it showed one; it has been checked.
    pub client_certificate: Option<Arc<[u8]>>,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peer {
    /// An address and port: the client's, or what a trusted proxy said in its PROXY header.
    Tcp(SocketAddr),
    /// A program on this machine, over a unix socket.
    #[default]
    Unix,
}

/// The process at the other end of a unix socket, as the kernel noted it when that connected (SO_PEERCRED).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Its id; `None` where it is in a PID namespace that this process does not see.
    pub process: Option<NonZeroU32>,
    /// Its effective user id.
    pub user: u32,
}

/// Whether the connection is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    #[default]
    Http,
    /// TLS.
    Https,
}

impl Connection {
    /// Describes a connection.
    #[must_use]
    pub fn new(peer: Peer, local: Option<SocketAddr>, scheme: Scheme) -> Self {
        Self { shared: Arc::new(Shared { peer, credentials: None, local, scheme, encryption: None }) }
    }

    /// Describes an encrypted connection.
    #[must_use]
    pub fn encrypted(peer: Peer, local: Option<SocketAddr>, encryption: Encryption) -> Self {
        Self {
            shared: Arc::new(Shared {
                peer,
                credentials: None,
                local,
                scheme: Scheme::Https,
                encryption: Some(encryption),
            }),
        }
    }

    /// How it is encrypted, if it is and that is known.
    #[must_use]
    pub fn encryption(&self) -> Option<&Encryption> {
        self.shared.encryption.as_ref()
    }

    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.shared.peer
    }

    /// The same connection, which this process opened at the other end.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Option<PeerCredentials>) -> Self {
        Arc::make_mut(&mut self.shared).credentials = credentials;
        self
    }

    /// Which process is at the other end, where that is known: of a unix socket on Linux.
    #[must_use]
    pub fn credentials(&self) -> Option<PeerCredentials> {
        self.shared.credentials
    }

    /// The address of this machine that the connection came to; `None` for a unix socket, and where it is not known.
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
