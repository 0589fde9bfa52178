//! That only one process at a time leaves an address.

use std::{net::SocketAddr, os::fd::OwnedFd, time::Duration};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with},
};
use tokio::time::{Instant, sleep};

/// Our turn to leave an address, until it is dropped: two that lead new connections to each other would lose them.
///
/// It is a name in the abstract namespace of unix sockets (unix(7)), which reaches as far as ports do, the network
/// namespace; and the kernel takes it back from a process that dies. Only those of one user share an address.
#[derive(Debug)]
pub(super) struct Turn {
    _name: OwnedFd,
}

impl Turn {
    /// Waits for the turn, until the deadline. A system that has no such names lets nobody wait.
    pub(super) async fn take(address: SocketAddr, deadline: Instant) -> Option<Self> {
        loop {
            match Self::try_take(address) {
                Ok(turn) => return Some(turn),
                Err(Errno::ADDRINUSE) if Instant::now() < deadline => sleep(PAUSE).await,
                Err(error) => {
                    tracing::debug!(%error, "leaving without waiting for a turn");
                    return None;
                }
            }
        }
    }

    /// Whether somebody leaves just now.
    pub(super) fn is_taken(address: SocketAddr) -> bool {
        matches!(Self::try_take(address), Err(Errno::ADDRINUSE))
    }

    fn try_take(address: SocketAddr) -> Result<Self, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        let name = format!("serow-{}-leaves-{address}", rustix::process::geteuid().as_raw());
        bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
        Ok(Self { _name: socket })
    }
}

/// A turn takes a tenth of a second where nobody is slow.
const PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_has_it_at_a_time() {
        let (address, elsewhere) = ("127.0.0.1:1".parse().unwrap(), "[::1]:1".parse().unwrap());
        let soon = || Instant::now() + Duration::from_millis(20);
        let turn = Turn::take(address, soon()).await;
        assert!(turn.is_some() && Turn::is_taken(address) && !Turn::is_taken(elsewhere));
        assert!(Turn::take(address, soon()).await.is_none());
        let (next, ()) = tokio::join!(Turn::take(address, soon() + PAUSE * 100), async { drop(turn) });
        assert!(next.is_some() && Turn::is_taken(address));
        drop(next);
        assert!(!Turn::is_taken(address));
    }
}
