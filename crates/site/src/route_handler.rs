//! What a route passes its requests to.

use serow::{Handler, Request, Response};
use serow_apps::ApplicationHandler;
use serow_files::Files;
use serow_proxy::Proxy;
use serow_webdav::Dav;

use crate::site_response::SiteResponse;

/// What a route passes its requests to. Redirects, fixed responses and rewrites are the router's own.
#[derive(Clone)]
pub enum RouteHandler {
    /// A folder.
    Files(Files),
    /// A folder that clients may change.
    Dav(Box<Dav>),
    /// An application.
    App(ApplicationHandler),
    /// Other servers.
    Proxy(Proxy),
}

impl RouteHandler {
    /// Answers a request, unless the next route has to: a folder without the file.
    #[inline]
    pub(crate) fn attempt(&self, request: &Request) -> Option<Response> {
        match self {
            Self::Files(files) => files.respond_if_found(request),
            // The settings make attempts of folders only.
            Self::Dav(_) | Self::App(_) | Self::Proxy(_) => None,
        }
    }

    /// Handles one request.
    #[inline]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        match self {
            Self::Files(files) => SiteResponse::Ready(Some(files.respond(&request))),
            Self::Dav(folder) => match folder.respond_at_once(&request) {
                Some(response) => SiteResponse::Ready(Some(response)),
                None => SiteResponse::pending(folder.respond(request)),
            },
            Self::App(application) => SiteResponse::pending(Box::pin(application.call(request))),
            Self::Proxy(proxy) => SiteResponse::pending(proxy.respond(request)),
        }
    }
}
