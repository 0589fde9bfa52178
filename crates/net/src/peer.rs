//! The other end of a connection.

use std::net::SocketAddr;

/// The other end of an accepted connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// Its IP address and port; an IPv4 address is one even if it came through a socket that listens on `[::]`.
    Tcp(SocketAddr),
    /// A process on this machine, through a unix socket.
    Unix,
}
