//! The response of a handler whose responses may lead to internal routes.

use std::{
    borrow::Cow,
    cell::OnceCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use serow::{
    Body, Connection, Extensions, Headers, KnownHeader, Method, Request, RequestHead, Response, Target, Version,
};
use serow_gateway::{ErrorReason, InternalRedirect, LimitRate, error_page};
use serow_message::{InformationalSender, StatusCode};
use serow_router::HeaderChanges;

use crate::{InternalRoutes, Rate, site_response::SiteResponse, strict_transport::StrictTransport};

/// The response of a content, or the one that it names to be sent in its place.
pub(crate) struct FollowedResponse {
    response: SiteResponse,
    is_head: bool,
    request: Rc<OnceCell<AdmittedRequest>>,
    internal: InternalRoutes,
    hops: u8,
    /// The path or file that the last response named, for the log.
    named: String,
    kept: Option<Kept>,
    strict_transport: StrictTransport,
}

/// A request as its content gets it, from which requests to internal routes are made: the client's identity is verified,
/// and the fields that only Serow sets are its own.
#[derive(Debug)]
pub(crate) struct AdmittedRequest {
    pub(crate) method: Method,
    pub(crate) target: Target,
    version: Version,
    headers: Headers,
    extensions: Extensions,
    connection: Connection,
    informational: InformationalSender,
}

/// The parts of a response that names another one, which are sent with that one, as nginx does.
#[derive(Default)]
struct Kept {
    fields: Headers,
    /// Whether it refuses ranges.
    is_whole: bool,
    extensions: Extensions,
}

impl FollowedResponse {
    /// The response to this request, which has yet to pass the phases of its route.
    pub(crate) fn begin(request: &Request, internal: &InternalRoutes) -> Box<Self> {
        Box::new(Self {
            response: SiteResponse::Ready(None),
            is_head: request.method == Method::HEAD,
            request: Rc::default(),
            internal: internal.clone(),
            hops: 0,
            named: String::new(),
            kept: None,
            strict_transport: StrictTransport::default(),
        })
    }

    /// Where the request is noted when it has passed them.
    pub(crate) fn noted(&self) -> Rc<OnceCell<AdmittedRequest>> {
        Rc::clone(&self.request)
    }

    /// Waits for this response.
    pub(crate) fn response(mut self: Box<Self>, response: SiteResponse) -> SiteResponse {
        self.response = response;
        SiteResponse::Followed(self)
    }

    /// Changes the headers of the handler's own response as its route says; what it leads to has those of its own route.
    pub(crate) fn change(&mut self, changes: Cow<'_, HeaderChanges>) {
        self.response.change(changes);
    }

    /// Adds the header of HSTS.
    pub(crate) fn add(&mut self, header: StrictTransport) {
        self.strict_transport = header;
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Response> {
        loop {
            let mut response = ready!(Pin::new(&mut self.response).poll(context));
            // Only contents respond with one, to requests that are noted.
            let redirect = response.extensions.remove::<InternalRedirect>();
            let request = self.noted();
            let (Some(redirect), Some(request)) = (redirect, request.get()) else {
                return Poll::Ready(self.finish(response, false));
            };
            self.response = match self.follow(&redirect, request, response) {
                Ok(next) => next,
                Err(response) => return Poll::Ready(self.finish(response, true)),
            };
        }
    }

    /// Follows a response, whose body is dropped.
    fn follow(
        &mut self,
        redirect: &InternalRedirect,
        request: &AdmittedRequest,
        response: Response,
    ) -> Result<SiteResponse, Response> {
        self.kept.get_or_insert_default().add(response);
        let (host, path) = (request.host(), request.target.path());
        self.named = format!("{} names {}", redirect.field(), redirect.value().escape_ascii());
        if self.hops == MAX_HOPS {
            let text = "this is one internal redirect too many: after ten, there should be a file";
            self.internal.warn(host, path, &format!("{}: {text}", self.named));
            let reason = ErrorReason::from(StatusCode::INTERNAL_SERVER_ERROR);
            return Err(error_page(reason, &request.headers));
        }
        self.hops += 1;
        let Some(target) = self.internal.target(redirect) else {
            let text = match redirect {
                InternalRedirect::Path(_) => "which is not a path that begins with /",
                InternalRedirect::File(_) => "which is not in the folder of a route with `internal = true`",
            };
            self.internal.warn(host, path, &format!("{}, {text}", self.named));
            return Err(error_page(StatusCode::NOT_FOUND, &request.headers));
        };
        let refuses_ranges = self.kept.as_ref().is_some_and(|kept| kept.is_whole);
        Ok(self.internal.respond(request.to(target, refuses_ranges)))
    }

    /// The response that the client receives; it may be one that the log explains already.
    fn finish(&mut self, mut response: Response, is_logged: bool) -> Response {
        if let Some(kept) = self.kept.take() {
            if response.status == StatusCode::NOT_FOUND && !is_logged {
                let text = format!("{}: there is no such file, or no such route with `internal = true`", self.named);
                self.request.get().inspect(|request| self.internal.warn(request.host(), request.target.path(), &text));
            }
            kept.apply(&mut response);
        }
        if let Some(LimitRate(per_second)) = response.extensions.remove()
            && !self.is_head
            && response.status != StatusCode::SWITCHING_PROTOCOLS
        {
            // A `rate` of the settings applies as well: the lower of the two is what comes out.
            Rate { per_second, after: 0 }.limit(&mut response);
        }
        self.strict_transport.apply(&mut response);
        response
    }
}

impl AdmittedRequest {
    /// This request, without its body.
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            method: request.method.clone(),
            target: request.target.clone(),
            version: request.version,
            headers: request.headers.clone(),
            extensions: request.extensions.clone(),
            connection: request.connection().clone(),
            informational: request.informational().clone(),
        }
    }

    /// The request for an internal route: GET or HEAD, without a body, with the client's conditions and ranges.
    fn to(&self, target: Target, refuses_ranges: bool) -> Request {
        let mut request = self.again(self.reading_method(), target);
        if refuses_ranges {
            request.headers.remove(KnownHeader::Range);
        }
        request
    }

    /// HEAD for a request with HEAD, otherwise GET.
    pub(crate) fn reading_method(&self) -> Method {
        if self.method == Method::HEAD { Method::HEAD } else { Method::GET }
    }

    /// The request with this method and target, without a body.
    pub(crate) fn again(&self, method: Method, target: Target) -> Request {
        let mut headers = self.headers.clone();
        headers.retain_known(|_, known, _| !known.is_some_and(|known| OF_THE_BODY.contains(&known)));
        let head = RequestHead { method, target, version: self.version, headers };
        let request = Request::new(head, Body::empty(), self.connection.clone());
        let mut request = request.with_informational(self.informational.clone());
        request.extensions = self.extensions.clone();
        request
    }

    fn host(&self) -> &str {
        self.target.authority().or_else(|| self.headers.get_str(KnownHeader::Host)).unwrap_or_default()
    }
}

impl Kept {
    /// Adds what is kept of a response.
    fn add(&mut self, response: Response) {
        let Response { headers, extensions, .. } = response;
        self.extensions.extend(extensions);
        for (name, known, value) in headers.iter_known() {
            let Some(known) = known.filter(|known| KEPT.contains(known)) else { continue };
            self.is_whole |= known == KnownHeader::AcceptRanges && value.eq_ignore_ascii_case(b"none");
            // They were received, or made, as fields.
            match known {
                KnownHeader::SetCookie => drop(self.fields.append(name, value)),
                _ => drop(self.fields.insert(name, value)),
            }
        }
    }

    /// Adds it to the response that is sent. An error is not described by the fields of the content, and must not be
    /// cached as that.
    fn apply(self, response: &mut Response) {
        let is_error = response.status.is_client_error() || response.status.is_server_error();
        for (name, known, value) in self.fields.iter_known() {
            match known {
                Some(KnownHeader::SetCookie) => drop(response.headers.append(name, value)),
                _ if is_error => {}
                // A 304 and a 416 have no content to describe, and several ranges are of another type.
                Some(KnownHeader::ContentType) if !describes_content(response) => {}
                _ => drop(response.headers.insert(name, value)),
            }
        }
        let mut extensions = self.extensions;
        extensions.extend(std::mem::take(&mut response.extensions));
        response.extensions = extensions;
    }
}

/// Whether the Content-Type of the response is that of the content that was named.
fn describes_content(response: &Response) -> bool {
    let of_parts = |value: &[u8]| value.starts_with(b"multipart/byteranges");
    response.status.is_success() && !response.headers.get(KnownHeader::ContentType).is_some_and(of_parts)
}

/// More than any site needs: nginx gives up after ten, too.
const MAX_HOPS: u8 = 10;

/// Fields that describe the body of the client's request, which internal routes do not get.
const OF_THE_BODY: [KnownHeader; 5] = [
    KnownHeader::ContentLength,
    KnownHeader::ContentType,
    KnownHeader::ContentEncoding,
    KnownHeader::TransferEncoding,
    KnownHeader::Expect,
];

/// As ngx_http_upstream does with X-Accel-Redirect.
const KEPT: [KnownHeader; 6] = [
    KnownHeader::ContentType,
    KnownHeader::ContentDisposition,
    KnownHeader::SetCookie,
    KnownHeader::CacheControl,
    KnownHeader::AcceptRanges,
    KnownHeader::Expires,
];
