//! The addresses of servers.

use std::{fmt, net::SocketAddr, path::PathBuf};

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a unix socket; one that begins with `@` is a name in Linux's abstract namespace.
    Unix(PathBuf),
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}
