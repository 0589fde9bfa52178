//! The checks that a request must pass before it reaches the handler.

use std::{net::IpAddr, sync::Arc, time::Duration};

use serow_access::AddressRules;
use serow_gateway::{TrustedProxies, error_page};
use serow_message::{
    Headers, KnownHeader, LimitStatus, Method, Request, RequestClient, Response, RouteNote, StatusCode,
};
use serow_router::Methods;
use tokio::time::sleep;

use crate::{
    ClientRequests, GuardNotes, Identified, Identity, IdentityChecks, PendingIdentity, RateLimit, RefusedAddresses,
    ResponseFields,
    client_requests::ClientRequest,
    identity::Verdict,
    login_check,
    rate_limit::{Limited, whole_seconds},
    refusal_log,
};

/// The checks that a request must pass before it reaches the handler of a site or a route; by default none.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Which addresses may send requests.
    pub addresses: Option<Arc<AddressRules>>,
    /// Which methods they may have.
    pub methods: Methods,
    /// How many of a client at the same time.
    pub requests: Option<Arc<ClientRequests>>,
    /// How often.
    pub limits: Vec<Arc<RateLimit>>,
    /// How users are identified.
    pub identity: IdentityChecks,
    /// Whether an address, or one of the checks, is enough.
    pub satisfy: Satisfy,
    /// The proxies whose statement of the client's address counts.
    pub trust: Arc<TrustedProxies>,
    /// The count of requests that all guards of a server have refused because of addresses.
    pub refused_addresses: Arc<RefusedAddresses>,
}

/// How many of the address and the checks a request must pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Satisfy {
    /// All.
    #[default]
    All,
    /// One of them.
    Any,
}

/// The decision about a request.
pub enum AccessDecision {
    /// It goes on.
    Granted(Identity),
    /// It does not.
    Refused(Response),
    /// It waits, and then it goes on or not.
    Pending(PendingIdentity),
}

/// The outcome of the guard for a request, which its response needs.
#[derive(Debug, Default)]
pub struct AccessOutcome {
    /// Counts the request until its response is sent.
    counted: Option<ClientRequest>,
    limited: Vec<(Arc<RateLimit>, Limited)>,
    fields: ResponseFields,
}

impl Guard {
    /// Whether every request passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let IdentityChecks { login, reserved, .. } = &self.identity;
        let is_identity_free = self.identity.is_empty() && reserved.is_empty() && login.is_none();
        self.addresses.is_none()
            && self.methods.named().is_empty()
            && self.requests.is_none()
            && self.limits.is_empty()
            && is_identity_free
    }

    /// Decides about a request. A preflight request needs no identity: browsers send none with it.
    #[inline]
    pub fn admit(&self, request: &Request, is_preflight: bool, outcome: &mut AccessOutcome) -> AccessDecision {
        let notes = request.extensions.get::<GuardNotes>();
        notes.iter().for_each(|notes| notes.reserve(&self.identity.reserved));
        let client = self.trust.client_address(&request.headers, request.connection());
        let is_address_right = self.addresses.as_ref().is_none_or(|rules| rules.allow(client));
        let is_identity_enough = self.satisfy == Satisfy::Any && !self.identity.is_empty();
        if !is_address_right && !is_identity_enough {
            self.refused_addresses.note(client);
            refusal_log::log_address(client, request);
            return AccessDecision::Refused(error_page(StatusCode::FORBIDDEN, &request.headers));
        }
        // The method of a preflight request is not that of the request it asks about.
        if !self.methods.allow(&request.method) && !is_preflight {
            return AccessDecision::Refused(self.refusal_of_method(&request.headers));
        }
        if let (Some(requests), Some(client)) = (&self.requests, client)
            && notes.is_none_or(|notes| notes.is_first(&**requests))
        {
            outcome.counted = requests.enter(client);
            if outcome.counted.is_none() {
                if let Some(note) = request.extensions.get::<RouteNote>() {
                    note.add_limit(requests.name(), LimitStatus::Rejected);
                }
                let refusal = refusal(StatusCode::TOO_MANY_REQUESTS, RETRY_REQUEST, &request.headers);
                return AccessDecision::Refused(refusal);
            }
        }
        let wait = match self.limit(request, client, outcome, false) {
            Ok(wait) => wait,
            Err(refusal) => return AccessDecision::Refused(refusal),
        };
        if let Some(verdict) = self.identity.own_path(request) {
            return decision_after(verdict, wait);
        }
        // Without a list of addresses, every address would be enough.
        let is_address_enough = self.satisfy == Satisfy::Any && self.addresses.is_some() && is_address_right;
        let verdict = match is_preflight || is_address_enough {
            true => Verdict::Passed(Identity::default()),
            false => self.identity.check(request, client, self.satisfy),
        };
        decision_after(verdict, wait)
    }

    /// RFC 9110 §15.5.6: a 405 says which methods there are.
    #[cold]
    fn refusal_of_method(&self, headers: &Headers) -> Response {
        let names: Vec<&str> = self.methods.named().iter().map(Method::as_str).collect();
        let mut response = error_page(StatusCode::METHOD_NOT_ALLOWED, headers);
        let _ = response.headers.insert(KnownHeader::Allow, names.join(", "));
        response
    }

    /// Tells the handler who sends a request, and removes what the client says about it. The response gets the
    /// fields that are returned.
    #[inline]
    pub fn identify(&self, request: &mut Request, identity: Identity) -> ResponseFields {
        if !self.identity.reserved.is_empty() {
            self.identity.reserved.remove_from(&mut request.headers);
            request.extensions.insert(self.identity.reserved.clone());
        }
        if self.identity.login.is_some() {
            login_check::hide_cookies(&mut request.headers);
        }
        if !self.identity.is_empty() {
            // A cache takes it for a request with credentials, wherever these were.
            request.extensions.insert(Identified);
        }
        identity.describe(request)
    }

    /// Keeps files for users out of caches in front of this server, unless the settings decide about that. RFC 9111 §3.5
    /// does so only for requests with `Authorization`: a cookie or an address of a session says nothing to a cache, which
    /// may store by Last-Modified what names no lifetime (§4.2.2).
    #[inline]
    pub fn keep_from_shared_caches(&self, headers: &mut Headers) {
        if self.identity.is_hidden_from_caches() && !headers.contains(KnownHeader::CacheControl) {
            let _ = headers.append(KnownHeader::CacheControl, "private");
        }
    }

    /// How long a request of a client that was identified waits for the limits whose keys have claims.
    ///
    /// # Errors
    ///
    /// The response to a request that one of them refuses.
    #[inline]
    pub fn limit_identified(&self, request: &Request, outcome: &mut AccessOutcome) -> Result<Duration, Response> {
        if !self.limits.iter().any(|limit| limit.needs_claims()) {
            return Ok(Duration::ZERO);
        }
        let client = self.trust.client_address(&request.headers, request.connection());
        self.limit(request, client, outcome, true)
    }

    /// How long the request waits for its limits, with claims in their keys or without.
    fn limit(
        &self,
        request: &Request,
        client: Option<IpAddr>,
        outcome: &mut AccessOutcome,
        with_claims: bool,
    ) -> Result<Duration, Response> {
        let (mut longest, mut refused) = (Duration::ZERO, None);
        // The request for an error page is none of the client's: what has counted that does not count it once more.
        let notes = request.extensions.get::<GuardNotes>();
        let is_first = |limit: &Arc<RateLimit>| notes.is_none_or(|notes| notes.is_first(&**limit));
        let limits = self.limits.iter().filter(|limit| limit.needs_claims() == with_claims);
        for limit in limits.filter(|limit| is_first(limit)) {
            let Some(limited) = limit.decide(request, &RequestClient::new(&self.trust), client) else { continue };
            match limit.wait(&limited) {
                Ok(wait) => longest = longest.max(wait),
                Err(retry_after) => refused = Some(refused.unwrap_or(Duration::ZERO).max(retry_after)),
            }
            outcome.limited.push((Arc::clone(limit), limited));
            if refused.is_some() {
                break;
            }
        }
        match refused {
            None => Ok(longest),
            Some(retry_after) => Err(refusal(StatusCode::TOO_MANY_REQUESTS, retry_after, &request.headers)),
        }
    }
}

impl AccessOutcome {
    /// Has the response get these fields.
    #[inline]
    pub fn add(&mut self, fields: ResponseFields) {
        self.fields = fields;
    }

    /// Tells the limits and the client what the response was.
    #[inline]
    pub fn finish(&self, response: &mut Response) {
        if let Some(counted) = &self.counted {
            response.extensions.insert(counted.clone());
        }
        self.fields.apply(response);
        self.limited.iter().for_each(|(limit, limited)| limit.finish(limited, response));
    }
}

/// By then, one of the client's other responses may have been sent.
const RETRY_REQUEST: Duration = Duration::from_secs(1);

/// The decision about a request that first waits for so long.
#[inline]
fn decision_after(verdict: Verdict, wait: Duration) -> AccessDecision {
    match (verdict, wait.is_zero()) {
        (Verdict::Passed(identity), true) => AccessDecision::Granted(identity),
        (Verdict::Passed(identity), false) => AccessDecision::Pending(Box::pin(async move {
            sleep(wait).await;
            Ok(identity)
        })),
        (Verdict::Refused(response), _) => AccessDecision::Refused(response),
        (Verdict::Pending(identity), true) => AccessDecision::Pending(identity),
        (Verdict::Pending(identity), false) => AccessDecision::Pending(Box::pin(async move {
            sleep(wait).await;
            identity.await
        })),
    }
}

/// Refuses a request that may come again after this time.
pub(crate) fn refusal(status: StatusCode, retry_after: Duration, headers: &Headers) -> Response {
    let mut response = error_page(status, headers);
    // Digits: always a valid field.
    let _ = response.headers.insert(KnownHeader::RetryAfter, whole_seconds(retry_after).to_string());
    response
}
