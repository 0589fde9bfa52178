//! Errors whose pages routes make: the site's routes get a request of their own for the page, whose response is sent with
//! what the error has to tell.
//!
//! A request for a page is marked ([`ForErrorPage`]): an error that meets it has no page again, it passes the guards of the
//! routes that clients reach and none of internal ones, and no cache stores its response. Limits that have counted the client's
//! request do not count it ([`GuardNotes`]), and fields that only Serow sets are removed from it, whatever a client sent.

use std::{
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use serow::{KnownHeader, Method, Request, Response, RouteNote};
use serow_gateway::ErrorReason;
use serow_guards::GuardNotes;
use serow_message::{ClientTarget, StatusCode};
use serow_router::{RewriteTarget, Router};

use crate::{
    RouteHandler, internal_redirects::AdmittedRequest, per_thread::PerThread, routed_response::respond,
    site_response::SiteResponse, strict_transport::StrictTransport,
};

/// An error page that a route makes.
#[derive(Clone, Debug)]
pub struct RoutedPage {
    /// The routes that make it.
    pub target: PageTarget,
    /// The status that it is sent with.
    pub status: PageStatus,
}

/// The routes that make an error page.
#[derive(Clone, Debug)]
pub enum PageTarget {
    /// Those of this name, which get the request of the client without its body.
    Route(Box<str>),
    /// Those that take GET of this path.
    Path(RewriteTarget),
}

/// The status of an error page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStatus {
    /// That of the error.
    OfError,
    /// That of the page.
    OfRoute,
    /// This one.
    Fixed(StatusCode),
}

/// In the extensions of an error that has such a page.
#[derive(Clone, Debug)]
pub(crate) struct WantedPage(pub(crate) Arc<RoutedPage>);

/// In the extensions of a request for an error page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForErrorPage;

impl ForErrorPage {
    /// Whether a request is one for an error page.
    pub(crate) fn marks(request: &Request) -> bool {
        request.extensions.get::<Self>().is_some()
    }
}

/// The routes of some sites, for their error pages. Clones are the same routes.
#[derive(Clone)]
pub(crate) struct ErrorRoutes {
    router: Arc<PerThread<Router<RouteHandler>>>,
    /// Which sites have such pages.
    sites: Arc<[bool]>,
}

/// A response that may be an error, and the page that is sent in its place.
pub(crate) struct PagedResponse {
    response: SiteResponse,
    asked: ClientRequest,
    routes: ErrorRoutes,
    /// The error, while its page is made.
    failed: Option<FailedResponse>,
    strict_transport: StrictTransport,
}

/// A request as a client sent it, without its body.
struct ClientRequest {
    request: AdmittedRequest,
    notes: GuardNotes,
}

/// An error, and the status of its page.
struct FailedResponse {
    response: Response,
    status: PageStatus,
}

impl ErrorRoutes {
    /// The routes of the sites of this router that have such pages.
    pub(crate) fn new(router: &Router<RouteHandler>, sites: &[bool]) -> Self {
        Self { router: Arc::new(PerThread::new(router.clone())), sites: sites.into() }
    }

    /// Whether errors of this site have such pages.
    pub(crate) fn has_site(&self, site: usize) -> bool {
        self.sites.get(site).is_some_and(|has_pages| *has_pages)
    }

    /// The response to a request, or the page of the error that it is.
    #[inline(never)]
    pub(crate) fn respond(&self, mut request: Request, respond: impl FnOnce(Request) -> SiteResponse) -> SiteResponse {
        let notes = GuardNotes::default();
        request.extensions.insert(notes.clone());
        let asked = ClientRequest { request: AdmittedRequest::of(&request), notes };
        SiteResponse::Paged(Box::new(PagedResponse {
            response: respond(request),
            asked,
            routes: self.clone(),
            failed: None,
            strict_transport: StrictTransport::default(),
        }))
    }
}

impl PagedResponse {
    /// Adds the header of HSTS.
    pub(crate) fn add(&mut self, header: StrictTransport) {
        self.strict_transport = header;
    }

    #[inline(never)]
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response> {
        loop {
            let response = ready!(Pin::new(&mut self.response).poll(context));
            let finished = match self.failed.take() {
                Some(failed) => failed.with_page(response),
                None => match self.page_of(response) {
                    Ok(page) => {
                        self.response = page;
                        continue;
                    }
                    Err(response) => response,
                },
            };
            let mut response = finished;
            self.strict_transport.apply(&mut response);
            return Poll::Ready(response);
        }
    }

    /// The page of a response that is an error; otherwise, the response itself.
    fn page_of(&mut self, mut response: Response) -> Result<SiteResponse, Response> {
        let Some(WantedPage(page)) = response.extensions.remove() else { return Err(response) };
        let router: Rc<Router<RouteHandler>> = self.routes.router.of_thread();
        let (name, request) = match &page.target {
            PageTarget::Route(name) => (Some(&**name), Some(self.asked.again(self.asked.request.method.clone()))),
            PageTarget::Path(path) => (None, self.asked.to(path, &router)),
        };
        let Some(mut request) = request else { return Err(response) };
        let Some(routed) = router.route_inside(name, &mut request, RouteHandler::attempt) else { return Err(response) };
        self.failed = Some(FailedResponse { response, status: page.status });
        Ok(respond(routed, request, |_, refusal| (refusal, None)))
    }
}

impl ClientRequest {
    /// GET or HEAD of this path; nothing if a value makes it one that no path can be.
    fn to(&self, path: &RewriteTarget, router: &Router<RouteHandler>) -> Option<Request> {
        let mut request = self.again(self.request.reading_method());
        let target = path.target_of(&request, router.trusted())?;
        ClientTarget::rewrite(&mut request, target);
        Some(request)
    }

    /// The request for a page, without a body, and without what asks for another response than the whole page.
    fn again(&self, method: Method) -> Request {
        let mut request = self.request.again(method, self.request.target.clone());
        request.headers.retain_known(|_, known, _| !known.is_some_and(|known| OF_PARTS.contains(&known)));
        self.notes.hide_reserved(&mut request.headers);
        // Logs and metrics are about the route of the client's request.
        request.extensions.remove::<RouteNote>();
        request.extensions.insert(ForErrorPage);
        request
    }
}

impl FailedResponse {
    /// The page with what the error has to tell; the error itself, if there is no page.
    fn with_page(self, mut page: Response) -> Response {
        let Self { response: mut failed, status } = self;
        let (is_error, is_own) = (page.status.as_u16() >= 400, page.extensions.get::<ErrorReason>().is_some());
        let is_redirect =
            (300..400).contains(&page.status.as_u16()) && page.headers.get(KnownHeader::Location).is_some();
        page.status = match status {
            // With another status, clients would not follow it.
            _ if is_redirect => page.status,
            PageStatus::OfRoute if !is_own => page.status,
            // Another error than that of the client's request: the page is missing, or refused.
            _ if is_error && page.status != failed.status || is_own => return failed,
            PageStatus::Fixed(status) if !is_error => status,
            _ => failed.status,
        };
        let is_error = page.status.as_u16() >= 400;
        if is_error || !MAY_BE_STORED.contains(&failed.status.as_u16()) {
            for name in OF_STORAGE {
                page.headers.remove(name);
            }
            if !is_error {
                let _ = page.headers.insert(KnownHeader::CacheControl, "no-store");
            }
        }
        for (name, known, value) in failed.headers.iter_known() {
            let is_cors = || name.get(..15).is_some_and(|start| start.eq_ignore_ascii_case(b"access-control-"));
            // They were received, or made, as fields.
            let _ = match known {
                Some(KnownHeader::SetCookie | KnownHeader::Vary) => page.headers.append(name, value),
                Some(known) if is_error && OF_ERRORS.contains(&known) => page.headers.append(name, value),
                Some(KnownHeader::ContentRange) if page.status == StatusCode::RANGE_NOT_SATISFIABLE => {
                    page.headers.insert(name, value)
                }
                _ if is_cors() => page.headers.insert(name, value),
                _ => Ok(()),
            };
        }
        failed.extensions.extend(std::mem::take(&mut page.extensions));
        page.extensions = failed.extensions;
        page
    }
}

/// Fields of the client's request that ask for a part of the response, for none, or for a tunnel.
const OF_PARTS: [KnownHeader; 7] = [
    KnownHeader::Range,
    KnownHeader::IfRange,
    KnownHeader::IfMatch,
    KnownHeader::IfNoneMatch,
    KnownHeader::IfModifiedSince,
    KnownHeader::IfUnmodifiedSince,
    KnownHeader::Upgrade,
];

/// Fields of a page by which caches store it, and compare it with what they have: an error is not the page.
const OF_STORAGE: [KnownHeader; 6] = [
    KnownHeader::AcceptRanges,
    KnownHeader::Age,
    KnownHeader::CacheControl,
    KnownHeader::Etag,
    KnownHeader::Expires,
    KnownHeader::LastModified,
];

/// Fields of an error that its page has as well.
const OF_ERRORS: [KnownHeader; 6] = [
    KnownHeader::Allow,
    KnownHeader::CacheControl,
    KnownHeader::Expires,
    KnownHeader::ProxyAuthenticate,
    KnownHeader::RetryAfter,
    KnownHeader::WwwAuthenticate,
];

/// Errors in whose place caches may store what a page with another status says. Others are about the client or the moment.
const MAY_BE_STORED: [u16; 2] = [404, 410];
