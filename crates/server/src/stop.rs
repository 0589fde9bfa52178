//! Stopping: who asks for it, and who waits until it is done.

use std::sync::Arc;

use tokio::sync::watch;

/// How far stopping has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Serving.
    Running,
    /// No new connection; what runs is finished.
    Draining,
    /// At once.
    Ended,
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
                Phase::Running => Phase::Draining,
                Phase::Draining | Phase::Ended => Phase::Ended,
            }
        });
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }
}
