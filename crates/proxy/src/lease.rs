//! A request at a server.

use std::sync::Arc;

use crate::{attempts::Course, server::Server};

/// A request at a server: counted there until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    server: Arc<Server>,
    /// Whether it tries a server that was left alone.
    trial: bool,
    /// What the log is told of it, where it is.
    course: Option<Course>,
}

impl Lease {
    /// Counts a request; `None` where the server has as many as it may.
    pub(crate) fn take(server: &Arc<Server>) -> Option<Self> {
        let is_admitted = server.count();
        let mut lease = Self { server: Arc::clone(server), trial: false, course: None };
        if !is_admitted {
            return None;
        }
        lease.trial = server.outlier.begin_trial();
        Some(lease)
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Whoever notes the request's course learns of its end.
    pub(crate) fn is_noted_by(&mut self, course: Option<Course>) {
        self.course = course;
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
