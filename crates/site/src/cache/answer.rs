//! Whether a stored response is sent, or the request is forwarded, or waits for another one.

use std::{
    panic::resume_unwind,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use serow::{Handler, Headers, KnownHeader, Method, Request, Response};
use serow_cache::{Fill, FillWatch, Resource, Reuse, Stored, Time, accepts_coding, is_range_current, reuse};
use serow_gateway::error_page;
use serow_message::{CacheStatus, ForwardReason, HitState, StatusCode};
use tokio::task::{JoinHandle, spawn_local};

use super::{
    ResponseCache,
    cache_request::CacheRequest,
    delivery::{NotDelivered, deliver},
    fetch::{Fetch, FetchMode},
};
use crate::site_response::SiteResponse;

/// The stored responses for a request that has to be forwarded, and the reason to forward it.
pub(super) struct Lookup {
    pub(super) reason: ForwardReason,
    /// The stored responses that can be validated, that of the request first.
    pub(super) stored: Vec<Arc<Stored>>,
    /// Whether the first of them is one that the request matches.
    pub(super) is_selected: bool,
    /// The stored part that the request matches, whether it has what the request wants or not.
    pub(super) part: Option<Arc<Stored>>,
    /// Whether the whole response is expected not to be stored.
    pub(super) is_uncacheable: bool,
}

impl ResponseCache {
    /// Answers a GET or HEAD.
    pub(super) fn answer<H: Handler>(
        &self,
        handler: &H,
        request: Request,
        cache_request: CacheRequest,
    ) -> SiteResponse {
        let now = self.store.now();
        let lookup = match self.memory().find(&cache_request.key) {
            Some(resource) => match self.look_up(&resource, &request.headers, &cache_request, now) {
                Ok((stored, is_validated)) => match deliver(&request.method, &request.headers, &stored, now) {
                    Ok(response) => {
                        let freshness = stored.current_head().freshness;
                        let ttl = freshness.ttl(now);
                        let status = |state| CacheStatus::Hit { ttl, state };
                        if !is_validated {
                            let state = if freshness.is_fresh(now) { HitState::Fresh } else { HitState::Stale };
                            let response = self.finish(response, status(state), Some(&cache_request.key));
                            return SiteResponse::Ready(Some(response));
                        }
                        let key = cache_request.key.clone();
                        let state = match self.validate(handler, request, cache_request, stored) {
                            true => HitState::Stale,
                            false => HitState::Updating,
                        };
                        return SiteResponse::Ready(Some(self.finish(response, status(state), Some(&key))));
                    }
                    Err(NotDelivered::Gone) => {
                        // Somebody has removed or changed the file.
                        self.memory().forget(&cache_request.key, &resource);
                        Lookup::nothing()
                    }
                    // For instance, too many files are open: that passes.
                    Err(NotDelivered::Unreadable | NotDelivered::Lacking) => Lookup::nothing(),
                },
                Err(lookup) => lookup,
            },
            None => Lookup::nothing(),
        };
        if cache_request.control.only_if_cached {
            // RFC 9111 §5.2.1.7.
            let response = error_page(StatusCode::GATEWAY_TIMEOUT, &request.headers);
            let response = self.finish(response, CacheStatus::OnlyIfCached, Some(&cache_request.key));
            return SiteResponse::Ready(Some(response));
        }
        self.forward(handler, request, cache_request, lookup)
    }

    /// The stored response that is sent, and whether it is validated meanwhile; or what there is for a request that has to
    /// be forwarded.
    pub(super) fn look_up(
        &self,
        resource: &Resource,
        headers: &Headers,
        cache_request: &CacheRequest,
        now: Time,
    ) -> Result<(Arc<Stored>, bool), Lookup> {
        let method = if cache_request.is_head { &Method::HEAD } else { &Method::GET };
        // A 304 about a part is of no use to a request that wants more.
        // A weak tag may be that of several codings (RFC 9110 §8.8.1), and a 304 does not say which of them the client accepts.
        let can_be_sent = |stored: &&Arc<Stored>| {
            stored.head.can_be_validated()
                && stored.has_what_is_wanted(method, headers)
                && accepts_coding(headers, &stored.head.headers)
        };
        let others = || resource.of_scope(self.scope).filter(can_be_sent);
        let part = || resource.part(self.scope, headers).cloned();
        let is_uncacheable = resource.is_uncacheable(self.scope, now);
        let Some(stored) = resource.select(self.scope, method, headers) else {
            let part = part();
            let reason = match resource.of_scope(self.scope).next() {
                Some(_) if part.is_some() => ForwardReason::Partial,
                Some(_) => ForwardReason::VaryMiss,
                None => ForwardReason::UriMiss,
            };
            return Err(Lookup {
                reason,
                stored: others().cloned().collect(),
                is_selected: false,
                part,
                is_uncacheable,
            });
        };
        let reason = match reuse(&stored.current_head(), &cache_request.control, &self.settings.rules, now) {
            Reuse::Send => return Ok((Arc::clone(stored), false)),
            Reuse::SendAndValidate => return Ok((Arc::clone(stored), true)),
            Reuse::ValidateStale => ForwardReason::Stale,
            Reuse::ValidateRequested => ForwardReason::Request,
        };
        let rest = others().filter(|other| !Arc::ptr_eq(other, stored)).cloned();
        let stored = std::iter::once(Arc::clone(stored)).chain(rest).collect();
        Err(Lookup { reason, stored, is_selected: true, part: part(), is_uncacheable })
    }

    fn forward<H: Handler>(
        &self,
        handler: &H,
        request: Request,
        cache_request: CacheRequest,
        lookup: Lookup,
    ) -> SiteResponse {
        let version = self.memory().version();
        let mode = self.fetch_mode(&request, &cache_request, &lookup);
        // A request that wants its own validation does not wait for that of another.
        let is_alone = mode != FetchMode::ToStore || cache_request.has_credentials || cache_request.control.no_cache;
        let fill = match is_alone {
            true => None,
            false => self.store.shared.fills.join(&cache_request.key, self.scope, self.memory()),
        };
        let fetch = Fetch::new(self.clone(), handler.clone(), request, cache_request, lookup, version, mode);
        match fill {
            None => SiteResponse::pending(Box::pin(fetch.run(None))),
            Some(Fill::Follower(follower)) => SiteResponse::pending(Box::pin(fetch.follow(follower))),
            Some(Fill::Leader(leader)) => {
                // A task of its own: the client may leave while others wait.
                let watch = leader.watch();
                let response = spawn_local(fetch.run(Some(leader)));
                SiteResponse::pending(Box::pin(LedResponse { response, watch }))
            }
        }
    }

    fn fetch_mode(&self, request: &Request, cache_request: &CacheRequest, lookup: &Lookup) -> FetchMode {
        // The response is likely to be for its user only; then conditions of the client are of more use than a whole one.
        let is_for_user = cache_request.has_credentials && lookup.stored.is_empty();
        if cache_request.is_head || cache_request.control.no_store || is_for_user {
            return FetchMode::AsReceived;
        }
        match lookup.part.as_ref().filter(|_| request.headers.contains(KnownHeader::Range)) {
            // The client has a part of another version, and is likely to get all of this one.
            Some(part) if !is_range_current(&request.headers, &part.head.headers) => FetchMode::AsReceived,
            Some(part) if lookup.is_uncacheable || !self.store.is_fetched_for_parts(part.body.complete_length()) => {
                FetchMode::InParts
            }
            _ if lookup.is_uncacheable => FetchMode::AsReceived,
            _ => FetchMode::ToStore,
        }
    }

    /// Validates a stored response, unless somebody does it already (RFC 5861 §3); whether it does.
    fn validate<H: Handler>(
        &self,
        handler: &H,
        request: Request,
        cache_request: CacheRequest,
        stored: Arc<Stored>,
    ) -> bool {
        let version = self.memory().version();
        let Some(Fill::Leader(leader)) = self.store.shared.fills.join(&cache_request.key, self.scope, self.memory())
        else {
            return false;
        };
        let lookup = Lookup {
            reason: ForwardReason::Stale,
            stored: vec![stored],
            is_selected: true,
            part: None,
            is_uncacheable: false,
        };
        let mode = FetchMode::InBackground;
        let fetch = Fetch::new(self.clone(), handler.clone(), request, cache_request, lookup, version, mode);
        spawn_local(fetch.run(Some(leader)));
        true
    }
}

impl Lookup {
    fn nothing() -> Self {
        Self {
            reason: ForwardReason::UriMiss,
            stored: Vec::new(),
            is_selected: false,
            part: None,
            is_uncacheable: false,
        }
    }
}

/// The response to a request that others wait for. Dropped before it is there, it ends the request if nobody else wants it.
struct LedResponse {
    response: JoinHandle<Response>,
    watch: FillWatch,
}

impl Future for LedResponse {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        match ready!(Pin::new(&mut self.response).poll(context)) {
            Ok(response) => Poll::Ready(response),
            Err(error) => match error.try_into_panic() {
                // A handler that panics ends its connection, as without a cache.
                Ok(panic) => resume_unwind(panic),
                // The thread is about to end.
                Err(_) => Poll::Ready(Response::plain_status(StatusCode::SERVICE_UNAVAILABLE)),
            },
        }
    }
}

impl Drop for LedResponse {
    fn drop(&mut self) {
        if !self.response.is_finished() && !self.watch.has_followers() {
            self.response.abort();
        }
    }
}
