//! One request on its way: attempts at servers until one of them answers.

mod crashes;
mod outcome;

use std::{rc::Rc, sync::Arc, time::Duration};

use serow_fastcgi::Variables;
use serow_gateway::{Attempts, BufferedBody, ErrorReason, RequestBody, UnframedBody};
use serow_message::{
    BodyKind, Connection, InformationalSender, KnownHeader, Method, Request, Response, StatusCode, Version,
};
use tokio::time::{Instant, timeout_at};

use self::crashes::Crashes;
use crate::{
    attempt_error::{AttemptError, Processed},
    attempt_log::AttemptLog,
    cgi, error_response,
    lease::Lease,
    local_upstream::LocalUpstream,
    proxy::OwnSettings,
    request_head::{self, OutgoingHead},
    response_head,
    retry::{Decision, FailedAttempt, Fault, UnsentBody},
    selection::Requirements,
    server::Server,
    server_response::{ResponseContent, ServerResponse},
    settings::Balancing,
    sticky::Session,
    tunnel,
};

/// A request on its way.
pub(crate) struct Forwarding {
    pub(crate) local: Rc<LocalUpstream>,
    pub(crate) settings: OwnSettings,
    pub(crate) head: OutgoingHead,
    pub(crate) body: RequestBody,
    pub(crate) has_body: bool,
    /// The variables of its script, if servers speak FastCGI, SCGI or uwsgi. Boxed, since most have none.
    pub(crate) variables: Option<Box<Variables>>,
    /// The body, if it was buffered.
    pub(crate) whole: Option<Box<BufferedBody>>,
    pub(crate) informational: InformationalSender,
    /// The connection that the request came on.
    pub(crate) client: Connection,
    session: Option<Session>,
    requirements: Requirements,
    attempts: u32,
    crashes: Crashes,
    pub(crate) connections: Connections,
    failure: Option<Box<AttemptError>>,
    /// When all of it has to be over.
    pub(crate) until: Option<Instant>,
    /// How long the request has waited until the current server had room for it.
    pub(crate) queue_time: Duration,
    /// The attempts, if the access log needs them, and the log of the current one.
    pub(crate) noted: Option<Attempts>,
    pub(crate) attempt_log: Option<AttemptLog>,
}

/// Which connections a request may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// One that is there, if there is one.
    Any,
    /// One that is opened for it: where one of those that were left idle is closed, others are likely to be.
    New,
}

impl Forwarding {
    /// Prepares the head and the body, and finds out which servers may get the request.
    ///
    /// # Errors
    ///
    /// The response, if the request is not forwarded.
    pub(crate) fn new(local: Rc<LocalUpstream>, settings: OwnSettings, mut request: Request) -> Result<Self, Response> {
        let key = match &local.upstream.settings().balancing {
            Balancing::Hash(key) => key.of(&request, &settings.forwarded),
            _ => 0,
        };
        let sticky = local.members.borrow().sticky.clone();
        let session = sticky.map(|sticky| Session::take(sticky, &mut request, &settings.forwarded));
        let informational = request.informational().clone();
        let client = request.connection().clone();
        let expects_continue = expects_continue(&request);
        let body = std::mem::take(&mut request.body);
        let variables = local.upstream.settings().cgi_protocol.map(|_| cgi::variables(&request, &settings)).transpose();
        let variables =
            variables.map_err(|status| error_response::respond(status.into(), &request.headers, &settings))?;
        let head = request_head::outgoing(&mut request, &settings)
            .map_err(|status| error_response::respond(status.into(), &request.headers, &settings))?;
        let connections = Connections::Any;
        let requirements = Requirements {
            key,
            session: session.as_ref().and_then(Session::server),
            only_session: session.as_ref().is_some_and(Session::is_bound),
            ..Requirements::default()
        };
        let has_body = body.length() != Some(0);
        let body = RequestBody::new(body, head.trailers.clone()).expecting(expects_continue);
        local.upstream.budget().deposit(local.now());
        let total = settings.timeouts.and_then(|timeouts| timeouts.total);
        let total = total.or(local.upstream.settings().timeouts.total);
        let until = total.map(|total| Instant::now() + total);
        let noted = settings.note_attempts.then(Attempts::default);
        Ok(Self {
            local,
            settings,
            head,
            body,
            has_body,
            variables: variables.map(Box::new),
            whole: None,
            informational,
            client,
            session,
            requirements,
            attempts: 0,
            crashes: Crashes::default(),
            connections,
            failure: None,
            until,
            queue_time: Duration::ZERO,
            noted,
            attempt_log: None,
        })
    }

    /// Takes in the body, if it is buffered: from then on, the request needs its client no more.
    ///
    /// # Errors
    ///
    /// The response, if the body cannot be had.
    pub(crate) async fn take_in(&mut self) -> Result<(), Response> {
        if !self.has_body {
            return Ok(());
        }
        let taken = match self.until {
            None => Box::pin(self.take_body()).await,
            Some(until) => {
                let taken = Box::pin(timeout_at(until, self.take_body())).await;
                taken.unwrap_or(Err(StatusCode::GATEWAY_TIMEOUT))
            }
        };
        taken.map_err(|status| self.error_response(status))
    }

    /// The response of a server, or an error response.
    pub(crate) async fn respond(&mut self) -> Response {
        let mut response = match self.until {
            None => self.attempts().await,
            // A timer has a cache line to itself: within the future it would make the allocation for every request a
            // slow one.
            Some(until) => match Box::pin(timeout_at(until, Box::pin(self.attempts()))).await {
                Ok(response) => response,
                Err(_) => self.error_response(StatusCode::GATEWAY_TIMEOUT),
            },
        };
        if let Some(noted) = self.noted.take() {
            response.extensions.insert(noted);
        }
        response
    }

    async fn attempts(&mut self) -> Response {
        if self.has_body
            && self.whole.is_none()
            && self.settings.buffering.is_some()
            && let Err(refusal) = Box::pin(self.take_body()).await
        {
            return self.error_response(refusal);
        }
        loop {
            if self.lost_has_ended() && self.note_lost() == Decision::GiveUp {
                return self.give_up();
            }
            let lease = match self.choose().await {
                Ok(lease) => lease,
                Err(refusal) => return self.refuse(refusal),
            };
            let server = Arc::clone(lease.server());
            if self.crashes.has_lost_another(&server) {
                // It may have ended after that look.
                if self.lost_has_ended() {
                    continue;
                }
                self.crashes.forget_lost();
            }
            self.attempts += 1;
            self.note_crash_of_others(&server);
            let began = Instant::now();
            match self.attempt(lease).await {
                Ok(response) => {
                    self.note_answer(&server, &response, began);
                    if self.after(&server, Fault::Status(response.head.status), Processed::Maybe) == Decision::GiveUp {
                        return self.finish(response, &server);
                    }
                }
                Err(failure) => {
                    self.note_failure(&server, &failure, began.elapsed());
                    self.look_for_refusal(&failure);
                    let decision = self.after(&server, Fault::from(&failure), failure.processed);
                    self.failure = Some(Box::new(failure));
                    if decision == Decision::GiveUp {
                        return self.give_up();
                    }
                }
            }
        }
    }

    /// Buffers the body before a server is selected, if the settings say so.
    async fn take_body(&mut self) -> Result<(), StatusCode> {
        let Some(settings) = &self.settings.buffering else { return Ok(()) };
        match BufferedBody::read(std::mem::take(&mut self.body).into_body(), settings).await {
            Ok(whole) => self.whole = Some(Box::new(whole)),
            Err(failure) => {
                failure.log(&self.local.upstream.settings().name, settings);
                return Err(failure.status());
            }
        }
        Ok(())
    }

    /// A server with room; waits for one where all are busy.
    async fn choose(&mut self) -> Result<Lease, ErrorReason> {
        self.queue_time = Duration::ZERO;
        if let Some(chosen) = self.local.select_at_once(&self.requirements) {
            return chosen;
        }
        let began = Instant::now();
        let chosen = Box::pin(self.local.select_in_turn(&self.requirements)).await;
        self.queue_time = began.elapsed();
        chosen
    }

    /// Decides how to go on after an attempt.
    fn after(&mut self, server: &Arc<Server>, fault: Fault, processed: Processed) -> Decision {
        let is_whole = !self.has_body || self.whole.is_some() || self.body.is_whole();
        let body = if is_whole { UnsentBody::Whole } else { UnsentBody::Partial };
        let attempt = FailedAttempt { fault, processed, method: self.head.method(), body, made: self.attempts };
        let decision = self.local.upstream.settings().retries.decide(&attempt);
        match self.after_crash(server, fault, processed, decision) {
            Decision::GiveUp => Decision::GiveUp,
            Decision::RetryOnNewConnection => {
                self.attempts -= 1;
                self.connections = Connections::New;
                Decision::RetryOnNewConnection
            }
            // A local process is busy otherwise, and gets no more requests meanwhile: the request waits for another one.
            Decision::RetryElsewhere if fault == Fault::Refused && self.local.upstream.settings().holds_overdue => {
                self.attempts -= 1;
                Decision::RetryElsewhere
            }
            Decision::RetryElsewhere => {
                let upstream = &self.local.upstream;
                self.requirements.tried.push(server.number());
                // A server that cannot be reached, is slow or failing is not tried again: at once, as in nginx, the result
                // would be the same. A local process that has ended is started again, which is waited for.
                let of_use = matches!(fault, Fault::Refused | Fault::ConnectionLost)
                    || fault == Fault::Connect && upstream.settings().crashes.is_some()
                    || self.local.has_another(&self.requirements);
                // A retry after a crash overloads neither the crashed server nor the next one, which is waited for. A
                // server that refused the request has not worked on it. The budget does not apply to either.
                let is_free = fault == Fault::Refused
                    || upstream.settings().crashes.is_some() && self.requirements.min_servers > 0;
                let is_granted =
                    || is_free || upstream.budget().withdraw(self.local.now(), upstream.settings().retries.budget);
                if !of_use || !is_granted() {
                    return Decision::GiveUp;
                }
                server.load.counters.retries.add(1);
                Decision::RetryElsewhere
            }
        }
    }

    /// The response as the client gets it.
    fn finish(&mut self, response: ServerResponse, server: &Server) -> Response {
        let ServerResponse { head, content, is_unframed, .. } = response;
        let is_head = *self.head.method() == Method::HEAD;
        let (upstream, is_trusted) = (self.local.upstream.settings().name.as_str(), self.head.trailers.trusted);
        let mut response = response_head::returning(head, self.head.method(), &self.settings, upstream, is_trusted);
        if self.variables.is_some() {
            // RFC 9110 §7.6.3 is about intermediaries of HTTP, which this server is not towards a script.
            let _ = response.headers.remove(KnownHeader::Via);
        }
        if is_unframed {
            response.extensions.insert(UnframedBody);
        }
        if let Some(session) = &self.session {
            session.finish(&mut response.headers, server);
        }
        match (content, self.head.upgrade.take()) {
            (ResponseContent::Body(_), _) if is_head => {}
            (ResponseContent::Body(body), _) => response.body = body,
            (ResponseContent::Tunnel(server), Some(upgrade)) => tunnel::join(upgrade, server),
            // The server switched protocols without a request for that; the state machine rejects this earlier.
            (ResponseContent::Tunnel(..), None) => return self.error_response(StatusCode::BAD_GATEWAY),
        }
        response
    }

    /// The last attempt failed.
    fn give_up(&self) -> Response {
        let status = self.failure.as_ref().map_or(StatusCode::BAD_GATEWAY, |failure| failure.status());
        self.error_response(status)
    }

    /// No server is available.
    fn refuse(&self, reason: ErrorReason) -> Response {
        if self.failure.is_some() {
            return self.give_up();
        }
        let (upstream, now) = (&self.local.upstream, self.local.now());
        if let Some(suppressed) = upstream.refusals().admit(now) {
            let (name, asked) = (&upstream.settings().name, self.head.asked());
            if suppressed.0 > 0 {
                tracing::warn!(upstream = name, "and {suppressed} more warnings before");
            }
            tracing::warn!(upstream = name, "{asked}: {reason}");
        }
        self.error_response(reason)
    }

    /// An response of our own.
    fn error_response(&self, reason: impl Into<ErrorReason>) -> Response {
        error_response::respond(reason.into(), self.head.headers(), &self.settings)
    }
}

/// Whether the client waits for `100 Continue` before it sends the body: the server decides then (RFC 9110 §10.1.1). A body
/// that is in memory has been asked for.
fn expects_continue(request: &Request) -> bool {
    request.headers.contains(KnownHeader::Expect)
        && request.version != Version::HTTP_10
        && matches!(request.body.kind(), BodyKind::Incoming(_) | BodyKind::Stream(_))
}
