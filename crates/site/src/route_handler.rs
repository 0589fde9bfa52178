//! What a route passes its requests to.

use std::sync::Arc;

use serow::{Handler, Request, Response};
use serow_apps::ApplicationHandler;
use serow_files::Files;
use serow_proxy::Proxy;
use serow_webdav::Dav;

use crate::{
    InternalRoutes, Mirror, ResponseCache, RouteCache, Scripts,
    internal_redirects::FollowedResponse,
    per_thread::PerThread,
    policy::{Bounded, RoutePolicy, Source},
    site_response::{HandOver, SiteResponse, Surrounding},
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
    /// One of these, whose responses are stored.
    Cached(Box<Cached>),
    /// One of these, whose requests are copied.
    Mirrored(Box<Mirrored>),
    /// One of these behind scripts.
    Scripted(Box<Scripted>),
    /// One of these, whose responses may lead to internal routes.
    Following(Box<Following>),
}

/// A handler with a policy around it; made by [`RouteHandler::with_policy`].
#[derive(Clone)]
pub struct Surrounded {
    handler: RouteHandler,
    pub(crate) policy: Arc<RoutePolicy>,
}

/// A handler whose responses are stored; made by [`RouteHandler::cached`].
#[derive(Clone)]
pub struct Cached {
    handler: RouteHandler,
    cache: ResponseCache,
}

/// A handler whose requests are copied; made by [`RouteHandler::mirrored`].
#[derive(Clone)]
pub struct Mirrored {
    handler: RouteHandler,
    mirror: Mirror,
}

/// A handler behind scripts; made by [`RouteHandler::scripted`].
#[derive(Clone)]
pub struct Scripted {
    handler: RouteHandler,
    scripts: Scripts,
    /// What gets the requests whose scripts have waited.
    waiting: Arc<PerThread<RouteHandler>>,
}

/// A handler whose responses may lead to internal routes; made by [`RouteHandler::following`].
#[derive(Clone)]
pub struct Following {
    handler: RouteHandler,
    internal: InternalRoutes,
}

impl RouteHandler {
    /// Whether it is a folder, perhaps with a policy around it.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        match self {
            Self::Files(_) | Self::Dav(_) => true,
            Self::Surrounded(surrounded) => surrounded.handler.is_folder(),
            Self::Scripted(scripted) => scripted.handler.is_folder(),
            Self::App(_) | Self::Proxy(_) | Self::Cached(_) | Self::Mirrored(_) | Self::Following(_) => false,
        }
    }

    /// The same, whose responses are stored: those to requests that the policy around it lets through, before the policy
    /// changes them. A mirror around it gets copies of all requests.
    #[must_use]
    pub fn cached(self, cache: RouteCache) -> Self {
        let around = |handler| Self::Cached(Box::new(Cached { cache: cache.around(&handler), handler }));
        match self {
            Self::Surrounded(surrounded) => {
                let Surrounded { handler, policy } = *surrounded;
                Self::Surrounded(Box::new(Surrounded { handler: around(handler), policy }))
            }
            handler => around(handler),
        }
    }

    /// The same, whose requests are copied: those that the policy around it lets through.
    #[must_use]
    pub fn mirrored(self, mirror: Mirror) -> Self {
        let around = |handler| Self::Mirrored(Box::new(Mirrored { handler, mirror }));
        match self {
            Self::Surrounded(surrounded) => {
                let Surrounded { handler, policy } = *surrounded;
                Self::Surrounded(Box::new(Surrounded { handler: around(handler), policy }))
            }
            handler => around(handler),
        }
    }

    /// The same behind scripts: they get the requests that the policy around it lets through, and the responses before the
    /// policy changes them, also those of a cache.
    #[must_use]
    pub fn scripted(self, scripts: Scripts) -> Self {
        let around = |handler: Self| {
            let waiting = Arc::new(PerThread::new(handler.clone()));
            Self::Scripted(Box::new(Scripted { handler, scripts, waiting }))
        };
        match self {
            Self::Surrounded(surrounded) => {
                let Surrounded { handler, policy } = *surrounded;
                Self::Surrounded(Box::new(Surrounded { handler: around(handler), policy }))
            }
            handler => around(handler),
        }
    }

    /// The same, whose responses may lead to internal routes. It goes around a policy.
    #[must_use]
    pub fn following(self, internal: InternalRoutes) -> Self {
        Self::Following(Box::new(Following { handler: self, internal }))
    }

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
            Self::Dav(_) | Self::App(_) | Self::Proxy(_) | Self::Cached(_) | Self::Scripted(_) => None,
            Self::Surrounded(surrounded) => match &surrounded.handler {
                // The guard comes later: until then, nothing may be copied.
                Self::Mirrored(mirrored) if surrounded.policy.guard.is_some() => mirrored.handler.attempt(request),
                handler => handler.attempt(request),
            },
            Self::Mirrored(mirrored) => {
                mirrored.handler.attempt(request).inspect(|_| mirrored.mirror.copy_head(request))
            }
            Self::Following(following) => following.handler.attempt(request),
        }
    }

    /// What surrounds the response of an attempt.
    pub(crate) fn surrounding(&self, request: &Request) -> Option<Surrounding> {
        match self {
            Self::Files(_) | Self::Dav(_) | Self::App(_) | Self::Proxy(_) | Self::Cached(_) | Self::Scripted(_) => None,
            Self::Surrounded(surrounded) => Some(surrounded.surrounding(request)),
            Self::Mirrored(mirrored) => mirrored.handler.surrounding(request),
            Self::Following(following) => following.handler.surrounding(request),
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
            Self::Cached(cached) => cached.respond(request),
            Self::Mirrored(mirrored) => mirrored.respond(request),
            Self::Scripted(scripted) => scripted.respond(request),
            Self::Following(following) => following.respond(request),
        }
    }
}

impl Cached {
    #[inline(never)]
    fn respond(&self, request: Request) -> SiteResponse {
        self.cache.respond(&self.handler, request)
    }
}

impl Mirrored {
    #[inline(never)]
    fn respond(&self, request: Request) -> SiteResponse {
        self.handler.respond(self.mirror.copy(request))
    }
}

impl Scripted {
    #[inline(never)]
    fn respond(&self, request: Request) -> SiteResponse {
        let later = || {
            // Not a copy for each request: a folder opens itself once more for that.
            let handler = self.waiting.of_thread();
            move |request| handler.respond(request)
        };
        self.scripts.respond(request, |request| self.handler.respond(request), later)
    }
}

impl Following {
    #[inline(never)]
    fn respond(&self, request: Request) -> SiteResponse {
        let respond = |request| self.handler.respond(request);
        SiteResponse::Followed(Box::new(FollowedResponse::new(request, &self.internal, respond)))
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
        surrounding.respond(request, counted, HandOver::Handler(&self.handler))
    }

    fn surrounding(&self, request: &Request) -> Surrounding {
        let handler = match &self.handler {
            RouteHandler::Scripted(scripted) => &scripted.handler,
            handler => handler,
        };
        let handler = match handler {
            RouteHandler::Mirrored(mirrored) => &mirrored.handler,
            handler => handler,
        };
        let source = match handler {
            RouteHandler::Files(_) | RouteHandler::Dav(_) => Source::Folder,
            // A policy is around the handler itself, its cache, its mirror and its scripts: the last four are never here.
            RouteHandler::App(_)
            | RouteHandler::Proxy(_)
            | RouteHandler::Cached(_)
            | RouteHandler::Surrounded(_)
            | RouteHandler::Mirrored(_)
            | RouteHandler::Scripted(_)
            | RouteHandler::Following(_) => Source::Behind,
        };
        Surrounding::new(Arc::clone(&self.policy), source, request)
    }
}
