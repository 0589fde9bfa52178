//! Records an attempt in progress for the access log.

use std::{rc::Rc, sync::Arc, time::Duration};

use serow_gateway::Attempts;
use serow_message::StatusCode;
use tokio::time::Instant;

/// Records an attempt in progress and the time when it began. Dropping the last clone records the end.
#[derive(Clone, Debug)]
pub(crate) struct AttemptLog {
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    attempts: Attempts,
    place: usize,
    began: Instant,
}

impl AttemptLog {
    /// An attempt at the server with this name begins, for which the request has waited so long.
    pub(crate) fn begin(attempts: &Attempts, server: &Arc<str>, queue_time: Duration) -> Self {
        let place = attempts.begin(server);
        attempts.note_queue(place, queue_time);
        Self { shared: Rc::new(Shared { attempts: attempts.clone(), place, began: Instant::now() }) }
    }

    /// It has its connection; `opened` is false for an idle one that is reused.
    pub(crate) fn note_connection(&self, opened: bool) {
        let Shared { attempts, place, began } = &*self.shared;
        attempts.note_connection(*place, if opened { began.elapsed() } else { Duration::ZERO });
    }

    /// It has a response's head.
    pub(crate) fn note_head(&self, status: StatusCode) {
        let Shared { attempts, place, began } = &*self.shared;
        attempts.note_head(*place, status, began.elapsed());
    }

    /// It failed; the client would get this status.
    pub(crate) fn note_failure(&self, status: StatusCode) {
        let Shared { attempts, place, began } = &*self.shared;
        attempts.note_failure(*place, status, began.elapsed());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.attempts.note_end(self.place, self.began.elapsed());
    }
}
