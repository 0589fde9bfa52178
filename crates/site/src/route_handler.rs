//! What a route passes its requests to.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use serow::{Handler, Request, Response};
use serow_apps::ApplicationHandler;
use serow_files::Files;
use serow_proxy::Proxy;

/// What a route passes its requests to. Redirects, fixed responses and rewrites are the router's own.
#[derive(Clone)]
pub enum RouteHandler {
    /// A folder.
    Files(Files),
    /// An application.
    App(ApplicationHandler),
    /// Other servers.
    Proxy(Proxy),
}

impl RouteHandler {
    /// Handles one request.
    #[inline]
    pub fn respond(&self, request: Request) -> RouteResponse {
        match self {
            Self::Files(files) => RouteResponse::Ready(Some(files.respond(&request))),
            Self::App(application) => RouteResponse::Pending(Box::pin(application.call(request))),
            Self::Proxy(proxy) => RouteResponse::Pending(proxy.respond(request)),
        }
    }
}

impl Handler for RouteHandler {
    #[inline]
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }
}

/// The future of a route's response.
pub enum RouteResponse {
    /// A file's, which waits for nobody; `None` after it was returned.
    Ready(Option<Response>),
    /// That of an application or of another server.
    Pending(Pin<Box<dyn Future<Output = Response>>>),
}

impl Future for RouteResponse {
    type Output = Response;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        match &mut *self {
            // As every future, it is not polled again after it was ready.
            Self::Ready(response) => response.take().map_or(Poll::Pending, Poll::Ready),
            Self::Pending(response) => response.as_mut().poll(context),
        }
    }
}
