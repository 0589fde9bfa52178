//! A request on its way to the origin, and what its response means for the cache.

use std::{pin::Pin, sync::Arc, time::Duration};

use serow::{Body, Connection, Extensions, Handler, Headers, Request, RequestHead, Response};
use serow_cache::{
    ExchangeTimes, Fill, FillFollower, FillLeader, FillOutcome, StoreVersion, Stored, StoringRequest, TagNames, Time,
    add_validators, make_unconditional, make_unconditional_in_parts, may_replace_error,
};
use serow_gateway::AccelExpires;
use serow_message::{CacheStatus, InformationalSender, StatusCode};
use tokio::time::{Instant, timeout_at};

use super::{
    ResponseCache, answer::Lookup, cache_request::CacheRequest, delivery::deliver, store_decision::is_for_others,
};

/// A request that is forwarded.
pub(super) struct Fetch<H> {
    pub(super) cache: ResponseCache,
    handler: H,
    pub(super) cache_request: CacheRequest,
    /// The request, with the conditions and ranges of the client.
    pub(super) head: RequestHead,
    connection: Connection,
    informational: InformationalSender,
    extensions: Extensions,
    pub(super) lookup: Lookup,
    pub(super) version: StoreVersion,
    pub(super) mode: FetchMode,
}

/// How a request is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FetchMode {
    /// With the client's conditions and ranges: the response is not expected to be stored.
    AsReceived,
    /// For the whole response, which can be stored; what is stored is validated.
    ToStore,
    /// For the client's range of what is too long to be stored as a whole; what is stored of it is validated.
    InParts,
    /// For the whole response, for nobody who waits.
    InBackground,
}

impl<H: Handler> Fetch<H> {
    pub(super) fn new(
        cache: ResponseCache,
        handler: H,
        request: Request,
        cache_request: CacheRequest,
        lookup: Lookup,
        version: StoreVersion,
        mode: FetchMode,
    ) -> Self {
        let connection = request.connection().clone();
        let informational = request.informational().clone();
        let Request { method, target, version: protocol, headers, extensions, .. } = request;
        let head = RequestHead { method, target, version: protocol, headers };
        Self { cache, handler, cache_request, head, connection, informational, extensions, lookup, version, mode }
    }

    /// Forwards the request; the requests that wait for the leader get what it gets.
    pub(super) async fn run(self, leader: Option<FillLeader>) -> Response {
        let (mut response, mut exchange) = self.send(self.conditional_headers()).await;
        if self.mode != FetchMode::AsReceived && response.status == StatusCode::NOT_MODIFIED && is_for_others(&response)
        {
            if let Some((response, is_stored)) = self.revalidated(&response, exchange) {
                settle(leader.as_ref(), if is_stored { FillOutcome::Stored } else { FillOutcome::Released });
                return response;
            }
            // It is about another response than those that are stored.
            (response, exchange) = self.send(self.unconditional_headers()).await;
        }
        if is_failure(&response)
            && let Some(stale) = self.replacement()
            && let Some(response) = self.deliver_stored(&stale, self.validated_by(response.status, false))
        {
            settle(leader.as_ref(), FillOutcome::Failed);
            return response;
        }
        if self.cache_request.is_head {
            self.compare_head(&response, exchange);
        }
        self.receive(response, exchange, leader).await
    }

    /// Waits for the request that was forwarded before, but not for long.
    pub(super) async fn follow(mut self, mut follower: FillFollower) -> Response {
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let Ok(outcome) = timeout_at(deadline, &mut follower).await else {
                drop(follower);
                self.mode = FetchMode::AsReceived;
                return self.run_alone().await;
            };
            match outcome {
                FillOutcome::Arriving(arriving) => {
                    match self.share(&arriving) {
                        Ok(response) => return response,
                        Err(mode) => self.mode = mode,
                    }
                    return self.run_alone().await;
                }
                FillOutcome::Stored => {
                    let now = self.cache.store.now();
                    let resource = self.cache.memory().find(&self.cache_request.key);
                    if let Some(Ok((stored, _))) = resource
                        .map(|resource| self.cache.look_up(&resource, &self.head.headers, &self.cache_request, now))
                        && let Some(response) = self.deliver_stored(&stored, self.collapsed())
                    {
                        return response;
                    }
                    return self.run_alone().await;
                }
                FillOutcome::Failed => {
                    if let Some(stale) = self.replacement()
                        && let Some(response) = self.deliver_stored(&stale, self.collapsed())
                    {
                        return response;
                    }
                    return self.run_alone().await;
                }
                FillOutcome::Released => {
                    self.mode = FetchMode::AsReceived;
                    return self.run_alone().await;
                }
                FillOutcome::Abandoned => {
                    let (key, scope) = (&self.cache_request.key, self.cache.scope);
                    self.version = self.cache.memory().version();
                    match self.cache.store.shared.fills.join(key, scope, self.cache.memory()) {
                        Some(Fill::Follower(other)) => follower = other,
                        Some(Fill::Leader(leader)) => return Box::pin(self.run(Some(leader))).await,
                        None => return self.run_alone().await,
                    }
                }
            }
        }
    }

    /// Forwards the request for itself. Boxed, so that thousands of requests that wait for another need not have room for
    /// it.
    fn run_alone(self) -> Pin<Box<dyn Future<Output = Response>>> {
        Box::pin(self.run(None))
    }

    pub(super) async fn send(&self, headers: Headers) -> (Response, ExchangeTimes) {
        let sent = self.cache.store.now();
        let head = RequestHead { headers, ..self.head.clone() };
        let request = Request::new(head, Body::empty(), self.connection.clone());
        let mut request = request.with_informational(self.informational.clone());
        request.extensions = self.extensions.clone();
        let mut response = self.handler.call(request).await;
        let tags = TagNames::take(&mut response.headers);
        if !tags.is_empty() {
            response.extensions.insert(tags);
        }
        let received = self.cache.store.now();
        if let Some(expires) = response.extensions.remove::<AccelExpires>()
            && !self.cache.settings.ignores_accel_expires
        {
            say(expires, received, &mut response.headers);
        }
        (response, ExchangeTimes { sent, received })
    }

    fn conditional_headers(&self) -> Headers {
        if self.mode == FetchMode::AsReceived {
            return self.head.headers.clone();
        }
        let mut headers = self.unconditional_headers();
        let stored = self.lookup.stored.iter().map(|stored| &stored.head);
        let selected = self.lookup.stored.first().filter(|_| self.lookup.is_selected).map(|stored| &stored.head);
        add_validators(&mut headers, stored, selected);
        headers
    }

    pub(super) fn unconditional_headers(&self) -> Headers {
        let mut headers = self.head.headers.clone();
        match self.mode {
            FetchMode::InParts => make_unconditional_in_parts(&mut headers),
            FetchMode::AsReceived | FetchMode::ToStore | FetchMode::InBackground => make_unconditional(&mut headers),
        }
        headers
    }

    /// The request, with these headers, as what decides about its response.
    pub(super) fn storing_request<'a>(&'a self, headers: &'a Headers) -> StoringRequest<'a> {
        let (has_credentials, no_store) = (self.cache_request.has_credentials, self.cache_request.control.no_store);
        let set_fields = &self.cache.origin.set_fields;
        StoringRequest { method: &self.head.method, headers, has_credentials, no_store, set_fields }
    }

    /// The stored response that is sent in place of an error, if there is one (RFC 5861 §4).
    fn replacement(&self) -> Option<Arc<Stored>> {
        let stored = self.lookup.stored.first().filter(|_| self.lookup.is_selected)?;
        let now = self.cache.store.now();
        let may =
            may_replace_error(&stored.current_head(), &self.cache_request.control, &self.cache.settings.rules, now);
        may.then(|| Arc::clone(stored))
    }

    /// A stored response, after the request was forwarded; nothing if its file is gone or cannot be opened.
    fn deliver_stored(&self, stored: &Stored, status: CacheStatus) -> Option<Response> {
        let response = deliver(&self.head.method, &self.head.headers, stored, self.cache.store.now()).ok()?;
        Some(self.finish(response, status))
    }

    /// The response that the client gets; nobody gets that of a request in the background.
    pub(super) fn finish(&self, response: Response, status: CacheStatus) -> Response {
        match self.mode {
            FetchMode::InBackground => response,
            FetchMode::AsReceived | FetchMode::ToStore | FetchMode::InParts => {
                self.cache.finish(response, status, Some(&self.cache_request.key))
            }
        }
    }

    /// A stored response is sent in place of the origin's, which had this status.
    pub(super) fn validated_by(&self, status: StatusCode, is_stored: bool) -> CacheStatus {
        CacheStatus::Forwarded { reason: self.lookup.reason, status: Some(status), is_stored, is_collapsed: false }
    }

    /// The client gets the origin's response.
    pub(super) fn forwarded(&self, is_stored: bool) -> CacheStatus {
        CacheStatus::Forwarded { reason: self.lookup.reason, status: None, is_stored, is_collapsed: false }
    }

    /// The request got what another one was forwarded for.
    pub(super) fn collapsed(&self) -> CacheStatus {
        CacheStatus::Forwarded { reason: self.lookup.reason, status: None, is_stored: false, is_collapsed: true }
    }
}

/// Says in the field for this cache what X-Accel-Expires says, unless the origin has used that field itself: like that one,
/// it counts whatever `Cache-Control` says to others.
fn say(expires: AccelExpires, now: Time, headers: &mut Headers) {
    let seconds = match expires {
        AccelExpires::Seconds(seconds) => seconds,
        AccelExpires::At(time) => time.saturating_sub(now.as_millis() / 1000),
    };
    if headers.contains("serow-cache-control") {
        return;
    }
    // Digits, and no other bytes than a field may have.
    let _ = match seconds {
        0 => headers.append("serow-cache-control", "no-store"),
        seconds => headers.append("serow-cache-control", format!("max-age={seconds}")),
    };
}

/// Tells those who wait for a leader what it has found out.
pub(super) fn settle(leader: Option<&FillLeader>, outcome: FillOutcome) {
    leader.into_iter().for_each(|leader| leader.settle(outcome.clone()));
}

/// The tags of a response.
pub(super) fn tags_of(response: &Response) -> TagNames {
    response.extensions.get::<TagNames>().cloned().unwrap_or_default()
}

/// Whether a response is an error for which a stored one may be sent (RFC 5861 §4).
pub(super) fn is_failure(response: &Response) -> bool {
    matches!(response.status.as_u16(), 500 | 502..=504)
}

/// How long a request waits for the head of another's response: a slow one that turns out to be for one client only must not hold up
/// all others, one after the other. As nginx's `proxy_cache_lock_timeout`.
const MAX_WAIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
