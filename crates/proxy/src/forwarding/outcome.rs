//! Records the outcome of an attempt: for the access log, the server's health and its latency.

use std::time::Duration;

use tokio::time::Instant;

use super::Forwarding;
use crate::{
    attempt_error::{AttemptError, Processed},
    outlier::Outcome,
    server::Server,
    server_response::ServerResponse,
    warnings::warn_of_server,
};

impl Forwarding {
    pub(super) fn note_answer(&self, server: &Server, answer: &ServerResponse, began: Instant) {
        if let Some(attempt_log) = &self.attempt_log {
            attempt_log.note_head(answer.head.status);
        }
        let bad = matches!(answer.head.status.as_u16(), 502..=504);
        let outcome = if bad { Outcome::Failure } else { Outcome::Success };
        if bad {
            server.load.counters.failures.add(1);
        }
        self.local.upstream.note_outcome(server, outcome, self.local.now());
        // The time for which the client sends its body does not measure the server.
        let is_streamed = self.has_body && self.whole.is_none();
        if let Some(asked) = if is_streamed { answer.asked } else { Some(began) } {
            server.load.latency.note(asked.elapsed(), self.local.now());
        }
    }

    pub(super) fn note_failure(&self, server: &Server, failure: &AttemptError, took: Duration) {
        if let Some(attempt_log) = &self.attempt_log {
            attempt_log.note_failure(failure.status());
        }
        if !failure.is_servers() {
            return;
        }
        let upstream = self.local.upstream.settings();
        if upstream.holds_overdue && failure.is_refusal() {
            // The process is busy otherwise: the request goes to another one, as others do that wait.
            return;
        }
        let now = self.local.now();
        let (asked, AttemptError { step, cause, .. }) = (self.head.asked(), failure);
        warn_of_server(&upstream.name, server, now, format_args!("{asked}: {step}: {cause}"));
        if failure.processed == Processed::Unlikely {
            return;
        }
        server.load.counters.failures.add(1);
        self.local.upstream.note_outcome(server, Outcome::Failure, self.local.now());
        server.load.latency.note(took.max(FAILED), self.local.now());
    }
}

/// The latency that counts for a failed attempt: a server that fails fast must not look fast.
const FAILED: Duration = Duration::from_secs(1);
