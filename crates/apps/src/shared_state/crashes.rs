//! The requests of a worker that is gone.

use std::sync::{Arc, MutexGuard, PoisonError};

use serow_gateway::{CrashingRequests, RequestLine};
use serow_message::StatusCode;
use serow_net::monotonic;

use super::{ApplicationState, Sent};
use crate::{
    exchange::Event,
    messages,
    pool::{PoolRequest, RequestTimes},
    request_error::RequestError,
    worker_link::WorkerLink,
};

impl ApplicationState {
    /// A worker is gone, and all its replies have been read: other workers get its requests, where that is safe.
    pub(crate) fn lose(&self, link: &WorkerLink) {
        let lost = self.pool().lost(link.number);
        let mut untaken: Vec<_> = link.outbox.close().iter().filter_map(|packet| messages::ticket_of(packet)).collect();
        while let Ok(Some(message)) = link.untaken.try_receive() {
            untaken.extend(messages::ticket_of(&message.bytes));
        }
        let (mut again, mut crashed) = (Vec::new(), Vec::new());
        let begun = lost.in_flight.into_iter().map(|(request, began)| (request, Some(began)));
        for (mut request, began) in begun.chain(lost.ahead.into_iter().map(|request| (request, None))) {
            if request.content.exchange.is_settled() {
                continue;
            }
            if untaken.contains(&request.ticket) {
                again.push(request);
                continue;
            }
            if let (Some(notes), Some(began)) = (&request.content.notes, began) {
                let times = RequestTimes::of(request.since, began, monotonic());
                notes.note_failure(&link.name(), times, StatusCode::BAD_GATEWAY);
            }
            request.crashes += 1;
            match self.may_crash_another(&request) {
                true => crashed.push(request),
                false => request.content.exchange.push(Event::Failed(RequestError::WorkerCrashed)),
            }
        }
        let again = {
            let mut pool = self.pool();
            pool.hold(crashed);
            let mut released = pool.release();
            released.append(&mut again);
            released
        };
        self.ask_again(again);
    }

    /// Whether another worker may have a request that a worker has crashed with.
    fn may_crash_another(&self, request: &PoolRequest<Arc<Sent>>) -> bool {
        let Sent { line, exchange, .. } = &*request.content;
        if request.crashes > MAX_RETRIES {
            self.crashing().note(line, monotonic());
            return false;
        }
        // The only worker is always the last one.
        let has_others = self.settings.run.processes.get() > 1;
        has_others && line.is_repeatable() && !exchange.has_begun() && !self.is_crashing(line)
    }

    pub(super) fn is_crashing(&self, line: &RequestLine) -> bool {
        self.crashing().has(line, monotonic())
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn crashing(&self) -> MutexGuard<'_, CrashingRequests> {
        self.crashing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often a request is retried when workers crash with it. A second crash shows that the request is the cause; a
/// single one may have any cause and should not reach the client.
const MAX_RETRIES: u8 = 1;
