//! The connections of a worker, counted.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// How many connections there are. Shared with connections that were handed over and may live on another thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Population {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    count: AtomicUsize,
    left: Notify,
}

/// One connection, as long as it lives.
#[derive(Debug)]
pub(crate) struct Inhabitant(Arc<Shared>);

impl Population {
    /// One more.
    pub(crate) fn enter(&self) -> Inhabitant {
        self.shared.count.fetch_add(1, Ordering::Relaxed);
        Inhabitant(Arc::clone(&self.shared))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// Waits until there are few enough.
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

impl Drop for Inhabitant {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
        self.0.left.notify_waiters();
    }
}
