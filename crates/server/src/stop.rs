//! Stopping: who asks for it, and who waits until it is done.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// How far stopping has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Serving.
    Running,
    /// No new connection; what runs is finished, within this time or that of the settings.
    Draining(Option<Duration>),
    /// No new connection: another process accepts at the same sockets. What runs is finished within this time.
    HandingOver(Duration),
    /// At once.
    Ended,
}

impl Phase {
    /// Whether new connections are no longer wanted.
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

    /// As TERM and INT do: accepts no more, ends idle connections, finishes what runs within the grace time. Asked a
    /// second time, cuts what still runs.
    pub fn stop(&self) {
        self.phase.send_modify(|phase| {
            *phase = match phase {
                Phase::Running => Phase::Draining(None),
                Phase::Draining(_) | Phase::HandingOver(_) | Phase::Ended => Phase::Ended,
            }
        });
    }

    /// Accepts no more, ends idle connections, finishes what runs within this time, from now on. Asked again, the time is
    /// another one.
    pub fn stop_within(&self, grace: Duration) {
        self.phase.send_modify(|phase| {
            if *phase != Phase::Ended {
                *phase = Phase::Draining(Some(grace));
            }
        });
    }

    /// As [`Self::stop_within`], where another process accepts at the same sockets, which it got from whoever handed them to
    /// this one: a port that is shared with further processes ([`ListenOptions::share`](crate::ListenOptions::share)) is not
    /// left then.
    pub fn hand_over_within(&self, grace: Duration) {
        self.phase.send_modify(|phase| {
            if *phase != Phase::Ended {
                *phase = Phase::HandingOver(grace);
            }
        });
    }

    /// Ends the server at once; what runs is cut.
    pub fn end(&self) {
        self.phase.send_modify(|phase| *phase = Phase::Ended);
    }

    /// Whether the server has been told to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.phase.borrow().is_stopping()
    }

    /// Waits until the server is told to stop.
    pub async fn stopping(&self) {
        // There is a sender for as long as there is this.
        let _ = self.watch().wait_for(|phase| phase.is_stopping()).await;
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }
}
