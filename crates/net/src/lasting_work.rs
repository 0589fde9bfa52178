//! Work of a thread that outlives the connection that brought it: a server that stops waits for it.

use std::{cell::Cell, rc::Rc};

use tokio::sync::Notify;

/// Work of this thread that goes on without a connection, until this is dropped.
#[derive(Debug)]
pub struct LastingWork(Rc<Works>);

/// All of a thread.
#[derive(Debug, Default)]
struct Works {
    count: Cell<usize>,
    ended: Notify,
}

impl LastingWork {
    /// Begins.
    #[must_use]
    pub fn begin() -> Self {
        let works = WORKS.with(Rc::clone);
        works.count.set(works.count.get() + 1);
        Self(works)
    }

    /// Waits until none is left on this thread.
    pub async fn all_ended() {
        let works = WORKS.with(Rc::clone);
        while works.count.get() > 0 {
            works.ended.notified().await;
        }
    }
}

impl Drop for LastingWork {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        self.0.ended.notify_one();
    }
}

thread_local! {
    static WORKS: Rc<Works> = Rc::default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_runtime;

    #[test]
    fn all_work_of_a_thread_is_waited_for() {
        let runtime = thread_runtime().unwrap();
        runtime.block_on(async {
            LastingWork::all_ended().await;
            let (one, other) = (LastingWork::begin(), LastingWork::begin());
            let waiting = tokio::task::spawn_local(LastingWork::all_ended());
            drop(one);
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished());
            drop(other);
            waiting.await.unwrap();
        });
    }
}
