//! Stopping a server.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// The phase of a server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Serving.
    Running,
    /// Draining: accepts no new connections; requests in progress are finished within this time, or that of the
    /// settings.
    Draining(Option<Duration>),
    /// Draining while another process accepts on the same sockets; requests in progress are finished within
    /// this time.
    HandingOver(Duration),
    /// At once.
    Ended,
}

impl Phase {
    /// Whether the server accepts no new connections.
    pub(crate) fn is_stopping(self) -> bool {
        self != Self::Running
    }
}

/// Stops a server from another thread; see [`BoundServer::stopper`](crate::BoundServer::stopper).
#[derive(Clone, Debug)]
pub struct Stopper {
    phase: Arc<watch::Sender<Phase>>,
}

impl Stopper {
    pub(crate) fn new() -> Self {
        Self { phase: Arc::new(watch::Sender::new(Phase::Running)) }
    }

    /// Stops the server gracefully, as TERM and INT do: it accepts no more connections, closes idle ones, and
    /// finishes
    /// requests in progress within [`Timeouts::grace`](crate::Timeouts::grace). A second call acts like
    /// [`Self::end`].
    pub fn stop(&self) {
        self.phase.send_modify(|phase| {
            *phase = match phase {
                Phase::Running => Phase::Draining(None),
                Phase::Draining(_) | Phase::HandingOver(_) | Phase::Ended => Phase::Ended,
            }
        });
    }

    /// Stops the server gracefully, as [`Self::stop`], within this time from now on. A further call sets
    /// another time.
    pub fn stop_within(&self, grace: Duration) {
        self.phase.send_modify(|phase| {
            if *phase != Phase::Ended {
                *phase = Phase::Draining(Some(grace));
            }
        });
    }

    /// As [`Self::stop_within`], where another process accepts on the same sockets, inherited from the same
    /// parent: the
    /// server then does not drain ports that are shared with further processes
    /// ([`ListenOptions::share`](crate::ListenOptions::share)).
    pub fn hand_over_within(&self, grace: Duration) {
        self.phase.send_modify(|phase| {
            if *phase != Phase::Ended {
                *phase = Phase::HandingOver(grace);
            }
        });
    }

    /// Ends the server at once; requests in progress are aborted.
    pub fn end(&self) {
        self.phase.send_modify(|phase| *phase = Phase::Ended);
    }

    /// Whether the server is stopping, or has stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.phase.borrow().is_stopping()
    }

    /// Waits until the server begins to stop.
    pub async fn stopping(&self) {
        // There is a sender for as long as there is this.
        let _ = self.watch().wait_for(|phase| phase.is_stopping()).await;
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }
}
