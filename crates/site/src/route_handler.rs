//! What a route passes its requests to.

use std::sync::Arc;

use serow::{Handler, Request, Response};
use serow_apps::ApplicationHandler;
use serow_files::Files;
use serow_proxy::Proxy;
use serow_webdav::Dav;

use crate::{
    policy::{Bounded, RoutePolicy, Source},
    site_response::{SiteResponse, Surrounding},
};

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
    /// One of these, with a policy around it.
    Surrounded(Box<Surrounded>),
}

/// A handler with a policy around it; made by [`RouteHandler::with_policy`].
#[derive(Clone)]
pub struct Surrounded {
    handler: RouteHandler,
    pub(crate) policy: Arc<RoutePolicy>,
}

impl RouteHandler {
    /// The same with a policy around it, in place of one that is there.
    #[must_use]
    pub fn with_policy(self, policy: Arc<RoutePolicy>) -> Self {
        let handler = match self {
            Self::Surrounded(surrounded) => surrounded.handler,
            handler => handler,
        };
        if policy.is_empty() { handler } else { Self::Surrounded(Box::new(Surrounded { handler, policy })) }
    }

    /// Answers a request, unless the next route has to: a folder without the file.
    #[inline]
    pub(crate) fn attempt(&self, request: &Request) -> Option<Response> {
        match self {
            Self::Files(files) => files.respond_if_found(request),
            // The settings make attempts of folders only.
            Self::Dav(_) | Self::App(_) | Self::Proxy(_) => None,
            Self::Surrounded(surrounded) => surrounded.handler.attempt(request),
        }
    }

    /// What surrounds the response of an attempt.
    pub(crate) fn surrounding(&self, request: &Request) -> Option<Surrounding> {
        match self {
            Self::Files(_) | Self::Dav(_) | Self::App(_) | Self::Proxy(_) => None,
            Self::Surrounded(surrounded) => Some(surrounded.surrounding(request)),
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
            Self::Surrounded(surrounded) => surrounded.respond(request),
        }
    }
}

impl Surrounded {
    #[inline(never)]
    fn respond(&self, mut request: Request) -> SiteResponse {
        let surrounding = self.surrounding(&request);
        let counted = match self.policy.bound(&mut request) {
            Bounded::Fits => None,
            Bounded::Counted(body) => Some(body),
            Bounded::TooLong(refusal) => {
                return SiteResponse::surrounded(SiteResponse::Ready(Some(refusal)), surrounding, None);
            }
        };
        if surrounding.keeps_none_back() {
            return surrounding.respond_at_once(request, counted, |request| self.handler.respond(request));
        }
        let handler = self.handler.clone();
        surrounding.respond(request, counted, move |request| handler.respond(request))
    }

    fn surrounding(&self, request: &Request) -> Surrounding {
        let source = match &self.handler {
            RouteHandler::Files(_) | RouteHandler::Dav(_) => Source::Folder,
            // A policy is around the handler itself: the last is never here.
            RouteHandler::App(_) | RouteHandler::Proxy(_) | RouteHandler::Surrounded(_) => Source::Behind,
        };
        Surrounding::new(Arc::clone(&self.policy), source, request)
    }
}
