//! The future of a response.
//!
//! It is written by hand, and handlers around a handler are functions here: each `async` block in between would move
//! the response once more, which costs a request for a file up to a fifth of its instructions.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use serow::{Request, Response};
use serow_router::HeaderChanges;
use tokio::time::sleep;

use crate::{
    RouteHandler,
    internal_redirects::FollowedResponse,
    policy::{Admission, Asked, CorsRequest, CountedBody, Guard, Identity, Passage, RoutePolicy, Source},
    strict_transport::StrictTransport,
};

/// The future of a response.
pub(crate) enum SiteResponse {
    /// A file's or the router's, which waits for nobody; `None` after it was returned.
    Ready(Option<Response>),
    /// That of an application or of another server, or to a request that changes a folder.
    Pending {
        /// The future of the response.
        response: Pin<Box<dyn Future<Output = Response>>>,
        /// What the route changes in its headers.
        headers: HeaderChanges,
        /// The header of HSTS.
        strict_transport: StrictTransport,
    },
    /// That of a handler with a policy around it.
    Surrounded(Box<SurroundedResponse>),
    /// That of a handler whose responses may lead to internal routes.
    Followed(Box<FollowedResponse>),
}

/// The response of a handler, and what a policy does with it.
pub(crate) struct SurroundedResponse {
    response: SiteResponse,
    surrounding: Surrounding,
    /// The body of the request, if it may turn out to be too long.
    counted: Option<CountedBody>,
    strict_transport: StrictTransport,
}

/// Where a request goes that has passed the policy.
pub(crate) enum HandOver<'a> {
    /// It has a response already, of the router.
    Response(Response),
    /// To this handler.
    Handler(&'a RouteHandler),
    /// To this copy of a handler, whose cache of files is empty.
    Copy(Box<RouteHandler>),
}

impl HandOver<'_> {
    fn respond(self, request: Request) -> SiteResponse {
        match self {
            Self::Response(response) => SiteResponse::Ready(Some(response)),
            Self::Handler(handler) => handler.respond(request),
            Self::Copy(handler) => handler.respond(request),
        }
    }

    /// The same, for a request that waits.
    fn for_later(self) -> HandOver<'static> {
        match self {
            Self::Response(response) => HandOver::Response(response),
            Self::Handler(handler) => HandOver::Copy(Box::new(handler.clone())),
            Self::Copy(handler) => HandOver::Copy(handler),
        }
    }
}

/// What a policy does with the response to a request.
pub(crate) struct Surrounding {
    policy: Arc<RoutePolicy>,
    source: Source,
    asked: Asked,
    passage: Passage,
}

impl Surrounding {
    /// What this policy does with the response to a request that comes from there.
    pub(crate) fn new(policy: Arc<RoutePolicy>, source: Source, request: &Request) -> Self {
        let asked = policy.ask(request);
        Self { policy, source, asked, passage: Passage::default() }
    }

    /// Hands a request over, unless the policy keeps it back or answers it itself.
    pub(crate) fn respond(
        mut self,
        request: Request,
        counted: Option<CountedBody>,
        hand_over: HandOver<'_>,
    ) -> SiteResponse {
        let response = match self.admit(&request) {
            Admission::Granted(identity) => match self.policy.answer(&self.asked) {
                Some(response) => return SiteResponse::Ready(Some(response)),
                None => {
                    let guard = self.policy.guard.as_deref();
                    match identified(guard, request, identity, &mut self.passage) {
                        Ok((request, Duration::ZERO)) => hand_over.respond(request),
                        Ok((request, wait)) => {
                            let hand_over = hand_over.for_later();
                            SiteResponse::pending(Box::pin(async move {
                                sleep(wait).await;
                                hand_over.respond(request).await
                            }))
                        }
                        Err(refusal) => SiteResponse::Ready(Some(refusal)),
                    }
                }
            },
            Admission::Refused(response) => SiteResponse::Ready(Some(response)),
            Admission::Pending(admitted) => {
                let (answer, guard) = (self.policy.answer(&self.asked), self.policy.guard.clone());
                let hand_over = hand_over.for_later();
                SiteResponse::pending(Box::pin(async move {
                    match (admitted.await, answer) {
                        (Err(refusal), _) => refusal,
                        (Ok(_), Some(answer)) => answer,
                        (Ok(identity), None) => {
                            // The other one is the response's, which this is to become.
                            let mut passage = Passage::default();
                            let mut response = match identified(guard.as_deref(), request, identity, &mut passage) {
                                Ok((request, wait)) => {
                                    // Even a sleep of no time waits for the clock's next tick.
                                    if !wait.is_zero() {
                                        sleep(wait).await;
                                    }
                                    hand_over.respond(request).await
                                }
                                Err(refusal) => refusal,
                            };
                            passage.finish(&mut response);
                            response
                        }
                    }
                }))
            }
        };
        SiteResponse::surrounded(response, self, counted)
    }

    /// Whether there is nothing that requests must pass.
    pub(crate) fn keeps_none_back(&self) -> bool {
        self.policy.guard.is_none()
    }

    /// As [`Self::respond`], where no request is kept back.
    pub(crate) fn respond_at_once(
        self,
        request: Request,
        counted: Option<CountedBody>,
        hand_over: impl FnOnce(Request) -> SiteResponse,
    ) -> SiteResponse {
        match self.policy.answer(&self.asked) {
            Some(response) => SiteResponse::Ready(Some(response)),
            None => SiteResponse::surrounded(hand_over(request), self, counted),
        }
    }

    #[inline]
    fn admit(&mut self, request: &Request) -> Admission {
        let Some(guard) = &self.policy.guard else { return Admission::Granted(Identity::default()) };
        let is_preflight = self.asked.cors.as_ref().is_some_and(CorsRequest::is_preflight);
        guard.admit(request, is_preflight, &mut self.passage)
    }

    /// Does it.
    pub(crate) fn apply(&self, response: &mut Response) {
        self.passage.finish(response);
        self.policy.apply(&self.asked, self.source, response);
    }
}

/// A request that names its user as the guard says, and how long it waits for the limits of this user; or the refusal by
/// one of them.
fn identified(
    guard: Option<&Guard>,
    mut request: Request,
    identity: Identity,
    passage: &mut Passage,
) -> Result<(Request, Duration), Response> {
    let Some(guard) = guard else { return Ok((request, Duration::ZERO)) };
    passage.add(guard.identify(&mut request, identity));
    let wait = guard.limit_identified(&request, passage)?;
    Ok((request, wait))
}

impl SiteResponse {
    /// The response of an application or of another server, as it is.
    pub(crate) fn pending(response: Pin<Box<dyn Future<Output = Response>>>) -> Self {
        Self::Pending { response, headers: HeaderChanges::default(), strict_transport: StrictTransport::default() }
    }

    /// This response, and what surrounds it.
    pub(crate) fn surrounded(response: Self, surrounding: Surrounding, counted: Option<CountedBody>) -> Self {
        let strict_transport = StrictTransport::default();
        Self::Surrounded(Box::new(SurroundedResponse { response, surrounding, counted, strict_transport }))
    }

    /// Changes the headers of the response as its route says.
    #[inline]
    pub(crate) fn change(&mut self, changes: HeaderChanges) {
        match self {
            Self::Ready(Some(response)) => changes.apply(response.status, &mut response.headers),
            Self::Ready(None) => {}
            Self::Pending { headers, .. } => *headers = changes,
            // Before the policy, so that it sees the fields that will be sent.
            Self::Surrounded(surrounded) => {
                if let Some(counted) = &mut surrounded.counted {
                    counted.change(&changes);
                }
                surrounded.response.change(changes);
            }
            Self::Followed(followed) => followed.change(changes),
        }
    }

    /// Adds the header of HSTS.
    #[inline]
    pub(crate) fn add(&mut self, header: StrictTransport) {
        match self {
            Self::Ready(Some(response)) => header.apply(response),
            Self::Ready(None) => {}
            Self::Pending { strict_transport, .. } => *strict_transport = header,
            Self::Surrounded(surrounded) => surrounded.strict_transport = header,
            Self::Followed(followed) => followed.add(header),
        }
    }
}

impl Future for SiteResponse {
    type Output = Response;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        match &mut *self {
            // As every future, it is not polled again after it was ready.
            Self::Ready(response) => response.take().map_or(Poll::Pending, Poll::Ready),
            Self::Pending { response, headers, strict_transport } => {
                let mut response = ready!(response.as_mut().poll(context));
                headers.apply(response.status, &mut response.headers);
                strict_transport.apply(&mut response);
                Poll::Ready(response)
            }
            Self::Surrounded(surrounded) => surrounded.poll(context),
            Self::Followed(followed) => followed.poll(context),
        }
    }
}

impl SurroundedResponse {
    #[inline(never)]
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response> {
        let response = Pin::new(&mut self.response).poll(context);
        let mut response = match self.counted.as_mut().and_then(CountedBody::refusal) {
            Some(refusal) => refusal,
            None => ready!(response),
        };
        self.surrounding.apply(&mut response);
        self.strict_transport.apply(&mut response);
        Poll::Ready(response)
    }
}
