//! Where requests wait while all servers are at their limits.

use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
};

use serow_gateway::QueueSettings;
use tokio::{sync::Notify, time::timeout};

/// Where the requests of all threads wait until a server of an upstream has room.
#[derive(Debug, Default)]
pub(crate) struct WaitingQueue {
    waiting: AtomicU64,
    left: Notify,
}

/// A request that waits, until this is dropped.
struct Waiting<'a>(&'a WaitingQueue);

impl WaitingQueue {
    /// Calls `choose` until it returns something: now, and whenever there may be room. `None` where too many wait
    /// already, or it takes too long.
    pub(crate) async fn wait<T>(&self, settings: QueueSettings, choose: impl Fn() -> Option<T>) -> Option<T> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(self);
        if before >= settings.length as u64 {
            return None;
        }
        let chosen = async {
            loop {
                let mut left = pin!(self.left.notified());
                // From here on, no notification is lost, even before the first poll.
                left.as_mut().enable();
                match choose() {
                    Some(chosen) => return chosen,
                    None => left.await,
                }
            }
        };
        Box::pin(timeout(settings.timeout, chosen)).await.ok()
    }

    /// Requests that wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// There are other servers: all that wait look again.
    pub(crate) fn note_servers(&self) {
        if self.waiting() > 0 {
            self.left.notify_waiters();
        }
    }

    /// A request left a server: wakes the request that has waited longest.
    pub(crate) fn note_left(&self) {
        if self.waiting() > 0 {
            self.left.notify_one();
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
