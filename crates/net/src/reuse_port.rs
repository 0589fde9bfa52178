//! Drains a port that other processes share (SO_REUSEPORT), so that a server stops without losing a connection.
//!
//! Each socket of a reuseport group has its own queues: a connection belongs to the socket that received its SYN. When
//! a socket closes, the kernel drops the connections in its queue, and those whose handshake is not complete.
//! [`PortDrain`] therefore:
//!
//! 1. Redirects new connections to the sockets of the other processes, by a BPF program on the group (`reuse_port/program.rs`).
//!    For that it finds out which numbers in the group are this process's sockets (`reuse_port/probe.rs`, `reuse_port/layout.rs`).
//! 2. Waits, while the server continues to accept, until the handshakes that began before are complete
//!    (`reuse_port/handshakes.rs`) and no new connection comes. If one does, the group has changed meanwhile, and step 1 starts
//!    again.
//! 3. Drops the SYNs that arrive nevertheless; their clients retransmit them a second later, to another socket.
//! 4. Closes the sockets once the server has accepted what was queued, in an order in which no connection is directed
//!    to one of them.
//!
//! Afterwards the kernel distributes connections among the remaining sockets as before. Only one process at a time
//! drains an address ([`PortLock`](crate::PortLock)). The system calls are in
//! [`socket_filter`](crate::socket_filter).

mod group;
mod handshakes;
mod layout;
mod probe;
mod program;
pub mod quic_steering;
mod table;

use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use crate::{DrainMember, Listener};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};

use self::group::Group;

/// Drains the ports that a server shares with other processes.
///
/// It holds duplicates of the sockets, so that it closes them last. Dropping it closes them at any time and restores
/// the group; but without [`Self::begin`] and [`Self::finish`] connections are lost.
#[derive(Debug)]
pub struct PortDrain {
    groups: Vec<Group>,
    /// Closes when all listeners are dropped.
    listeners: mpsc::Receiver<Infallible>,
    /// Becomes true when new connections no longer come.
    drained: watch::Sender<bool>,
}

impl PortDrain {
    /// A drain of those of these listeners whose ports are shared; there may be none.
    ///
    /// # Errors
    ///
    /// When the process cannot open more descriptors.
    pub fn of<'a>(listeners: impl IntoIterator<Item = &'a mut Listener>) -> io::Result<Self> {
        let (until_dropped, listeners_dropped) = mpsc::channel(1);
        let (drained, receiver) = watch::channel(false);
        let member = DrainMember::new(until_dropped, receiver);
        let mut groups: Vec<Group> = Vec::new();
        for listener in listeners {
            let Some(address) = listener.shared_address() else { continue };
            let known = groups.iter().position(|group| group.address == address);
            let place = known.unwrap_or_else(|| {
                groups.push(Group::new(address));
                groups.len() - 1
            });
            groups[place].add(&*listener)?;
            listener.join_drain(member.clone());
        }
        // All processes acquire the locks of several addresses in the same order, which prevents deadlocks.
        groups.sort_by_key(|group| group.address);
        Ok(Self { groups, listeners: listeners_dropped, drained })
    }

    /// Redirects new connections to the other processes, then notifies the listeners ([`Listener::port_drained`]). The
    /// server must continue to accept until then; `accepted` returns how many connections it has accepted so far. This
    /// takes 60 ms if no client is slow, at most `limit`, and no time if no other process shares the ports.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled.
    pub async fn begin(&mut self, limit: Duration, accepted: impl Fn() -> u64) {
        self.redirect_new_connections(limit, accepted).await;
        self.drained.send_replace(true);
    }

    /// Notifies the listeners that they may stop accepting, and closes these duplicates: another process accepts on the
    /// same sockets, and gets what is queued.
    pub fn hand_over(self) {
        self.drained.send_replace(true);
    }

    async fn redirect_new_connections(&mut self, limit: Duration, accepted: impl Fn() -> u64) {
        self.groups.retain(|group| {
            group.count_others().unwrap_or_else(|error| {
                tracing::debug!(address = %group.address, %error, "cannot find out which processes share the port");
                0
            }) > 0
        });
        if self.groups.is_empty() {
            return;
        }
        let started = Instant::now();
        let deadline = started + limit;
        for group in &mut self.groups {
            group.acquire_lock(deadline).await;
        }
        loop {
            self.groups.iter_mut().for_each(Group::redirect);
            self.finish_handshakes(deadline).await;
            let before = accepted();
            sleep(QUIET).await;
            let is_redirected = self.groups.iter().all(Group::is_redirected);
            if accepted() == before || !is_redirected || Instant::now() >= deadline {
                break;
            }
        }
        self.groups.iter().for_each(Group::drop_new_connections);
        self.finish_handshakes(deadline).await;
        tracing::debug!(time = ?started.elapsed(), "new connections go to the other processes that share the port");
    }

    /// Waits until the listeners are dropped, and closes the sockets.
    pub async fn finish(mut self) {
        self.listeners.recv().await;
    }

    /// Waits until the handshakes that are in progress now are complete, or the deadline.
    async fn finish_handshakes(&self, deadline: Instant) {
        let addresses: Vec<SocketAddr> = self.groups.iter().map(|group| group.address).collect();
        let mut pause = MIN_PAUSE;
        // For packets that other cores process right now, with a socket chosen before.
        sleep(pause).await;
        let mut pending = match handshakes::pending(&addresses) {
            Ok(handshakes) => handshakes,
            Err(error) => {
                tracing::debug!(%error, "cannot find out which handshakes are in progress");
                return sleep(LONG_HANDSHAKE.min(deadline - Instant::now())).await;
            }
        };
        while !pending.is_empty() && Instant::now() < deadline {
            sleep(pause).await;
            pause = (2 * pause).min(MAX_PAUSE);
            let now = handshakes::pending(&addresses).unwrap_or_default();
            pending.retain(|handshake| now.contains(handshake));
        }
    }
}

/// Longer than the pauses of a server with 20 connections a second; one with fewer has hardly any to lose.
const QUIET: Duration = Duration::from_millis(50);

const MIN_PAUSE: Duration = Duration::from_millis(5);

/// A query takes some milliseconds, since the kernel walks its table of connections.
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// How long to wait for handshakes if the kernel does not list them: a slow link's round trip.
const LONG_HANDSHAKE: Duration = Duration::from_millis(600);

#[cfg(test)]
mod tests;
