//! The response to a request that the router has routed.

use std::sync::Arc;

use serow::{Request, Response};
use serow_router::{Routed, Router};

use crate::{
    RouteHandler, SitePolicies,
    phases::{Phases, Target},
    policy::Source,
    refusals,
    site_response::SiteResponse,
};

/// The response of the route that takes a request, or of the router itself.
#[inline]
pub(crate) fn routed(router: &Router<RouteHandler>, policies: &SitePolicies, request: Request) -> SiteResponse {
    match policies.error_routes(router, &request) {
        None => by_path(router, policies, request),
        Some(pages) => pages.respond(request, |request| by_path(router, policies, request)),
    }
}

/// The response without error pages that routes make.
#[inline]
fn by_path(router: &Router<RouteHandler>, policies: &SitePolicies, mut request: Request) -> SiteResponse {
    let routed = router.route(&mut request, RouteHandler::attempt);
    respond(routed, request, |request, response| refused(router, policies, request, response))
}

/// The response to a request that no route takes, and the phases of its site.
#[cold]
pub(crate) fn refused(
    router: &Router<RouteHandler>,
    policies: &SitePolicies,
    request: &Request,
    response: Response,
) -> (Response, Option<Arc<Phases>>) {
    (refusals::explained(router, request, response), policies.of(router, request))
}

/// The response to a request that was routed so; `refused` has what becomes of a refusal of the router.
#[inline]
pub(crate) fn respond(
    routed: Routed<'_, RouteHandler>,
    request: Request,
    refused: impl FnOnce(&Request, Response) -> (Response, Option<Arc<Phases>>),
) -> SiteResponse {
    match routed {
        Routed::Handler { handler, headers } => {
            let mut response = handler.respond(request);
            if !headers.is_empty() {
                response.change(headers);
            }
            response
        }
        Routed::Attempt { handler, response } | Routed::Answer { handler: Some(handler), response } => {
            handler.respond_with(request, response)
        }
        Routed::Answer { handler: None, response } => {
            let (response, phases) = refused(&request, response);
            match phases {
                Some(phases) => phases.respond(request, Target::Response(response), Source::Router),
                None => SiteResponse::Ready(Some(response)),
            }
        }
    }
}
