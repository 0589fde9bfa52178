//! A request with a policy, for its response.

use std::sync::Arc;

use serow_guards::{AccessDecision, AccessOutcome, Identity};
use serow_message::{Request, Response};

use super::{Asked, CorsRequest, RoutePolicy, Source};

/// A request with a policy: what the response depends on.
pub(crate) struct PolicyContext {
    policy: Arc<RoutePolicy>,
    source: Source,
    asked: Asked,
    /// The decisions of the guard.
    pub(crate) outcome: AccessOutcome,
}

impl PolicyContext {
    /// The context of a request whose response comes from this source.
    pub(crate) fn new(policy: Arc<RoutePolicy>, source: Source, request: &Request) -> Self {
        let asked = policy.ask(request);
        Self { policy, source, asked, outcome: AccessOutcome::default() }
    }

    /// Decides whether the request may go on.
    #[inline]
    pub(crate) fn admit(&mut self, request: &Request) -> AccessDecision {
        let Some(guard) = &self.policy.guard else { return AccessDecision::Granted(Identity::default()) };
        let is_preflight = self.asked.cors.as_ref().is_some_and(CorsRequest::is_preflight);
        guard.admit(request, is_preflight, &mut self.outcome)
    }

    /// The answer to the request if it is a preflight request that the policy permits.
    pub(crate) fn preflight(&self) -> Option<Response> {
        self.policy.answer(&self.asked)
    }

    /// Changes the response.
    pub(crate) fn apply(&self, response: &mut Response) {
        self.outcome.finish(response);
        if let (Source::Folder, Some(guard)) = (self.source, &self.policy.guard) {
            guard.keep_from_shared_caches(&mut response.headers);
        }
        self.policy.apply(&self.asked, self.source, response);
    }
}
