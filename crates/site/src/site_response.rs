//! The future of a response.
//!
//! It is written by hand, and handlers around a handler are functions here: each `async` block in between would move
//! the response once more, which costs a request for a file up to a fifth of its instructions.

use std::{
    borrow::Cow,
    pin::Pin,
    task::{Context, Poll, ready},
};

use serow::Response;
use serow_gateway::InternalRedirect;
use serow_router::HeaderChanges;

use crate::{
    error_routes::PagedResponse,
    internal_redirects::FollowedResponse,
    policy::{CountedBody, PolicyContext},
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
        /// The changes that the route makes to its headers.
        headers: HeaderChanges,
        /// The header of HSTS.
        strict_transport: StrictTransport,
    },
    /// One that a policy changes.
    InContext(Box<ResponseInContext>),
    /// That of a handler whose responses may lead to internal routes.
    Followed(Box<FollowedResponse>),
    /// One whose error page a route may make.
    Paged(Box<PagedResponse>),
}

/// A response, and the policy that changes it.
pub(crate) struct ResponseInContext {
    response: SiteResponse,
    context: PolicyContext,
    /// The body of the request, if it may turn out to be too long.
    counted: Option<CountedBody>,
    strict_transport: StrictTransport,
}

impl SiteResponse {
    /// The response of an application or of another server, as it is.
    pub(crate) fn pending(response: Pin<Box<dyn Future<Output = Response>>>) -> Self {
        Self::Pending { response, headers: HeaderChanges::default(), strict_transport: StrictTransport::default() }
    }

    /// This response, changed by the policy of this context; `counted` is the body of the request, if it may turn out to
    /// be too long.
    pub(crate) fn in_context(self, context: PolicyContext, counted: Option<CountedBody>) -> Self {
        let (response, strict_transport) = (self, StrictTransport::default());
        Self::InContext(Box::new(ResponseInContext { response, context, counted, strict_transport }))
    }

    /// Changes the headers of the response as its route says.
    #[inline]
    pub(crate) fn change(&mut self, changes: Cow<'_, HeaderChanges>) {
        match self {
            Self::Ready(Some(response)) => apply(&changes, response),
            Self::Ready(None) => {}
            Self::Pending { headers, .. } => *headers = changes.into_owned(),
            // Before the policy, so that it sees the fields that will be sent.
            Self::InContext(inner) => {
                if let Some(counted) = &mut inner.counted {
                    counted.change(&changes);
                }
                inner.response.change(changes);
            }
            Self::Followed(followed) => followed.change(changes),
            // Site and route have changed it before; a page has those of its own route.
            Self::Paged(_) => {}
        }
    }

    /// Adds the header of HSTS.
    #[inline]
    pub(crate) fn add(&mut self, header: StrictTransport) {
        match self {
            Self::Ready(Some(response)) => header.apply(response),
            Self::Ready(None) => {}
            Self::Pending { strict_transport, .. } => *strict_transport = header,
            Self::InContext(inner) => inner.strict_transport = header,
            Self::Followed(followed) => followed.add(header),
            Self::Paged(paged) => paged.add(header),
        }
    }
}

/// Changes the headers of a response. One that names another is not sent: what is kept of it are fields of the content alone,
/// as in nginx, and those of a route such as Cache-Control would describe the other.
fn apply(changes: &HeaderChanges, response: &mut Response) {
    if response.extensions.get::<InternalRedirect>().is_none() {
        changes.apply_to(response);
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
                apply(headers, &mut response);
                strict_transport.apply(&mut response);
                Poll::Ready(response)
            }
            Self::InContext(inner) => inner.poll(context),
            Self::Followed(followed) => followed.poll(context),
            Self::Paged(paged) => paged.poll(context),
        }
    }
}

impl ResponseInContext {
    #[inline(never)]
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response> {
        let response = Pin::new(&mut self.response).poll(context);
        let mut response = match self.counted.as_mut().and_then(CountedBody::refusal) {
            Some(refusal) => refusal,
            None => ready!(response),
        };
        self.context.apply(&mut response);
        self.strict_transport.apply(&mut response);
        Poll::Ready(response)
    }
}
