//! A request at a server.

use std::sync::Arc;

use crate::{attempts::AttemptLog, server::Server};

/// A request at a server: counted there until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    server: Arc<Server>,
    /// Whether it tries a server that was left alone.
    trial: bool,
    /// What the log is told of it, where it is.
    attempt_log: Option<AttemptLog>,
}

impl Lease {
    /// Counts a request; `None` where the server has as many as it may.
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

    /// Whoever notes the request's attempt_log learns of its end.
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
