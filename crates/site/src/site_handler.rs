//! The handler of a server.

use std::time::Duration;

use serow::{Handler, Request, Response};
use serow_router::{Routed, Router};

use crate::{
    RouteHandler, serving::TlsPolicy, site_response::SiteResponse, strict_transport::StrictTransport, to_tls::ToTls,
};

/// What all requests of a server go to.
#[derive(Clone)]
pub enum Site {
    /// One folder, application or proxy.
    Single(RouteHandler),
    /// Sites with routes.
    Routed(Router<RouteHandler>),
}

impl Site {
    #[inline]
    fn respond(&self, mut request: Request) -> SiteResponse {
        match self {
            Self::Single(handler) => handler.respond(request),
            Self::Routed(router) => match router.route(&mut request) {
                Routed::Answer(response) => SiteResponse::Ready(Some(response)),
                Routed::Handler { handler, headers } => {
                    let mut response = handler.respond(request);
                    if !headers.is_empty() {
                        response.change(headers);
                    }
                    response
                }
            },
        }
    }
}

/// A site, with what TLS needs around it.
#[derive(Clone)]
pub(crate) struct SiteHandler {
    site: Site,
    to_tls: ToTls,
    /// How long browsers use TLS only (HSTS).
    strict_transport: Option<Duration>,
}

impl SiteHandler {
    /// Redirects lead to this port.
    pub(crate) fn new(site: Site, policy: TlsPolicy, port: u16) -> Self {
        Self { site, to_tls: ToTls { redirected: policy.redirected, port }, strict_transport: policy.strict_transport }
    }

    #[inline]
    fn respond(&self, request: Request) -> SiteResponse {
        if let Some(redirect) = self.to_tls.redirect(&request) {
            return SiteResponse::Ready(Some(redirect));
        }
        let Some(time) = self.strict_transport else { return self.site.respond(request) };
        let header = StrictTransport::new(time, request.connection().scheme());
        let mut response = self.site.respond(request);
        response.add(header);
        response
    }
}

impl Handler for SiteHandler {
    #[inline]
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }
}
