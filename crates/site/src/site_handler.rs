//! What all requests of a server go to.

use serow::{Handler, Request, Response};
use serow_router::Router;

use crate::{RouteHandler, RouteResponse};

/// What all requests of a server go to.
#[derive(Clone)]
pub enum SiteHandler {
    /// One folder, application or proxy.
    Single(RouteHandler),
    /// Sites with routes.
    Routed(Router<RouteHandler>),
}

impl Handler for SiteHandler {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let response = match self {
            Self::Single(handler) => SiteResponse::Single(handler.respond(request)),
            Self::Routed(router) => SiteResponse::Routed(router.call(request)),
        };
        async move {
            match response {
                SiteResponse::Single(response) => response.await,
                SiteResponse::Routed(response) => response.await,
            }
        }
    }
}

/// The future of a site's response.
enum SiteResponse<F> {
    Single(RouteResponse),
    Routed(F),
}
