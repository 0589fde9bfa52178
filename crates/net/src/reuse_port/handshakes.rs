//! Pending handshakes: connections that belong to a listening socket already, and that cannot be accepted yet.
//!
//! The kernel lists them over NETLINK_SOCK_DIAG (sock_diag(7)), as for `ss state syn-recv`. Unlike /proc/net/tcp, this
//! takes no longer with a hundred thousand other connections.

use std::{
    collections::HashSet,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
};

use rustix::{
    io::Errno,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with},
};

/// The pending handshakes on these addresses: local and remote address of each.
///
/// # Errors
///
/// When the kernel does not answer.
pub(crate) fn pending(addresses: &[SocketAddr]) -> io::Result<HashSet<(SocketAddr, SocketAddr)>> {
    let mut found = HashSet::new();
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    for address in addresses {
        // IPv4 connections to an IPv6 socket are of its family.
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        send(&socket, &question(family, address.port()), SendFlags::empty())?;
        receive(&socket, |local, remote| {
            if address.ip().is_unspecified() || address.ip().to_canonical() == local.ip() {
                found.insert((local, remote));
            }
        })?;
    }
    Ok(found)
}

/// A request for all sockets of one family and port whose handshake is pending (`struct inet_diag_req_v2`).
fn question(family: AddressFamily, port: u16) -> [u8; QUESTION_LENGTH] {
    let mut question = [0; QUESTION_LENGTH];
    let mut put = |offset: usize, bytes: &[u8]| question[offset..offset + bytes.len()].copy_from_slice(bytes);
    put(0, &(QUESTION_LENGTH as u32).to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &REQUEST_DUMP.to_ne_bytes());
    put(HEADER_LENGTH, &[family.as_raw() as u8, TCP]);
    put(HEADER_LENGTH + 4, &SYN_RECEIVED.to_ne_bytes());
    put(HEADER_LENGTH + 8, &port.to_be_bytes());
    question
}

/// Receives the response, which comes in several parts.
fn receive(socket: &OwnedFd, mut found: impl FnMut(SocketAddr, SocketAddr)) -> io::Result<()> {
    let mut buffer = vec![0; MAX_PART_LENGTH];
    loop {
        let length = match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        match read(&buffer[..length], &mut found)? {
            Answer::GoesOn if length > 0 => {}
            _ => return Ok(()),
        }
    }
}

/// Whether more parts of a response come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    GoesOn,
    Ends,
}

/// Reads the messages of one part (netlink(7)).
fn read(mut part: &[u8], found: &mut impl FnMut(SocketAddr, SocketAddr)) -> io::Result<Answer> {
    while let (Some(length), Some(kind)) = (word(part, 0), half(part, 4)) {
        let Some(message) = part.get(HEADER_LENGTH..length as usize) else { break };
        match kind {
            END => return Ok(Answer::Ends),
            // A number of errno, negative.
            ERROR => {
                let code = word(message, 0).map_or(0, |word| word.cast_signed());
                return Err(io::Error::from_raw_os_error(code.wrapping_neg()));
            }
            _ => {
                if let Some((local, remote)) = ends(message) {
                    found(local, remote);
                }
            }
        }
        // Messages begin at multiples of four.
        part = part.get((length as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(Answer::GoesOn)
}

/// The two ends of a connection (`struct inet_diag_msg`).
fn ends(message: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let port = |offset: usize| Some(u16::from_be_bytes(*message.get(offset..)?.first_chunk()?));
    let ip = |offset: usize| {
        let bytes = message.get(offset..)?;
        Some(if *message.first()? == AddressFamily::INET.as_raw() as u8 {
            IpAddr::from(Ipv4Addr::from(*bytes.first_chunk::<4>()?))
        } else {
            Ipv6Addr::from(*bytes.first_chunk::<16>()?).to_canonical()
        })
    };
    Some((SocketAddr::new(ip(8)?, port(4)?), SocketAddr::new(ip(24)?, port(6)?)))
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn half(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// `struct nlmsghdr`, and with it `struct inet_diag_req_v2`.
const HEADER_LENGTH: usize = 16;
const QUESTION_LENGTH: usize = HEADER_LENGTH + 56;

/// linux/sock_diag.h, and of linux/netlink.h `NLM_F_REQUEST | NLM_F_DUMP`, `NLMSG_ERROR`, `NLMSG_DONE`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const END: u16 = 3;

/// IPPROTO_TCP, and a bit for each state (include/net/tcp_states.h).
const TCP: u8 = 6;
const SYN_RECEIVED: u32 = 1 << 3;

/// The kernel's own bound for a part is 32 KiB (`netlink_dump` in net/netlink/af_netlink.c).
const MAX_PART_LENGTH: usize = 32 * 1024;

/// A client that ignores the server's answer to its SYN.
#[cfg(test)]
pub(crate) fn unresponsive_client(address: SocketAddr) -> OwnedFd {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap();
    let mut own = address;
    own.set_port(0);
    rustix::net::bind(&socket, &own).unwrap();
    crate::reuse_port::program::drop_all(&socket).unwrap();
    assert_eq!(rustix::net::connect(&socket, &address), Err(Errno::INPROGRESS));
    socket
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::fd::AsFd};

    use rustix::net::{SocketAddrAny, getsockname};

    use super::*;

    fn address_of(socket: impl AsFd) -> SocketAddr {
        getsockname(socket).and_then(|address: SocketAddrAny| address.try_into()).unwrap()
    }

    #[test]
    fn handshakes_are_found_while_they_last() {
        if !crate::reuse_port::tests::may_attach_filters() {
            return;
        }
        // The address of the listener, and the one the client connects to.
        let cases = [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.2"), ("::", "127.0.0.1"), ("::", "::1")];
        for (listening, knocking) in cases {
            let Ok(listener) = TcpListener::bind((listening.parse::<IpAddr>().unwrap(), 0)) else { continue };
            let address = listener.local_addr().unwrap();
            assert!(pending(&[address]).unwrap().is_empty());
            let target = SocketAddr::new(knocking.parse().unwrap(), address.port());
            let client = unresponsive_client(target);
            assert_eq!(pending(&[address]).unwrap(), [(target, address_of(&client))].into(), "{address} {target}");
            let elsewhere = SocketAddr::new([127, 0, 0, 77].into(), address.port());
            assert!(pending(&[elsewhere]).unwrap().is_empty());
        }
    }

    #[test]
    fn malformed_netlink_messages_are_ignored() {
        let mut found = |_, _| panic!("an address");
        let header = |length: u32, kind: u16| {
            let mut bytes = [0; 20];
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes
        };
        for part in [&[][..], &[1], &[0; 16], &header(0, 20), &header(19, 20), &header(20, 20), &header(4000, 20)] {
            assert_eq!(read(part, &mut found).unwrap(), Answer::GoesOn, "{part:?}");
        }
        assert_eq!(read(&header(16, END), &mut found).unwrap(), Answer::Ends);
        let mut refusal = header(20, ERROR);
        refusal[16..].copy_from_slice(&(-2_i32).to_ne_bytes());
        assert_eq!(read(&refusal, &mut found).unwrap_err().raw_os_error(), Some(2));
    }
}
