//! Connecting in memory, with the names of `connect.rs`.

use std::{fmt, io, net::SocketAddr, path::PathBuf};

use crate::{Socket, simulated};

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl Destination {
    /// Opens a connection to what listens in this thread.
    ///
    /// # Errors
    ///
    /// Nothing listens there, or it is a unix socket.
    pub async fn connect(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(address) => simulated::connect(*address).await,
            Self::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}
