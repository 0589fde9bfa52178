//! Requests whose scripts have chosen the route by its name.

use serow::{Request, StatusCode};
use serow_gateway::{LogLimit, error_page};
use serow_router::Router;
use serow_scripts::ChosenRoute;

use crate::{
    RouteHandler, SitePolicies,
    routed_response::{refused, respond, routed as routed_by_path},
    site_response::SiteResponse,
};

/// The response of the route that takes a request: of those with the name that a script has chosen, if one has.
pub(crate) fn routed(router: &Router<RouteHandler>, policies: &SitePolicies, mut request: Request) -> SiteResponse {
    let Some(ChosenRoute(name)) = request.extensions.remove() else { return routed_by_path(router, policies, request) };
    let by_name = |mut request: Request| match router.route_named(&name, &mut request, RouteHandler::attempt) {
        Some(routed) => respond(routed, request, |request, response| refused(router, policies, request, response)),
        None => {
            warn(&name, &request);
            SiteResponse::Ready(Some(error_page(StatusCode::INTERNAL_SERVER_ERROR, &request.headers)))
        }
    };
    match policies.error_routes(router, &request) {
        None => by_name(request),
        Some(pages) => pages.respond(request, by_name),
    }
}

/// Logs that no route has a name, at most ten times a second.
#[cold]
fn warn(name: &str, request: &Request) {
    static WARNINGS: LogLimit = LogLimit::new();
    if let Some(suppressed) = WARNINGS.admit_now() {
        if suppressed.0 > 0 {
            tracing::error!("and {suppressed} more requests before for routes that do not exist");
        }
        let host = request.host().unwrap_or_default().escape_debug();
        tracing::error!(
            "a script chose the route {name:?} for {host}{}, whose site has no route of that name: write name = {name:?} \
             into a [[site.route]]",
            request.target.path().escape_debug()
        );
    }
}
