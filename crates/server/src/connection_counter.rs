//! Counters of the open connections of a worker or of all workers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

use crate::client_rules::ClientGuard;

/// A counter of open connections. It is shared with connections that were handed over and may live on another thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionCounter {
    shared: Arc<Shared>,
}

/// Changed by each connection of its worker: on a cache line of its own, as [`Counters`](crate::status::Counters).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shared {
    count: AtomicUsize,
    left: Notify,
    /// Notified when a worker needs room and has no connection of its own to close.
    wanted: Notify,
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    worker: Arc<Shared>,
    all: Option<Arc<Shared>>,
    /// Boxed, so that connections whose clients are not counted do not carry the room for it.
    client: Option<Box<ClientGuard>>,
}

impl ConnectionCounter {
    /// Counts one more connection, here and in `all`.
    pub(crate) fn enter(&self, all: Option<&Self>) -> ConnectionGuard {
        let add = |connections: &Self| {
            connections.shared.count.fetch_add(1, Ordering::Relaxed);
            Arc::clone(&connections.shared)
        };
        ConnectionGuard { worker: add(self), all: all.map(add), client: None }
    }

    /// The number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// Asks all workers to close an idle connection.
    pub(crate) fn ask_for_room(&self) {
        self.shared.wanted.notify_waiters();
    }

    /// Waits until a worker asks for room.
    pub(crate) async fn room_wanted(&self) {
        self.shared.wanted.notified().await;
    }

    /// Waits until `enough` accepts the number of connections.
    pub(crate) async fn wait_until(&self, enough: impl Fn(usize) -> bool) {
        loop {
            let left = self.shared.left.notified();
            let mut left = std::pin::pin!(left);
            left.as_mut().enable();
            if enough(self.count()) {
                return;
            }
            left.await;
        }
    }
}

impl ConnectionGuard {
    /// Counts the connection for its client as well.
    pub(crate) fn count_for(&mut self, client: Option<ClientGuard>) {
        self.client = client.map(Box::new);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        for shared in self.all.iter().chain([&self.worker]) {
            shared.count.fetch_sub(1, Ordering::Relaxed);
            shared.left.notify_waiters();
        }
    }
}
