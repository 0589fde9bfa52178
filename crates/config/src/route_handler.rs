//! What a route hands its requests to.

use std::pin::Pin;

use serow::{Handler, Request, Response};
use serow_apps::ApplicationHandler;
use serow_files::Files;
use serow_proxy::Proxy;

/// What a route hands its requests to. Redirects, fixed responses and rewrites are the router's own.
#[derive(Clone)]
pub enum RouteHandler {
    /// A folder.
    Files(Files),
    /// An application.
    App(ApplicationHandler),
    /// Other servers.
    Proxy(Proxy),
}

impl Handler for RouteHandler {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        // What a file needs is small beside what another server does.
        let answer = match self {
            Self::Files(files) => Answer::File(files.call(request)),
            Self::App(application) => {
                Answer::Other(Box::pin(application.call(request)) as Pin<Box<dyn Future<Output = Response>>>)
            }
            Self::Proxy(proxy) => {
                Answer::Other(Box::pin(proxy.call(request)) as Pin<Box<dyn Future<Output = Response>>>)
            }
        };
        async move {
            match answer {
                Answer::File(response) => response.await,
                Answer::Other(response) => response.await,
            }
        }
    }
}

/// A response on its way.
enum Answer<F> {
    File(F),
    Other(Pin<Box<dyn Future<Output = Response>>>),
}
