//! What a handler can know of the connection its request came on.

use std::{net::SocketAddr, sync::Arc};

/// The connection a request came on. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    shared: Arc<Shared>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    peer: Peer,
    local: Option<SocketAddr>,
    scheme: Scheme,
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
        Self { shared: Arc::new(Shared { peer, local, scheme }) }
    }

    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.shared.peer
    }

    /// The address the client reached, where it is known.
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
