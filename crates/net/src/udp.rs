//! UDP sockets for QUIC: groups that share a port, and datagrams received and sent in batches.

use std::{
    io::{self, IoSliceMut},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
    task::{Context, Poll, ready},
};

use quinn_udp::{RecvMeta, UdpSocketState};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, ipproto, socket_with, sockopt};
use tokio::io::Interest;

pub use quinn_udp::{EcnCodepoint, Transmit};

/// A UDP socket, registered with the event loop of the calling thread. Where the kernel can, one call receives or sends
/// many datagrams (GRO, GSO, recvmmsg).
#[derive(Debug)]
pub struct UdpSocket {
    socket: tokio::net::UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
}

/// Datagrams received by one call, and the room for them.
#[derive(Debug)]
pub struct DatagramBatch {
    room: Vec<u8>,
    described: [RecvMeta; BUFFERS],
    count: usize,
}

/// A datagram, or several of the same sender that differ at most in the length of the last.
#[derive(Clone, Copy, Debug)]
pub struct Datagrams<'a> {
    /// The sender.
    pub source: SocketAddr,
    /// The address that they were sent to.
    pub destination: Option<IpAddr>,
    /// The marks of routers between (RFC 3168).
    pub ecn: Option<EcnCodepoint>,
    /// Their content, one behind the other.
    pub content: &'a [u8],
    /// The length of each but the last.
    pub stride: usize,
}

impl Datagrams<'_> {
    /// The content of each.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.content.chunks(self.stride.max(1))
    }
}

/// Opens `count` sockets that are bound to `address`, as a group (SO_REUSEPORT) in this order. Without a program
/// ([`attach_reuseport_program`](crate::socket_filter::attach_reuseport_program)) the kernel distributes datagrams by a
/// hash of the addresses.
///
/// # Errors
///
/// If the address is in use or cannot be bound.
pub fn bind_udp(address: SocketAddr, count: usize) -> io::Result<Vec<OwnedFd>> {
    let mut address = address;
    let mut sockets = Vec::with_capacity(count);
    for number in 0..count {
        let socket = open(address)?;
        // The first one is bound alone, or it would join the group of another program.
        if number > 0 {
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        bind(&socket, &address)?;
        if number == 0 && count > 1 {
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        address = getsockname(&socket).and_then(SocketAddr::try_from)?;
        sockets.push(socket);
    }
    Ok(sockets)
}

fn open(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
    if address.ip() == Ipv6Addr::UNSPECIFIED {
        // [::] means IPv4 too, as for TCP.
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    // The kernel silently lowers them to the sysctls `net.core.rmem_max` and `net.core.wmem_max`.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, KERNEL_BUFFER);
    let _ = sockopt::set_socket_send_buffer_size(&socket, KERNEL_BUFFER);
    Ok(socket)
}

impl UdpSocket {
    /// Registers a bound socket, within a runtime.
    ///
    /// # Errors
    ///
    /// If the event loop refuses it, or if it is not a UDP socket.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        let address = getsockname(&socket).and_then(SocketAddr::try_from)?;
        let state = UdpSocketState::new((&socket).into())?;
        let socket = tokio::net::UdpSocket::from_std(socket.into())?;
        Ok(Self { socket, state, address })
    }

    /// The address that it is bound to.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// How many datagrams one [`Transmit`] may have.
    #[must_use]
    pub fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Whether routers may split datagrams, so that the largest size of the path cannot be measured.
    #[must_use]
    pub fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Receives some datagrams in place of those that the batch had. One task may wait for them.
    ///
    /// # Errors
    ///
    /// Those of recvmmsg(2).
    pub fn poll_receive(&self, context: &mut Context<'_>, batch: &mut DatagramBatch) -> Poll<io::Result<()>> {
        batch.count = 0;
        loop {
            ready!(self.socket.poll_recv_ready(context))?;
            let mut buffers = batch.room.chunks_exact_mut(BUFFER);
            // There are exactly so many.
            let mut buffers: [_; BUFFERS] =
                std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
            let receive = || self.state.recv((&self.socket).into(), &mut buffers, &mut batch.described);
            match self.socket.try_io(Interest::READABLE, receive) {
                Ok(count) => {
                    batch.count = count;
                    return Poll::Ready(Ok(()));
                }
                Err(error) if is_temporary(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Sends datagrams as soon as the kernel takes them. Where several tasks wait, only the last of them is woken. Datagrams
    /// that cannot be sent for another reason are dropped, as the network might have done.
    pub fn poll_send(&self, context: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<()> {
        loop {
            if ready!(self.socket.poll_send_ready(context)).is_err() {
                return Poll::Ready(());
            }
            let send = || self.state.try_send((&self.socket).into(), transmit);
            match self.socket.try_io(Interest::WRITABLE, send) {
                Ok(()) => return Poll::Ready(()),
                Err(error) if is_temporary(&error) => {}
                Err(error) => {
                    // Probes of the path's largest size are refused on purpose (EMSGSIZE).
                    tracing::trace!(%error, "a datagram could not be sent");
                    return Poll::Ready(());
                }
            }
        }
    }

    /// Sends datagrams if the kernel takes them at once; otherwise they are dropped, as the network might have done.
    pub fn send_or_drop(&self, transmit: &Transmit<'_>) {
        let _ = self.state.try_send((&self.socket).into(), transmit);
    }
}

/// Whether the call is to be made again, at once or when the event loop says so.
fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

impl Default for DatagramBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl DatagramBatch {
    /// Room for a batch.
    #[must_use]
    pub fn new() -> Self {
        Self { room: vec![0; BUFFER * BUFFERS], described: [RecvMeta::default(); BUFFERS], count: 0 }
    }

    /// The datagrams that were received last.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagrams<'_>> {
        self.room.chunks_exact(BUFFER).zip(&self.described).take(self.count).map(|(room, described)| Datagrams {
            source: described.addr,
            destination: described.dst_ip,
            ecn: described.ecn,
            content: &room[..described.len.min(room.len())],
            stride: described.stride,
        })
    }
}

/// The most that the kernel joins to one buffer (UDP_GRO).
const BUFFER: usize = 64 * 1024;

/// Buffers of one call: as much as the sockets of some fast clients hold. Memory is used only for what was received.
const BUFFERS: usize = 8;

/// Datagrams of 20 ms at 1 Gbit/s, the time for which a busy thread may not look at its socket; those of a socket that is
/// full are lost, which costs their senders half of their rate.
const KERNEL_BUFFER: usize = 2 << 20;
