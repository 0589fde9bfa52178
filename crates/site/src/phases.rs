//! The phases of a request: the order in which the settings of a route act on it. It is written once, in
//! [`Phases::respond`] and the functions that this calls, from top to bottom.
//!
//! | | phase | settings | it may answer |
//! | --- | --- | --- | --- |
//! | 1 | body | `max-body`, `body-timeout` | 413 |
//! | 2 | access | `allow`, `deny`, `allow-methods`, `max-requests-per-client`, `limits`, and the users: `basic`, `forward-auth`, `jwt`, `client-certificate`, `login` | 403, 405, 429, 401, a login |
//! | 3 | preflight | `cors` | preflight requests |
//! | 4 | identity | removes fields that only Serow sets, adds those of the user; `limits` by claims | 429 |
//! | 5 | script | `script` | as it likes |
//! | 6 | mirror | `mirror` | – |
//! | 7 | cache | `cache` | stored responses |
//! | 8 | content | `files`, `app`, `proxy`, `redirect`, `respond` | yes |
//!
//! A request that a phase answers reaches none of the phases below it. The response goes the way back: it is stored (7),
//! gets other addresses and cookies ([`ResponseRewriting`]), is changed by the script (5), by the `headers` of route and
//! site, and by the policy (`error-pages`, `security-headers`, `cors`, `compress`, `rate`), and may then lead to an internal route (X-Accel-Redirect), which gets the request as it
//! left phase 5. Before these phases, the request was admitted ([`crate::received_request`]), passed the scripts of root and
//! site, and got the `request-headers` of its site and route.

use std::{cell::OnceCell, rc::Rc, sync::Arc, time::Duration};

use serow::{Request, Response};
use serow_guards::{AccessDecision, AccessOutcome, Identity};
use serow_proxy::StickyMode;
use serow_router::ResponseRewriting;
use tokio::time::sleep;

use crate::{
    Content, InternalRoutes, Mirror, ResponseCache, RouteCache, RoutePolicy, Scripts,
    error_routes::ForErrorPage,
    internal_redirects::{AdmittedRequest, FollowedResponse},
    per_thread::PerThread,
    policy::{Bounded, PolicyContext, Source},
    site_response::SiteResponse,
};

/// The settings of a route that act on its requests and responses; by default nothing.
#[derive(Clone, Default)]
pub struct PhaseSettings {
    /// Access, and changes of responses.
    pub policy: Arc<RoutePolicy>,
    /// Scripts.
    pub scripts: Scripts,
    /// Where copies of requests go.
    pub mirror: Option<Mirror>,
    /// Where responses are stored.
    pub cache: Option<RouteCache>,
    /// The routes that responses may lead to.
    pub internal: Option<InternalRoutes>,
    /// The changes of addresses and cookies that the content sends.
    pub rewriting: ResponseRewriting,
}

/// The phases in front of a content.
#[derive(Clone)]
pub(crate) struct Phases {
    pub(crate) policy: Arc<RoutePolicy>,
    pub(crate) scripts: Scripts,
    pub(crate) mirror: Option<Mirror>,
    /// Its keys have whatever this content looks at.
    pub(crate) cache: Option<ResponseCache>,
    pub(crate) internal: Option<InternalRoutes>,
    /// Nothing where responses stay as they are.
    pub(crate) rewriting: Option<Arc<ResponseRewriting>>,
    /// Whether they are of an internal route, whose guard does not refuse a request for an error page.
    pub(crate) is_internal: bool,
}

/// The end of a request's way through the phases.
pub(crate) enum Target<'a> {
    /// A response that is there already: of the router, or of an attempt.
    Response(Response),
    /// A content, which has a clone in each thread.
    Content(&'a Content, &'a PerThread<Content>),
    /// The clone of this thread, for a request that has waited.
    Waiting(Rc<Content>),
}

/// Where the request is noted that internal routes get: as it was admitted.
type Noted = Option<Rc<OnceCell<AdmittedRequest>>>;

impl PhaseSettings {
    /// The phases in front of this content, if there are any.
    pub(crate) fn in_front_of(self, content: &Content) -> Option<Phases> {
        let Self { policy, scripts, mirror, cache, internal, rewriting } = self;
        let is_empty = policy.is_empty() && scripts.is_empty() && mirror.is_none() && cache.is_none();
        let cache = cache.map(|cache| cache.around(content));
        let rewriting = (!rewriting.is_empty()).then(|| Arc::new(around(rewriting, content)));
        let is_empty = is_empty && internal.is_none() && rewriting.is_none();
        (!is_empty).then_some(Phases { policy, scripts, mirror, cache, internal, rewriting, is_internal: false })
    }
}

impl Phases {
    /// Those that do nothing.
    pub(crate) fn none() -> Self {
        Self::of_site(Arc::default())
    }

    /// Those of a site, for the refusals of the router.
    pub(crate) fn of_site(policy: Arc<RoutePolicy>) -> Self {
        Self {
            policy,
            scripts: Scripts::default(),
            mirror: None,
            cache: None,
            internal: None,
            rewriting: None,
            is_internal: false,
        }
    }

    /// The same, with a policy and changes that no other phases share.
    pub(crate) fn detached(&self) -> Self {
        // One that is empty is in no request's context.
        let is_shared = self.policy.is_empty();
        let policy = if is_shared { Arc::clone(&self.policy) } else { Arc::new(RoutePolicy::clone(&self.policy)) };
        let rewriting = self.rewriting.as_ref().map(|rewriting| Arc::new(ResponseRewriting::clone(rewriting)));
        Self { policy, rewriting, ..self.clone() }
    }

    /// Passes a request through all phases to its target.
    #[inline(never)]
    pub(crate) fn respond(self: &Arc<Self>, request: Request, target: Target<'_>, source: Source) -> SiteResponse {
        let Some(internal) = &self.internal else { return self.guarded(request, target, source, None) };
        let followed = FollowedResponse::begin(&request, internal);
        let noted = followed.noted();
        followed.response(self.guarded(request, target, source, Some(noted)))
    }

    /// The phases of the policy, if there is one. Phases without settings are inlined away, with a move of the request each.
    #[inline(always)]
    fn guarded(self: &Arc<Self>, request: Request, target: Target<'_>, source: Source, noted: Noted) -> SiteResponse {
        if self.policy.is_empty() {
            return self.scripted(request, target, noted);
        }
        self.bounded(request, target, source, noted)
    }

    /// Body, and the policy around the other phases.
    #[inline(never)]
    fn bounded(
        self: &Arc<Self>,
        mut request: Request,
        target: Target<'_>,
        source: Source,
        noted: Noted,
    ) -> SiteResponse {
        let mut context = PolicyContext::new(Arc::clone(&self.policy), source, &request);
        let counted = match self.policy.bound(&mut request) {
            Bounded::Fits => None,
            Bounded::Counted(body) => Some(body),
            Bounded::TooLong(refusal) => return SiteResponse::Ready(Some(refusal)).in_context(context, None),
        };
        let decision = match self.is_internal && ForErrorPage::marks(&request) {
            true => AccessDecision::Granted(Identity::default()),
            false => context.admit(&request),
        };
        let response = match decision {
            AccessDecision::Refused(response) => SiteResponse::Ready(Some(response)),
            AccessDecision::Granted(identity) => match context.preflight() {
                Some(response) => return SiteResponse::Ready(Some(response)),
                None => self.admitted(request, identity, target, &mut context.outcome, noted),
            },
            AccessDecision::Pending(pending) => {
                let (phases, preflight, target) = (Arc::clone(self), context.preflight(), target.for_later());
                SiteResponse::pending(Box::pin(async move {
                    let identity = match (pending.await, preflight) {
                        (Err(response), _) | (Ok(_), Some(response)) => return response,
                        (Ok(identity), None) => identity,
                    };
                    // The other one is in the context of the response that this is to become.
                    let mut outcome = AccessOutcome::default();
                    let response = phases.admitted(request, identity, target, &mut outcome, noted);
                    let mut response = response.await;
                    outcome.finish(&mut response);
                    response
                }))
            }
        };
        response.in_context(context, counted)
    }

    /// Identity.
    fn admitted(
        self: &Arc<Self>,
        mut request: Request,
        identity: Identity,
        target: Target<'_>,
        outcome: &mut AccessOutcome,
        noted: Noted,
    ) -> SiteResponse {
        let Some(guard) = self.policy.guard.as_deref() else { return self.scripted(request, target, noted) };
        outcome.add(guard.identify(&mut request, identity));
        if self.is_internal && ForErrorPage::marks(&request) {
            return self.scripted(request, target, noted);
        }
        match guard.limit_identified(&request, outcome) {
            Err(refusal) => SiteResponse::Ready(Some(refusal)),
            // Even a sleep of no time waits for the clock's next tick.
            Ok(Duration::ZERO) => self.scripted(request, target, noted),
            Ok(wait) => {
                let (phases, target) = (Arc::clone(self), target.for_later());
                SiteResponse::pending(Box::pin(async move {
                    sleep(wait).await;
                    phases.scripted(request, target, noted).await
                }))
            }
        }
    }

    /// Script.
    #[inline(always)]
    fn scripted(self: &Arc<Self>, request: Request, target: Target<'_>, noted: Noted) -> SiteResponse {
        if self.scripts.is_empty() {
            return self.handled(request, target, noted);
        }
        match self.scripts.begin(request) {
            Ok(begun) => begun.respond(|request| self.handled(request, target, noted)),
            Err(waiting) => {
                let (phases, target) = (Arc::clone(self), target.for_later());
                SiteResponse::pending(Box::pin(async move {
                    waiting.await.respond(|request| phases.handled(request, target, noted)).await
                }))
            }
        }
    }

    /// Mirror, cache and content.
    #[inline(always)]
    fn handled(&self, mut request: Request, target: Target<'_>, noted: Noted) -> SiteResponse {
        if let Some(noted) = noted {
            let _ = noted.set(AdmittedRequest::of(&request));
        }
        let waiting;
        let content = match target {
            Target::Content(content, _) => content,
            Target::Waiting(content) => {
                waiting = content;
                &waiting
            }
            Target::Response(response) => {
                // Nothing reads a body here, so that a copy with one would never be complete.
                self.mirror.iter().filter(|_| request.body.is_end()).for_each(|mirror| mirror.copy_head(&request));
                return SiteResponse::Ready(Some(response));
            }
        };
        if let Some(mirror) = &self.mirror {
            request = mirror.copy(request);
        }
        let rewriting = self.rewriting.as_ref().map(|rewriting| rewriting.filled(&request));
        let response = match &self.cache {
            Some(cache) => cache.respond(content, request),
            None => content.respond(request),
        };
        match rewriting {
            None => response,
            Some(rewriting) => SiteResponse::pending(Box::pin(async move {
                let mut response = response.await;
                rewriting.apply(&mut response.headers);
                response
            })),
        }
    }
}

impl Target<'_> {
    /// The same, for a request that waits: the cache of files of a clone for each such request would be empty.
    fn for_later(self) -> Target<'static> {
        match self {
            Self::Response(response) => Target::Response(response),
            Self::Content(_, waiting) => Target::Waiting(waiting.of_thread()),
            Self::Waiting(content) => Target::Waiting(content),
        }
    }
}

/// The changes of addresses and cookies around this content, whose own cookie stays.
fn around(rewriting: ResponseRewriting, content: &Content) -> ResponseRewriting {
    let Content::Proxy(proxy) = content else { return rewriting };
    let sticky = proxy.upstream().settings().sticky.as_ref();
    let inserted = sticky.filter(|sticky| sticky.mode == StickyMode::Insert);
    ResponseRewriting { own_cookie: inserted.map(|sticky| sticky.cookie.clone()), ..rewriting }
}
