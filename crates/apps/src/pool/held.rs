//! Requests that a worker has died with: another one is risked for each only while there is a third.

use super::{Pool, PoolRequest};

impl<T: Clone, W: Clone> Pool<T, W> {
    /// Workers have died with these requests: they wait until they are [released](Self::release).
    pub(crate) fn hold(&mut self, request: impl IntoIterator<Item = PoolRequest<T>>) {
        self.held.extend(request);
    }

    /// Requests that workers have died with may be request again, where there is a worker besides the one that each may cost.
    pub(crate) fn release(&mut self) -> Vec<PoolRequest<T>> {
        if self.has_spare_worker() { self.held.drain(..).collect() } else { Vec::new() }
    }

    fn has_spare_worker(&self) -> bool {
        self.workers.iter().filter(|worker| !worker.leaving).count() > 1
    }

    /// Where there is only one worker left, none of the queue's requests that another has died with is sent to it.
    pub(super) fn spare_last_worker(&mut self) {
        if !self.has_spare_worker() && self.queue.iter().any(|request| request.crashes > 0) {
            let (held, queue): (Vec<_>, Vec<_>) = self.queue.drain(..).partition(|request| request.crashes > 0);
            self.held.extend(held);
            self.queue.extend(queue);
        }
    }
}
