//! Notes for the access log which workers have had a request, how long it waited for each, and how long each took.

use std::{sync::Arc, time::Duration};

use serow_gateway::Attempts;
use serow_message::StatusCode;
use serow_net::monotonic;

use crate::{exchange::Event, pool::RequestTimes};

/// The notes about one request. Clones are handles to the same notes.
#[derive(Clone, Debug)]
pub(crate) struct AttemptNotes {
    attempts: Attempts,
    arrived: Duration,
}

impl AttemptNotes {
    /// The notes about a request that arrives now.
    pub(crate) fn begin() -> Self {
        Self { attempts: Attempts::default(), arrived: monotonic() }
    }

    /// The noted attempts.
    pub(crate) fn into_attempts(self) -> Attempts {
        self.attempts
    }

    /// A worker, which has these times, has sent this.
    pub(crate) fn note(&self, worker: &Arc<str>, times: RequestTimes, event: &Event) {
        match event {
            Event::Head { status, is_whole, .. } => {
                self.attempts.note_head(self.place(worker, times), *status, times.worked);
                if *is_whole {
                    self.note_end(worker, times);
                }
            }
            Event::Hijack(hijack) => {
                let place = self.place(worker, times);
                if let Some((status, _)) = &hijack.head {
                    self.attempts.note_head(place, *status, times.worked);
                }
            }
            Event::End(_) => self.note_end(worker, times),
            Event::Failed(failure) => self.note_failure(worker, times, failure.status()),
            Event::InformationalSender(..)
            | Event::Piece(_)
            | Event::Spooled(_)
            | Event::Message { .. }
            | Event::Close { .. } => {}
        }
    }

    /// The worker has finished, or the client has left.
    pub(crate) fn note_end(&self, worker: &Arc<str>, times: RequestTimes) {
        self.attempts.note_end(self.place(worker, times), times.worked);
    }

    /// The worker failed; the client would get this status.
    pub(crate) fn note_failure(&self, worker: &Arc<str>, times: RequestTimes, status: StatusCode) {
        self.attempts.note_failure(self.place(worker, times), status, times.worked);
    }

    /// The request has waited until now, and no worker of this application gets it.
    pub(crate) fn note_wait(&self, application: &str) {
        let place = self.attempts.begin(&Arc::from(application));
        self.attempts.note_queue(place, monotonic().saturating_sub(self.arrived));
    }

    fn place(&self, worker: &Arc<str>, times: RequestTimes) -> usize {
        let place = self.attempts.current(worker);
        self.attempts.note_queue(place, times.queued);
        place
    }
}
