//! Accepting connections in as few system calls as the kernel allows.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with, getsockname};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::{AcceptError, Address, Listener, Peer};

/// A [`Listener`] in a tokio runtime, which accepts its connections.
///
/// A connection costs one `accept4`, which also makes it non-blocking and closed on exec; TCP_NODELAY it has from the
/// listening socket. A listener of all addresses of the machine adds a `getsockname`. One more call, when nothing is left to accept, precedes each sleep.
#[derive(Debug)]
pub struct Acceptor {
    listener: AsyncFd<Listener>,
    destination: Destination,
}

/// A new connection.
#[derive(Debug)]
pub struct Accepted {
    /// The socket: non-blocking, closed on exec, and if it is TCP, with TCP_NODELAY.
    pub socket: OwnedFd,
    /// The peer.
    pub peer: Peer,
    /// The address to which the peer connected; a unix socket has none.
    pub local: Option<SocketAddr>,
}

/// Where the connections of a listener come to.
#[derive(Clone, Copy, Debug)]
enum Destination {
    /// A unix socket.
    Unix,
    /// Always this address.
    Only(SocketAddr),
    /// Any address of the machine: the kernel knows that of each connection.
    Any,
}

impl Acceptor {
    /// Registers `listener` with the tokio runtime of this thread.
    ///
    /// # Errors
    ///
    /// When epoll takes no more descriptors (epoll_ctl(2)).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn new(listener: Listener) -> io::Result<Self> {
        // SAFETY: the socket is a private field that nothing ever replaces, so a listener has the same descriptor,
        // open, for as long as it lives; and the `AsyncFd` owns it.
        let listener = unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }?;
        let destination = Destination::of(listener.get_ref());
        Ok(Self { listener, destination })
    }

    /// Waits for the next connection. Dropping the future loses none.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`]: after one of its kinds accepting goes on, after the other it is over.
    pub async fn accept(&mut self) -> Result<Accepted, AcceptError> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// [`accept`](Self::accept) as a poll function; only the task that polled last is woken.
    ///
    /// It takes part in tokio's cooperative scheduling, so a flood of connections leaves the other tasks their turn.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`].
    pub fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Result<Accepted, AcceptError>> {
        loop {
            // No system call: tokio remembers that the socket was readable until that is cleared.
            let mut guard = ready!(self.listener.poll_read_ready(cx)).map_err(AcceptError::Fatal)?;
            match acceptfrom_with(guard.get_inner(), SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok((socket, peer)) => {
                    let local = self.destination.of_connection(&socket);
                    return Poll::Ready(Ok(Accepted { socket, peer: peer_of(peer), local }));
                }
                Err(errno) => match Failure::of(errno) {
                    Failure::NothingWaits => guard.clear_ready(),
                    Failure::ConnectionLost => {}
                    Failure::Exhausted => return Poll::Ready(Err(AcceptError::Exhausted(errno.into()))),
                    Failure::Fatal => return Poll::Ready(Err(AcceptError::Fatal(errno.into()))),
                },
            }
        }
    }

    /// Ready when a connection waits to be accepted, which it then still does; only the task that polled last is woken.
    ///
    /// # Errors
    ///
    /// See [`AcceptError::Fatal`].
    pub fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AcceptError>> {
        loop {
            let mut guard = ready!(self.listener.poll_read_ready(cx)).map_err(AcceptError::Fatal)?;
            // tokio's readiness may be outdated; if there is room, a failing accept4 finds that out.
            let mut descriptor = [PollFd::new(guard.get_inner(), PollFlags::IN)];
            match rustix::event::poll(&mut descriptor, Some(&Timespec::default())) {
                Ok(0) => guard.clear_ready(),
                Ok(_) => return Poll::Ready(Ok(())),
                Err(Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(AcceptError::Fatal(errno.into()))),
            }
        }
    }

    /// The listener inside.
    pub fn listener(&self) -> &Listener {
        self.listener.get_ref()
    }
}

impl Destination {
    fn of(listener: &Listener) -> Self {
        match listener.local_address() {
            Address::Tcp(address) if address.ip().is_unspecified() || is_transparent(listener, *address) => Self::Any,
            Address::Tcp(address) => Self::Only(canonical(*address)),
            Address::Unix(_) | Address::Descriptor(_) => Self::Unix,
        }
    }

    fn of_connection(self, connection: &OwnedFd) -> Option<SocketAddr> {
        match self {
            Self::Unix => None,
            Self::Only(address) => Some(address),
            Self::Any => SocketAddr::try_from(getsockname(connection).ok()?).ok().map(canonical),
        }
    }
}

/// Whether the listener, inherited from a parent, gets connections to other addresses than its own (IP_TRANSPARENT, ip(7)).
#[cfg(target_os = "linux")]
fn is_transparent(listener: &Listener, address: SocketAddr) -> bool {
    let socket = socket2::SockRef::from(listener);
    let result = if address.is_ipv4() { socket.ip_transparent_v4() } else { socket.ip_transparent_v6() };
    result.unwrap_or(true)
}

#[cfg(not(target_os = "linux"))]
fn is_transparent(_: &Listener, _: SocketAddr) -> bool {
    true
}

fn peer_of(address: Option<SocketAddrAny>) -> Peer {
    match address.map(SocketAddr::try_from) {
        Some(Ok(address)) => Peer::Tcp(canonical(address)),
        _ => Peer::Unix,
    }
}

/// An IPv4 address as such, where the kernel gives it as one of IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The consequence of an error of accept4 for accepting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    NothingWaits,
    ConnectionLost,
    Exhausted,
    Fatal,
}

impl Failure {
    fn of(errno: Errno) -> Self {
        match errno {
            Errno::AGAIN => Self::NothingWaits,
            // accept(2): the connection was broken while it waited, and each of these takes one off the queue, so
            // that trying again comes to an end. EINTR is a signal.
            Errno::CONNABORTED
            | Errno::INTR
            | Errno::NETDOWN
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH => Self::ConnectionLost,
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => Self::Exhausted,
            // Among them EPERM: on Linux it comes from a seccomp filter, which does not change.
            _ => Self::Fatal,
        }
    }
}

#[cfg(test)]
mod tests;
