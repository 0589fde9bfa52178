//! A listener's part in draining a port that other processes share (`reuse_port`).

use std::{convert::Infallible, net::SocketAddr};

use tokio::sync::{mpsc, watch};

use super::Listener;
use crate::Address;

/// A listener's part in the drain of its port: the listener holds it until it is dropped.
#[derive(Clone, Debug)]
pub struct DrainMember {
    _until_dropped: mpsc::Sender<Infallible>,
    drained: watch::Receiver<bool>,
}

impl DrainMember {
    /// `until_dropped` closes when all listeners that hold it are dropped; `drained` becomes true when new connections
    /// no longer come.
    #[must_use]
    pub fn new(until_dropped: mpsc::Sender<Infallible>, drained: watch::Receiver<bool>) -> Self {
        Self { _until_dropped: until_dropped, drained }
    }
}

/// Waits until a server that stops may accept the last connections of a listener.
#[derive(Debug)]
pub struct PortDrained(Option<watch::Receiver<bool>>);

impl PortDrained {
    /// Waits until new connections go to the other processes that share the port; returns at once where it is not
    /// shared.
    pub async fn wait(&mut self) {
        if let Some(drained) = &mut self.0 {
            // An error means that the drain was dropped, so that it is over.
            let _ = drained.wait_for(|drained| *drained).await;
        }
    }
}

impl Listener {
    /// Waits until the listener's port is drained, once the server stops.
    pub fn port_drained(&self) -> PortDrained {
        PortDrained(self.drain.as_ref().map(|member| member.drained.clone()))
    }

    /// The address, if it is shared with other processes.
    #[must_use]
    pub fn shared_address(&self) -> Option<SocketAddr> {
        match &self.address {
            Address::Tcp(address) if self.shared => Some(*address),
            _ => None,
        }
    }

    /// Joins the drain of the port, which then waits until this listener is dropped.
    pub fn join_drain(&mut self, member: DrainMember) {
        self.drain = Some(member);
    }
}
