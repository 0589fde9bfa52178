//! What a route passes its requests to.

use serow::{Handler, Request, Response, RouteNote};
use serow_apps::ApplicationHandler;
use serow_files::Files;
use serow_proxy::Proxy;

use crate::site_response::SiteResponse;

/// What a route passes its requests to. Redirects, fixed responses and rewrites are the router's own.
#[derive(Clone)]
pub enum RouteHandler {
    /// A folder.
    Files(Files),
    /// An application.
    App(ApplicationHandler),
    /// Other servers.
    Proxy(Proxy),
    /// One of these, which notes the number of the route for the access log.
    Noted {
        /// The number, as in [`serow::Served::route`].
        number: u32,
        /// The handler.
        handler: Box<RouteHandler>,
    },
}

impl RouteHandler {
    /// Answers a request, unless the next route has to: a folder without the file.
    #[inline]
    pub(crate) fn attempt(&self, request: &Request) -> Option<Response> {
        match self {
            Self::Files(files) => files.respond_if_found(request),
            // The settings make attempts of folders only.
            Self::App(_) | Self::Proxy(_) => None,
            Self::Noted { number, handler } => handler.attempt(request).inspect(|_| note(*number, request)),
        }
    }

    /// Handles one request.
    #[inline]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        match self {
            Self::Files(files) => SiteResponse::Ready(Some(files.respond(&request))),
            Self::App(application) => SiteResponse::pending(Box::pin(application.call(request))),
            Self::Proxy(proxy) => SiteResponse::pending(proxy.respond(request)),
            Self::Noted { number, handler } => {
                note(*number, &request);
                handler.respond(request)
            }
        }
    }
}

/// Notes the number of the route where the access log reads it.
fn note(number: u32, request: &Request) {
    if let Some(note) = request.extensions.get::<RouteNote>() {
        note.set(number);
    }
}
