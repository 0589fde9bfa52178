//! The start of a generation: it gets its sockets, and is ready.

use std::{net::SocketAddr, time::Duration};

use super::Driver;
use crate::master::{
    Duties,
    event::Event,
    messages::{AdminPlace, FromGeneration, ToGeneration, WantedListener},
};

impl<D: Duties> Driver<D> {
    /// Handles the message of a starting generation that it is ready.
    pub(super) fn handle_ready(&mut self, pid: u32, ready: FromGeneration) {
        let FromGeneration::Ready {
            admin,
            admin_off,
            admin_token,
            announcement,
            replaced_ms,
            stopped_ms,
            adopts,
            changes,
        } = ready
        else {
            return;
        };
        let place = AdminPlace::received(admin, admin_off);
        if let Err(reason) = self.duties.open_admin_socket(&place, admin_token.as_deref(), &self.control) {
            return self.give_up(pid, reason);
        }
        self.admin = (place, admin_token);
        if let Some(child) = self.children.get_mut(&pid) {
            child.may_change = changes;
            if child.number == 1 {
                self.duties.announce(&announcement);
            }
        }
        let timeouts = FromGeneration::stop_timeouts(replaced_ms, stopped_ms);
        self.handle(Event::Ready { pid, timeouts, adopts });
    }

    /// Passes sockets to a starting generation.
    pub(super) fn hand_over(&mut self, pid: u32, listeners: &[WantedListener]) {
        let Some(child) = self.children.get(&pid) else { return };
        let timeout = if child.number == 1 { BIND_TIMEOUT } else { Duration::ZERO };
        match self.held.provide(listeners, timeout) {
            Ok(sockets) => {
                if let Err(error) = child.hand_over(&sockets) {
                    self.give_up(pid, format!("cannot pass on its sockets: {error}"));
                }
            }
            Err(reason) => child.tell(&ToGeneration::Refused { reason }),
        }
    }

    /// Passes UDP sockets to a starting generation.
    pub(super) fn hand_over_quic(&mut self, pid: u32, addresses: &[SocketAddr], workers: usize) {
        let Some(child) = self.children.get(&pid) else { return };
        let sockets = self.quic.provide(pid, addresses, workers);
        if let Err(error) = child.hand_over_quic(&sockets) {
            self.give_up(pid, format!("cannot pass on its UDP sockets: {error}"));
        }
    }
}

/// The generation of a killed master closes its sockets as soon as it notices.
const BIND_TIMEOUT: Duration = Duration::from_secs(2);
