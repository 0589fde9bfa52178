//! The UDP sockets that the master holds for QUIC.
//!
//! The sockets of an address are a group (SO_REUSEPORT) that never changes. Each generation gets a part of it, a place per
//! thread. A program on the group directs the packets of each connection to the place that its ID names, and those of new
//! connections to the serving generation.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use serow_net::reuse_port::quic_steering::{SLOTS, steering_program};
use serow_net::{bind_udp, socket_filter::attach_reuseport_program};

/// The sockets of all addresses.
#[derive(Debug, Default)]
pub(super) struct QuicSockets {
    held: Vec<Held>,
}

/// The sockets of one address.
#[derive(Debug)]
struct Held {
    address: SocketAddr,
    /// Sockets of a part.
    workers: usize,
    sockets: Vec<OwnedFd>,
    parts: Vec<Part>,
}

/// The owner of a part of the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Free,
    /// The generation that did has crashed: the next one resets its connections (RFC 9000 §10.3).
    Orphaned,
    Used {
        pid: u32,
        stage: SocketsStage,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketsStage {
    Starting,
    Serving,
    Draining,
}

impl QuicSockets {
    /// The sockets for a starting generation: the number of the address, the slot, and the socket. An address that cannot
    /// be bound has none: HTTP/3 is off there, and everything else goes on.
    pub(super) fn provide(
        &mut self,
        pid: u32,
        addresses: &[SocketAddr],
        workers: usize,
    ) -> Vec<(usize, u8, BorrowedFd<'_>)> {
        let places: Vec<_> = addresses.iter().map(|address| self.take_part(pid, *address, workers)).collect();
        let taken = places.into_iter().enumerate().filter_map(|(number, place)| Some((number, place?)));
        taken.flat_map(|(number, (held, part))| self.held[held].sockets_of(number, part)).collect()
    }

    /// Takes a part of an address; gives the places of both.
    fn take_part(&mut self, pid: u32, address: SocketAddr, workers: usize) -> Option<(usize, usize)> {
        let place = match self.held.iter().position(|held| held.address == address) {
            Some(place) => place,
            None => {
                let held = Held::open(address, workers).inspect_err(|error| {
                    tracing::warn!("HTTP/3 is off at {address}: cannot bind UDP: {error}");
                });
                self.held.push(held.ok()?);
                self.held.len() - 1
            }
        };
        let held = &mut self.held[place];
        let find = |wanted: Part| held.parts.iter().position(|part| *part == wanted);
        let Some(part) = find(Part::Orphaned).or_else(|| find(Part::Free)) else {
            tracing::warn!("HTTP/3 is off at {address}: {} generations are still draining", held.parts.len() - 1);
            return None;
        };
        held.parts[part] = Part::Used { pid, stage: SocketsStage::Starting };
        Some((place, part))
    }

    /// The starting generation serves now: new connections are its own.
    pub(super) fn begin_serving(&mut self, pid: u32) {
        for held in &mut self.held {
            for part in &mut held.parts {
                if let Part::Used { stage, .. } = part
                    && *stage == SocketsStage::Serving
                {
                    *stage = SocketsStage::Draining;
                }
            }
            let own = |part: &Part| matches!(part, Part::Used { pid: of, .. } if *of == pid);
            let Some(place) = held.parts.iter().position(own) else { continue };
            held.parts[place] = Part::Used { pid, stage: SocketsStage::Serving };
            if let Err(error) = held.direct_to(place) {
                tracing::warn!("HTTP/3 connections of {} may be lost at a reload: {error}", held.address);
            }
        }
        // As long as any part is used, the others stay, or sockets would change their places.
        self.held.retain(|held| held.parts.iter().any(|part| matches!(part, Part::Used { .. })));
    }

    /// A generation has ended.
    pub(super) fn end(&mut self, pid: u32, crashed: bool) {
        for part in self.held.iter_mut().flat_map(|held| &mut held.parts) {
            match *part {
                Part::Used { pid: of, stage } if of == pid => {
                    let orphaned = crashed && stage != SocketsStage::Starting;
                    *part = if orphaned { Part::Orphaned } else { Part::Free };
                }
                _ => {}
            }
        }
    }
}

impl Held {
    fn open(address: SocketAddr, workers: usize) -> std::io::Result<Self> {
        let workers = workers.clamp(1, SLOTS / 2);
        let parts = (SLOTS / workers).min(PARTS);
        let sockets = bind_udp(address, workers * parts)?;
        let held = Self { address, workers, sockets, parts: vec![Part::Free; parts] };
        held.direct_to(0)?;
        Ok(held)
    }

    /// Directs new connections to the sockets of a part.
    fn direct_to(&self, part: usize) -> std::io::Result<()> {
        let Some(socket) = self.sockets.first() else { return Ok(()) };
        // There are no more than 256.
        attach_reuseport_program(socket, &steering_program((part * self.workers) as u8, self.workers as u8))
    }

    fn sockets_of(&self, number: usize, part: usize) -> impl Iterator<Item = (usize, u8, BorrowedFd<'_>)> {
        let first = part * self.workers;
        let sockets = self.sockets.iter().enumerate().skip(first).take(self.workers);
        sockets.map(move |(slot, socket)| (number, slot as u8, socket.as_fd()))
    }
}

/// Generations that may have connections at the same time: one serves, the others drain.
const PARTS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(sockets: &mut QuicSockets, pid: u32, address: SocketAddr) -> Vec<u8> {
        sockets.provide(pid, &[address], 2).iter().map(|(_, slot, _)| *slot).collect()
    }

    #[test]
    fn an_address_that_another_program_has_taken_gets_no_sockets() {
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let mut sockets = QuicSockets::default();
        assert!(slots(&mut sockets, 1, address).is_empty());
        assert!(sockets.held.is_empty());
    }

    #[test]
    fn each_generation_has_a_part_and_the_heir_of_a_crash_the_same() {
        // The kernel chooses the port: children that other tests start may hold one that was free a moment ago.
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut sockets = QuicSockets::default();
        assert_eq!(slots(&mut sockets, 1, address), [0, 1]);
        sockets.begin_serving(1);
        assert_eq!(slots(&mut sockets, 2, address), [2, 3]);
        sockets.begin_serving(2);
        // One that fails to start leaves its part.
        assert_eq!(slots(&mut sockets, 3, address), [4, 5]);
        sockets.end(3, true);
        assert_eq!(slots(&mut sockets, 4, address), [4, 5]);
        sockets.begin_serving(4);
        sockets.end(1, false);
        sockets.end(4, true);
        // Of a crashed one rather than of one that has ended.
        assert_eq!(slots(&mut sockets, 5, address), [4, 5]);
        assert_eq!(slots(&mut sockets, 6, address), [0, 1]);
        for pid in 7..40 {
            slots(&mut sockets, pid, address);
        }
        assert!(slots(&mut sockets, 40, address).is_empty());
        for pid in 1..41 {
            sockets.end(pid, false);
        }
        sockets.begin_serving(50);
        assert!(sockets.held.is_empty());
    }
}
