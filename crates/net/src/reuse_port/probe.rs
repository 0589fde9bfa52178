//! Finds out by probing which sockets of a group are this process's.

use std::{
    collections::VecDeque,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
    time::Duration,
};

use crate::{socket_filter, time};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, ipproto, socket_with, sockopt},
};

use crate::reuse_port::{
    layout::Layout,
    program::{self, Dropped},
};

/// Finds the numbers of our sockets in their group, which has `size` sockets and listens on `address`; none if the
/// result is contradictory, as when another process joins or leaves meanwhile.
///
/// The kernel does not tell a process these numbers. So this selects one number after the other and opens a connection
/// from this machine: our own sockets drop its SYN, and count that; the others accept it, and see a client that
/// disconnects at once. No other connection is lost meanwhile. It takes some 30 µs for each number, and leaves a
/// program attached that the caller must replace.
///
/// # Errors
///
/// When the kernel refuses the programs, or there is no way to connect.
pub(crate) fn find(sockets: &[OwnedFd], address: SocketAddr, size: usize) -> io::Result<Option<Layout>> {
    let Some(socket) = sockets.first() else { return Ok(None) };
    let probe = Probe::new(address)?;
    for socket in sockets {
        program::drop_packets(socket, Dropped::ProbeFrom(probe.source.port()))?;
    }
    let layout = look(sockets, size, |number| {
        program::redirect(socket, &[number])?;
        probe.owner(sockets)
    });
    for socket in sockets {
        socket_filter::detach_filter(socket)?;
    }
    layout
}

/// Whose socket a connection was directed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Ours(usize),
    Another,
    /// None took it in time.
    Unknown,
}

/// Probes until all of ours are found. They joined one after the other, so they are nearly always adjacent, and first
/// or last: few of the others' are probed.
fn look(
    sockets: &[OwnedFd],
    size: usize,
    mut owner: impl FnMut(u32) -> io::Result<Owner>,
) -> io::Result<Option<Layout>> {
    let mut places = vec![None; size];
    let mut is_found = vec![false; sockets.len()];
    let mut untried: VecDeque<usize> = (0..size).collect();
    let mut forwards = true;
    while is_found.contains(&false) {
        let next = if forwards { untried.pop_front() } else { untried.pop_back() };
        let Some(number) = next else { return Ok(None) };
        match owner(number as u32)? {
            Owner::Another => forwards = !forwards,
            Owner::Ours(which) if !is_found[which] => {
                is_found[which] = true;
                places[number] = Some(which);
            }
            Owner::Ours(_) | Owner::Unknown => return Ok(None),
        }
    }
    Ok(Some(Layout::new(places)))
}

/// The addresses of the probing connections.
struct Probe {
    source: SocketAddr,
    target: SocketAddr,
    /// Reserves the source port between two of them.
    _port: OwnedFd,
}

impl Probe {
    /// For a group that listens on this address.
    fn new(address: SocketAddr) -> io::Result<Self> {
        let at = |ip: IpAddr| {
            let mut target = address;
            target.set_ip(ip);
            let mut source = target;
            source.set_port(0);
            open(source).map(|port| (target, port))
        };
        let (target, port) = match address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => at(LOOPBACK.into())?,
            // A machine may support IPv6 without having an address.
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => at(Ipv6Addr::LOCALHOST.into()).or_else(|_| at(LOOPBACK.into()))?,
            ip => at(ip)?,
        };
        let source = SocketAddr::try_from(getsockname(&port)?)?;
        Ok(Self { source, target, _port: port })
    }

    /// Connects; returns whose socket the connection was directed to.
    fn owner(&self, ours: &[OwnedFd]) -> io::Result<Owner> {
        let count = || ours.iter().map(socket_filter::count_dropped_packets).collect::<io::Result<Vec<_>>>();
        let before = count()?;
        let socket = open(self.source)?;
        match connect(&socket, &self.target) {
            Ok(()) => return Ok(Owner::Another),
            Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let deadline = time::now() + PROBE_TIMEOUT;
        loop {
            let mut polled = [PollFd::new(&socket, PollFlags::OUT)];
            // Over loopback the outcome is known before `connect` returns, unless the machine is very busy.
            if poll(&mut polled, Some(&Timespec::default()))? > 0 {
                sockopt::socket_error(&socket)??;
                return Ok(Owner::Another);
            }
            if let Some(which) = before.iter().zip(count()?).position(|(before, now)| *before != now) {
                return Ok(Owner::Ours(which));
            }
            if time::now() > deadline {
                return Ok(Owner::Unknown);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// A socket that is bound to this address, which it may share with others of ours, and leaves no TIME_WAIT behind.
fn open(source: SocketAddr) -> io::Result<OwnedFd> {
    let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // Otherwise the port would be in use for a minute (TIME_WAIT, tcp(7)), and the next connection needs it.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    bind(&socket, &source)?;
    Ok(socket)
}

/// All of 127.0.0.0/8 is this machine. Not 127.0.0.1, on which another server may listen, beside the group that listens
/// on all addresses.
const LOOPBACK: Ipv4Addr = Ipv4Addr::new(127, 83, 87, 1);

/// For a machine that is very busy.
const PROBE_TIMEOUT: Duration = Duration::from_millis(50);

const PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// How many numbers of others are probed until ours are found.
    #[test]
    fn few_foreign_sockets_are_probed() {
        // Ours are `o`.
        let cases = [("oo..", 0), ("..oo", 1), ("oooo....", 0), ("....oooo", 1), ("..oo..", 4), ("o..o", 1), ("oo", 0)];
        for (text, expected) in cases {
            let owners: Vec<_> = text.chars().map(|owner| owner == 'o').collect();
            let ours = owners.iter().filter(|ours| **ours).count();
            let sockets: Vec<OwnedFd> = (0..ours).map(|_| std::fs::File::open("/dev/null").unwrap().into()).collect();
            let (mut tried, mut found) = (0, 0);
            let layout = look(&sockets, owners.len(), |number| {
                if !owners[number as usize] {
                    tried += 1;
                    return Ok(Owner::Another);
                }
                found += 1;
                Ok(Owner::Ours(found - 1))
            });
            let others = layout.unwrap().unwrap().others();
            assert!(others.iter().all(|number| !owners[*number as usize]), "{text}");
            assert_eq!((others.len(), tried), (owners.len() - ours, expected), "{text}");
        }
    }

    #[test]
    fn contradictory_probes_yield_no_layout() {
        let sockets: Vec<OwnedFd> = (0..2).map(|_| std::fs::File::open("/dev/null").unwrap().into()).collect();
        let cases = [
            // Found twice; not found at all; not known.
            [Owner::Ours(0), Owner::Ours(0), Owner::Another],
            [Owner::Ours(0), Owner::Another, Owner::Another],
            [Owner::Ours(0), Owner::Unknown, Owner::Ours(1)],
        ];
        for owners in cases {
            let layout = look(&sockets, owners.len(), |number| Ok(owners[number as usize]));
            assert_eq!(layout.unwrap(), None, "{owners:?}");
        }
    }
}
