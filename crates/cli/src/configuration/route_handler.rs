//! What a route hands its requests to.

use serow::{Handler, Request, Response};
use serow_files::Files;

/// What a route hands its requests to. Redirects, fixed responses and rewrites are the router's own.
#[derive(Clone)]
pub(crate) enum RouteHandler {
    /// A folder.
    Files(Files),
}

impl Handler for RouteHandler {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        match self {
            Self::Files(files) => files.call(request),
        }
    }
}
