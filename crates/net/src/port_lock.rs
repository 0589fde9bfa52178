//! A lock on a shared address, so that only one process at a time drains it.

use std::{net::SocketAddr, os::fd::OwnedFd, time::Duration};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with},
};
use tokio::time::{Instant, sleep};

/// The lock on a shared address, held until it is dropped: two processes that drain the same address at the same time
/// would direct new connections to each other and lose them.
///
/// It is a name in the abstract namespace of unix sockets (unix(7)), whose scope is that of ports, the network
/// namespace; and the kernel releases it when the process dies. Only processes of one user share an address.
#[derive(Debug)]
pub struct PortLock {
    _name: OwnedFd,
}

impl PortLock {
    /// Waits until no other process holds the lock, or the deadline; `None` then, and on a system without such names.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled.
    pub async fn acquire(address: SocketAddr, deadline: Instant) -> Option<Self> {
        loop {
            match Self::try_acquire(address) {
                Ok(lock) => return Some(lock),
                Err(Errno::ADDRINUSE) if Instant::now() < deadline => sleep(PAUSE).await,
                Err(error) => {
                    tracing::debug!(%error, "draining the port without the lock");
                    return None;
                }
            }
        }
    }

    fn try_acquire(address: SocketAddr) -> Result<Self, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        let name = format!("serow-{}-leaves-{address}", rustix::process::geteuid().as_raw());
        bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
        Ok(Self { _name: socket })
    }

    /// Whether some process holds the lock.
    #[must_use]
    pub fn is_held(address: SocketAddr) -> bool {
        matches!(Self::try_acquire(address), Err(Errno::ADDRINUSE))
    }
}

/// A drain takes a tenth of a second where nobody is slow.
const PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lock_is_held_by_one_process_until_it_is_dropped() {
        let (address, elsewhere) = ("127.0.0.1:1".parse().unwrap(), "[::1]:1".parse().unwrap());
        let soon = || Instant::now() + Duration::from_millis(20);
        let lock = PortLock::acquire(address, soon()).await;
        assert!(lock.is_some() && PortLock::is_held(address) && !PortLock::is_held(elsewhere));
        assert!(PortLock::acquire(address, soon()).await.is_none());
        let (next, ()) = tokio::join!(PortLock::acquire(address, soon() + PAUSE * 100), async { drop(lock) });
        assert!(next.is_some() && PortLock::is_held(address));
        drop(next);
        assert!(!PortLock::is_held(address));
    }
}
