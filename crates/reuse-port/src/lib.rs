//! Leaving a port that other processes share (SO_REUSEPORT), without losing a connection.
//!
//! Each socket of a group has queues of its own: a connection belongs to the socket that its first packet was given to. So
//! what is queued when a socket closes is lost, and what is in the middle of its handshake. Hence, in this order:
//!
//! 1. New connections are led to the others, by a program on the group ([`program`]). For that it must be known which
//!    sockets are ours ([`probe`], [`layout`]).
//! 2. What began before goes on to be accepted, until none of its handshakes is under way any more
//!    ([`handshakes`]), and nothing new comes. If something does, somebody has come or gone meanwhile, and it begins again.
//! 3. Whatever comes all the same is turned away unseen, and comes back a second later to another socket.
//! 4. What is queued is accepted, and the sockets are closed, in an order in which nobody is led to one of them.
//!
//! Nothing stays behind: the kernel deals out among the others as before. Only one process leaves at a time ([`PortLock`](serow_net::PortLock)).
#![forbid(unsafe_code)]

mod group;
mod handshakes;
mod layout;
mod probe;
mod program;
mod table;

use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};

use self::group::Group;
use serow_net::{DrainMember, Listener};

/// How a server leaves the ports that it shares.
///
/// It has duplicates of the sockets, so that they are closed here and last. Dropping it closes them at any time, and leaves
/// nothing behind; but without [`Self::begin`] and [`Self::finish`] connections are lost.
#[derive(Debug)]
pub struct Departure {
    groups: Vec<Group>,
    /// Ends when all listeners are dropped.
    listeners: mpsc::Receiver<Infallible>,
    /// Tells them that no new connections come.
    left: watch::Sender<bool>,
}

impl Departure {
    /// From what these listeners share with other processes, which may be nothing.
    ///
    /// # Errors
    ///
    /// When the process may open no more descriptors.
    pub fn of<'a>(listeners: impl IntoIterator<Item = &'a mut Listener>) -> io::Result<Self> {
        let (until_dropped, listeners_dropped) = mpsc::channel(1);
        let (left, receiver) = watch::channel(false);
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
        // Whoever leaves several takes his turns in the same order, so that nobody waits for who waits for him.
        groups.sort_by_key(|group| group.address);
        Ok(Self { groups, listeners: listeners_dropped, left })
    }

    /// Sees to it that no new connection comes to these sockets, but to those of others; then tells the listeners
    /// ([`Listener::port_drained`]). Until then accepting must go on: `accepted` says how many connections have been, so far. Takes
    /// 60 ms where nobody is slow, and `limit` at most; and no time where there are no others.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled.
    pub async fn begin(&mut self, limit: Duration, accepted: impl Fn() -> u64) {
        self.lead_away(limit, accepted).await;
        self.left.send_replace(true);
    }

    /// Tells the listeners that they may stop accepting, and closes these duplicates: another process accepts at the very same
    /// sockets, and what is queued is for it.
    pub fn hand_over(self) {
        self.left.send_replace(true);
    }

    async fn lead_away(&mut self, limit: Duration, accepted: impl Fn() -> u64) {
        self.groups.retain(|group| {
            group.count_others().unwrap_or_else(|error| {
                tracing::debug!(address = %group.address, %error, "who shares the port cannot be found out");
                0
            }) > 0
        });
        if self.groups.is_empty() {
            return;
        }
        let begun = Instant::now();
        let deadline = begun + limit;
        for group in &mut self.groups {
            group.take_turn(deadline).await;
        }
        loop {
            self.groups.iter_mut().for_each(Group::steer);
            self.finish_handshakes(deadline).await;
            let before = accepted();
            sleep(QUIET).await;
            let is_steered = self.groups.iter().all(Group::is_steered);
            if accepted() == before || !is_steered || Instant::now() >= deadline {
                break;
            }
        }
        self.groups.iter().for_each(Group::turn_away);
        self.finish_handshakes(deadline).await;
        tracing::debug!(time = ?begun.elapsed(), "new connections go to the others that share the port");
    }

    /// Waits until the listeners are dropped, and closes the sockets.
    pub async fn finish(mut self) {
        self.listeners.recv().await;
    }

    /// Waits until the handshakes that are under way now are over, or the deadline.
    async fn finish_handshakes(&self, deadline: Instant) {
        let addresses: Vec<SocketAddr> = self.groups.iter().map(|group| group.address).collect();
        let mut pause = SHORTEST_PAUSE;
        // What other cores have in their hands, chosen before.
        sleep(pause).await;
        let mut under_way = match handshakes::under_way(&addresses) {
            Ok(handshakes) => handshakes,
            Err(error) => {
                tracing::debug!(%error, "which handshakes are under way cannot be found out");
                return sleep(LONG_HANDSHAKE.min(deadline - Instant::now())).await;
            }
        };
        while !under_way.is_empty() && Instant::now() < deadline {
            sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
            let now = handshakes::under_way(&addresses).unwrap_or_default();
            under_way.retain(|handshake| now.contains(handshake));
        }
    }
}

/// Longer than any pause of a server that is asked 20 times a second; one that is asked seldom has nothing to lose.
const QUIET: Duration = Duration::from_millis(50);

const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// A look takes some milliseconds, since the kernel goes through its table of connections.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How long handshakes are waited for where the kernel does not tell of them: a slow link's round trip.
const LONG_HANDSHAKE: Duration = Duration::from_millis(600);

#[cfg(test)]
mod tests;
