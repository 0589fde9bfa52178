//! Requests that a worker has crashed with: they may crash a second worker only while there is a third.

use super::{Pool, PoolRequest};

impl<T: Clone, W: Clone> Pool<T, W> {
    /// Workers have died with these requests: they wait until they are [released](Self::release).
    pub(crate) fn hold(&mut self, request: impl IntoIterator<Item = PoolRequest<T>>) {
        self.held.extend(request);
    }

    /// Releases held requests for a retry, if there is another worker besides the one that each may crash.
    pub(crate) fn release(&mut self) -> Vec<PoolRequest<T>> {
        if self.has_spare_worker() { self.held.drain(..).collect() } else { Vec::new() }
    }

    fn has_spare_worker(&self) -> bool {
        self.workers.iter().filter(|worker| !worker.draining).count() > 1
    }

    /// While there is only one worker left, requests that have crashed another one are not sent to it.
    pub(super) fn spare_last_worker(&mut self) {
        if !self.has_spare_worker() && self.queue.iter().any(|request| request.crashes > 0) {
            let (held, queue): (Vec<_>, Vec<_>) = self.queue.drain(..).partition(|request| request.crashes > 0);
            self.held.extend(held);
            self.queue.extend(queue);
        }
    }
}
