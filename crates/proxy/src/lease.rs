//! A request at a server.

use std::sync::Arc;

use crate::{attempt_log::AttemptLog, server::Server};

/// A request at a server: counted there until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    server: Arc<Server>,
    /// Whether it is the trial request after an ejection.
    trial: bool,
    /// The attempt in the access log, if it is logged.
    attempt_log: Option<AttemptLog>,
}

impl Lease {
    /// Counts a request; `None` if the server is full.
    pub(crate) fn take(server: &Arc<Server>) -> Option<Self> {
        let is_admitted = server.count();
        let mut lease = Self { server: Arc::clone(server), trial: false, attempt_log: None };
        if !is_admitted {
            return None;
        }
        lease.trial = server.outlier.begin_trial();
        Some(lease)
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Records the end of the request in this attempt log.
    pub(crate) fn set_attempt_log(&mut self, attempt_log: Option<AttemptLog>) {
        self.attempt_log = attempt_log;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.server.discount();
        if self.trial {
            self.server.outlier.end_trial();
        }
    }
}
