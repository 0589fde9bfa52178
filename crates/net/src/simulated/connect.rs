//! Connecting in memory, with the names of `connect.rs`.

use std::io;

use crate::{Destination, Socket, simulated};

impl Destination {
    /// Opens a connection to what listens in this thread.
    ///
    /// # Errors
    ///
    /// Nothing listens there, or it is a unix socket.
    pub async fn connect(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(address) => {
                simulated::require_descriptor()?;
                simulated::connect_over(simulated::link(), *address).await
            }
            Self::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
