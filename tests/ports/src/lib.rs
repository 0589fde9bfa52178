//! Ports of 127.0.0.1 for tests that run beside others: addresses that refuse connections for as long as the process
//! runs, and free ports that no other test gets.
//!
//! A port that the kernel chose (port 0) and that was closed again is neither: the kernel gives it to the next socket that
//! asks, in another test.
#![forbid(unsafe_code)]
// Only for tests.
#![allow(clippy::unwrap_used)]

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process,
    sync::atomic::{AtomicU16, Ordering},
};

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// An address that refuses connections: its socket is bound and does not listen. It stays so until the process ends.
///
/// # Panics
///
/// If the process cannot open another socket.
#[must_use]
pub fn refusing_address() -> SocketAddr {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
    std::mem::forget(socket);
    address
}

/// Ports for servers that a test starts: below the kernel's ephemeral ports, and each given out once in a process.
///
/// # Panics
///
/// If none is free.
#[must_use]
pub fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    [(); COUNT].map(|()| free_port())
}

/// One of [`free_ports`].
///
/// # Panics
///
/// If none is free.
#[must_use]
pub fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    // Test processes that run at the same time begin at different places.
    let first = process::id().wrapping_mul(61);
    for _ in 0..PORTS.len() {
        let number = first.wrapping_add(u32::from(GIVEN.fetch_add(1, Ordering::Relaxed))) % PORTS.len() as u32;
        let port = PORTS.start + number as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no port of 127.0.0.1 from {} to {} is free", PORTS.start, PORTS.end - 1)
}

/// Above the ports of well-known services and of `serow app`'s examples, and below `net.ipv4.ip_local_port_range`, which
/// starts at 32,768.
const PORTS: std::ops::Range<u16> = 10_100..20_000;

#[cfg(test)]
mod tests {
    use std::{io::ErrorKind, net::TcpStream};

    use super::*;

    #[test]
    fn connections_are_refused_and_the_port_is_taken() {
        let address = refusing_address();
        for _ in 0..3 {
            assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        }
        assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn no_port_is_given_twice() {
        let mut ports = free_ports::<100>();
        ports.sort_unstable();
        assert!(ports.windows(2).all(|pair| pair[0] < pair[1]), "{ports:?}");
    }
}
