//! The invariants of a run.

mod orderly;
mod response;
mod timing;

use crate::{
    observations::{Observations, Requested, Seen},
    plan::{Conduct, Malformation, Moment, Place, Plan, RequestPlan, Version},
};

/// Compares what happened with the invariants, and notes violations.
pub(crate) fn judge(plan: &Plan, observations: &Observations) {
    let (requests, seen) = (observations.requests.borrow(), observations.seen.borrow());
    for request in plan.clients.iter().flat_map(|client| &client.requests) {
        let nothing = Requested::default();
        let case = Case {
            plan,
            request,
            requested: requests.get(&request.id).unwrap_or(&nothing),
            seen: seen.iter().filter(|seen| seen.id == request.id).collect(),
            observations,
        };
        for violation in case.violations() {
            observations.violate(format!("request {}: {violation}", request.id));
        }
    }
}

/// A request, and all that is known of it.
struct Case<'a> {
    plan: &'a Plan,
    request: &'a RequestPlan,
    requested: &'a Requested,
    /// Its attempts, in order.
    seen: Vec<&'a Seen>,
    observations: &'a Observations,
}

impl Case<'_> {
    fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        self.check_attempts(&mut violations);
        response::check(self, &mut violations);
        orderly::check(self, &mut violations);
        timing::check(self, &mut violations);
        self.check_log(&mut violations);
        violations
    }

    /// Invariants of what reaches servers.
    fn check_attempts(&self, violations: &mut Vec<String>) {
        let (request, settings) = (self.request, &self.plan.settings);
        // A connection that a server closes between two requests costs no attempt.
        let is_closed = self.seen.iter().any(|seen| seen.is_reused && request.answer(seen.attempt).fault.is_close());
        let most = if request.is_idempotent() { settings.tries + usize::from(is_closed) } else { 1 };
        if self.seen.len() > most {
            violations.push(format!("{} reached servers {} times, at most {most}", request.method, self.seen.len()));
        }
        if !self.may_be_seen() && !self.seen.is_empty() {
            violations.push("was refused, and reached a server".to_owned());
        }
        let (content, is_cut) = (request.content(), self.is_cut_by_client());
        for seen in &self.seen {
            if seen.method != request.method && !matches!(request.place, Place::Cached(_)) {
                violations.push(format!("reached a server as {}", seen.method));
            }
            if !content.starts_with(&seen.body) {
                violations.push("reached a server with a body of other bytes".to_owned());
            }
            if seen.is_whole && self.is_too_large() {
                violations.push(format!("reached a server whole, with more than {} bytes", settings.max_body));
            }
            if seen.is_whole && (is_cut || seen.body.len() != content.len()) {
                let length = seen.body.len();
                violations.push(format!("reached a server whole with {length} of {} bytes", content.len()));
            }
        }
    }

    fn is_too_large(&self) -> bool {
        self.request.body.is_some_and(|body| body.length > self.plan.settings.max_body)
    }

    fn may_be_seen(&self) -> bool {
        let is_chunked = self.request.body.is_some_and(|body| body.is_chunked)
            || self.request.conduct == Conduct::Malformed(Malformation::BadChunk);
        let is_too_large = self.is_too_large() && !is_chunked;
        let is_head_wrong = match self.request.conduct {
            Conduct::Malformed(malformation) => malformation != Malformation::BadChunk,
            Conduct::StallsInHead(_) => true,
            Conduct::Leaves(departure) => matches!(departure.moment, Moment::InHead(_)),
            _ => false,
        };
        let is_refused = matches!(self.request.place, Place::Denied | Place::Responded);
        !(is_refused || is_head_wrong || is_too_large)
    }

    /// Whether the status of this attempt is one to retry.
    fn was_retried(&self, seen: &Seen) -> bool {
        let settings = &self.plan.settings;
        let answer = self.request.answer(seen.attempt);
        settings.retries_statuses && self.request.is_idempotent() && answer.status == 503
    }

    /// The requests before this one on its connection, and those behind it: HTTP/1.
    fn others(&self) -> (impl Iterator<Item = &RequestPlan>, impl Iterator<Item = &RequestPlan>) {
        let client = &self.plan.clients[self.request.id.client];
        let all = if client.version == Version::Http2 { &[][..] } else { &client.requests };
        let id = self.request.id;
        (all.iter().filter(move |other| other.id < id), all.iter().filter(move |other| other.id > id))
    }

    /// Whether the client does not send its whole body.
    fn is_cut_by_client(&self) -> bool {
        match self.request.conduct {
            Conduct::StallsInBody(_) | Conduct::Malformed(_) => true,
            Conduct::Violates(_) => self.request.body.is_some_and(|body| body.length > 0 || body.is_chunked),
            Conduct::Leaves(departure) => matches!(departure.moment, Moment::InBody(_)),
            _ => false,
        }
    }

    /// One line for each request that the server has understood.
    fn check_log(&self, violations: &mut Vec<String>) {
        let Ok(log) = self.observations.log.lock() else { return };
        let lines: Vec<_> = log.iter().filter(|line| line.id == Some(self.request.id)).collect();
        if lines.len() > 1 {
            violations.push(format!("has {} lines in the access log: {lines:?}", lines.len()));
        }
        if !self.seen.is_empty() && lines.is_empty() {
            violations.push("reached a server, and has no line in the access log".to_owned());
        }
        if let (Some(status), [line]) = (self.requested.received.status, &lines[..])
            && line.status != status
        {
            violations.push(format!("the access log says {}, and the client has {status}", line.status));
        }
    }
}
