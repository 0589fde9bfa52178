//! The content of a route, which answers the requests that have passed its phases.

use serow::{Handler, Request, Response};
use serow_apps::ApplicationHandler;
use serow_files::Files;
use serow_gateway::{ErrorReason, error_page};
use serow_message::StatusCode;
use serow_programs::cgi::Cgi;
use serow_programs::php::{Destination, PhpFolder};
use serow_proxy::Proxy;
use serow_webdav::Dav;

use crate::{policy::Source, site_response::SiteResponse};

/// The content of a route.
#[derive(Clone)]
pub enum Content {
    /// A folder.
    Files(Files),
    /// A folder that clients may change.
    Dav(Box<Dav>),
    /// An application.
    App(ApplicationHandler),
    /// CGI programs.
    Cgi(Cgi),
    /// Other servers.
    Proxy(Proxy),
    /// A folder of PHP scripts.
    Php(Box<PhpFolder>),
    /// The router's own answer: a redirect or a fixed response. It is handed over with the request.
    Answer,
}

impl Content {
    /// Where its responses come from.
    pub(crate) fn source(&self) -> Source {
        match self {
            Self::Files(_) | Self::Dav(_) => Source::Folder,
            Self::App(_) | Self::Cgi(_) | Self::Php(_) | Self::Proxy(_) => Source::Behind,
            Self::Answer => Source::Router,
        }
    }

    /// Answers a request.
    #[inline]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        match self {
            Self::Files(files) => SiteResponse::Ready(Some(files.respond(&request))),
            Self::Dav(folder) => match folder.respond_at_once(&request) {
                Some(response) => SiteResponse::Ready(Some(response)),
                None => SiteResponse::pending(folder.respond(request)),
            },
            Self::App(application) => SiteResponse::pending(Box::pin(application.call(request))),
            Self::Cgi(programs) => SiteResponse::pending(programs.respond(request)),
            Self::Proxy(proxy) => SiteResponse::pending(proxy.respond(request)),
            Self::Php(folder) => match folder.destination(&request) {
                Destination::Response(mut response) => {
                    // No program has answered: the error is the server's own, which has pages.
                    if response.status.as_u16() >= 400 && response.extensions.get::<ErrorReason>().is_none() {
                        response.extensions.insert(ErrorReason::from(response.status));
                    }
                    SiteResponse::Ready(Some(response))
                }
                Destination::Script(script) => SiteResponse::pending(folder.run(script, request)),
            },
            // There is nothing but the answer that comes with a request.
            Self::Answer => SiteResponse::Ready(Some(error_page(StatusCode::NOT_FOUND, &request.headers))),
        }
    }

    /// Answers a request, unless the next route has to: a folder without the file.
    #[inline]
    pub(crate) fn attempt(&self, request: &Request) -> Option<Response> {
        match self {
            Self::Files(files) => files.respond_if_found(request),
            // The settings make attempts of folders only.
            Self::Dav(_) | Self::App(_) | Self::Cgi(_) | Self::Php(_) | Self::Proxy(_) | Self::Answer => None,
        }
    }
}
