//! Requests whose server, a local process, crashes.

use std::sync::Arc;

use serow_client::DialError;
use serow_gateway::RequestLine;
use serow_net::monotonic;

use super::Forwarding;
use crate::{
    attempt_error::{AttemptError, Cause, Processed},
    forwarding::Connections,
    retry::{Decision, Fault},
    server::Server,
    settings::{CrashSettings, Successor},
};

/// Crashes that a request has seen.
#[derive(Debug, Default)]
pub(crate) struct Crashes {
    count: u32,
    /// The server that closed a connection which had been used before: it did so between two requests, or it has
    /// crashed and is not there any more.
    lost: Option<Arc<Server>>,
    /// Whether the server had crashed with another request when this one came to it.
    is_innocent: bool,
}

impl Crashes {
    /// Whether the request was to go to the server that closed the connection, and this is another one.
    pub(super) fn has_lost_another(&self, chosen: &Server) -> bool {
        self.lost.as_ref().is_some_and(|lost| lost.number() != chosen.number())
    }

    /// The server that closed the connection has not crashed: it still runs, or was taken out of use.
    pub(super) fn forget_lost(&mut self) {
        self.lost = None;
    }
}

impl Forwarding {
    /// An attempt at this server begins.
    pub(super) fn note_crash_of_others(&mut self, server: &Server) {
        let settings = self.local.upstream.settings().crashes;
        let is_elsewhere = settings.is_some_and(|settings| settings.successor == Successor::Elsewhere);
        self.crashes.is_innocent = is_elsewhere && server.has_just_crashed();
    }

    /// Decides how to go on after a failed attempt that may have been a crash: the request gets at most one more
    /// attempt.
    pub(super) fn after_crash(
        &mut self,
        server: &Arc<Server>,
        fault: Fault,
        processed: Processed,
        decision: Decision,
    ) -> Decision {
        let Some(settings) = self.local.upstream.settings().crashes else { return decision };
        let is_lost = self.crashes.lost.as_ref().is_some_and(|lost| lost.number() == server.number());
        match (decision, fault, processed) {
            (Decision::GiveUp, ..) => decision,
            (_, Fault::ConnectionLost, _) if self.crashes.is_innocent => {
                self.requirements.min_servers = self.requirements.min_servers.max(1);
                Decision::RetryElsewhere
            }
            (Decision::RetryOnNewConnection, ..) => {
                self.crashes.lost = Some(Arc::clone(server));
                // The next attempt at the same server shows whether it still runs.
                self.requirements.session = Some(server.number());
                decision
            }
            (_, Fault::ConnectionLost, Processed::Maybe) => self.note_crash(server, settings),
            (_, Fault::Connect, _) if is_lost => self.note_crash(server, settings),
            _ => decision,
        }
    }

    /// Whether the server that closed the connection has ended since.
    pub(super) fn lost_has_ended(&self) -> bool {
        let is_there =
            |lost: &Server| self.local.upstream.servers().iter().any(|server| server.number() == lost.number());
        self.crashes.lost.as_ref().is_some_and(|lost| !is_there(lost))
    }

    /// The same as [`Self::after_crash`], before the next attempt: that server has ended.
    pub(super) fn note_lost(&mut self) -> Decision {
        match (self.crashes.lost.take(), self.local.upstream.settings().crashes) {
            (Some(lost), Some(settings)) => {
                self.requirements.tried.push(lost.number());
                self.note_crash(&lost, settings)
            }
            _ => Decision::RetryElsewhere,
        }
    }

    /// A server that refuses connections has crashed, though it is not known yet: the next one is waited for.
    pub(super) fn look_for_refusal(&mut self, failure: &AttemptError) {
        let is_refused = matches!(&failure.cause, Cause::Dial(error) if !matches!(**error, DialError::TimedOut(_)));
        if is_refused && self.local.upstream.settings().crashes.is_some() {
            self.requirements.min_servers = self.requirements.min_servers.max(1);
        }
    }

    fn note_crash(&mut self, server: &Server, settings: CrashSettings) -> Decision {
        server.note_crash();
        self.crashes.count += 1;
        self.crashes.lost = None;
        self.requirements.session = None;
        let line = RequestLine { method: self.head.method().clone(), target: self.head.target().clone() };
        let mut crashing = self.local.upstream.crashing();
        if self.crashes.count > MAX_RETRIES {
            crashing.note(&line, monotonic());
            return Decision::GiveUp;
        }
        let Some(min_servers) = settings.min_servers.filter(|_| !crashing.has(&line, monotonic())) else {
            return Decision::GiveUp;
        };
        self.requirements.min_servers = min_servers;
        // On one that was used before, the next crash would look like a connection that was closed while it was idle.
        self.connections = Connections::New;
        Decision::RetryElsewhere
    }
}

/// How often a request is sent again when servers crash with it.
const MAX_RETRIES: u32 = 1;
