//! Counters of the open connections of a worker or of all workers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tokio::sync::Notify;

use crate::client_rules::ClientGuard;

/// A counter of open connections. It is shared with connections that were handed over and may live on another thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionCounter {
    shared: Arc<Shared>,
}

/// Changed by each connection of its worker, or of all workers: on a cache line of its own, as
/// [`Counters`](crate::status::Counters).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shared {
    count: AtomicUsize,
    /// How many wait for `left`. To notify it takes a lock, which the connections of all workers would contend for.
    waiting: AtomicUsize,
    left: Notify,
    /// Notified when a worker needs room and has no connection of its own to close.
    wanted: Notify,
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    worker: Arc<Shared>,
    all: Option<Arc<ConnectionCounter>>,
    /// Boxed, so that connections whose clients are not counted do not carry the room for it.
    client: Option<Box<ClientGuard>>,
}

impl ConnectionCounter {
    /// Counts one more connection, here and in `all`. Each worker has its own `Arc` of the latter: the connections change
    /// the number of its references, and that of an `Arc` for all workers would be one more thing that all of them write.
    pub(crate) fn enter(&self, all: Option<&Arc<Self>>) -> ConnectionGuard {
        for shared in all.iter().map(|all| &all.shared).chain([&self.shared]) {
            shared.count.fetch_add(1, SeqCst);
        }
        ConnectionGuard { worker: Arc::clone(&self.shared), all: all.cloned(), client: None }
    }

    /// The number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.shared.count.load(SeqCst)
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
        let _waiting = Waiting::begin(&self.shared);
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

/// One that waits for connections to leave, until it is dropped.
struct Waiting<'a>(&'a Shared);

impl<'a> Waiting<'a> {
    fn begin(shared: &'a Shared) -> Self {
        shared.waiting.fetch_add(1, SeqCst);
        Self(shared)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, SeqCst);
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
        for shared in self.all.iter().map(|all| &all.shared).chain([&self.worker]) {
            shared.count.fetch_sub(1, SeqCst);
            // Sequentially consistent, as all accesses here: either this sees who waits, or that one the new number.
            if shared.waiting.load(SeqCst) > 0 {
                shared.left.notify_waiters();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use super::*;

    #[test]
    fn connections_leave_the_references_to_what_all_workers_share_alone() {
        let (all, worker) = (ConnectionCounter::default(), ConnectionCounter::default());
        let of_worker = Arc::new(all.clone());
        let before = Arc::strong_count(&all.shared);
        let guards = [worker.enter(Some(&of_worker)), worker.enter(Some(&of_worker))];
        assert_eq!((all.count(), worker.count()), (2, 2));
        assert_eq!(Arc::strong_count(&all.shared), before);
        drop(guards);
        assert_eq!((all.count(), worker.count()), (0, 0));
    }

    #[test]
    fn those_that_wait_learn_of_each_connection_that_leaves() {
        let (all, worker) = (Arc::new(ConnectionCounter::default()), ConnectionCounter::default());
        let (one, other) = (worker.enter(Some(&all)), worker.enter(Some(&all)));
        let mut context = Context::from_waker(Waker::noop());
        {
            let mut waiting = pin!(all.wait_until(|count| count == 0));
            for (guard, expected) in [(one, Poll::Pending), (other, Poll::Ready(()))] {
                assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
                assert_eq!(all.shared.waiting.load(SeqCst), 1);
                drop(guard);
                assert_eq!(waiting.as_mut().poll(&mut context), expected);
            }
        }
        assert_eq!(all.shared.waiting.load(SeqCst), 0);
    }
}
