//! Internal routes: which responses lead there.

use serow_document::{Place, Problem};

use super::error_routes;
use crate::tables::{
    handlers::HandlerTable,
    sites::{RouteTable, SiteContent, SiteTable},
};

/// The problems of the internal routes of a site, and of the handlers whose responses lead to them.
pub fn problems(site: &SiteTable) -> Vec<Problem> {
    let SiteTable { content, place, .. } = site;
    let routes = match content {
        SiteContent::Routes(routes) => &routes[..],
        _ => &[],
    };
    let internal: Vec<_> = routes.iter().filter(|route| route.settings.internal).collect();
    let mut asking: Vec<Place> = Vec::new();
    match content {
        SiteContent::App(app) if app.arguments.accel_redirect == Some(true) => asking.push(place.key("app")),
        SiteContent::Php(php) if php.requests.accel_redirect == Some(true) => asking.push(place.key("php")),
        SiteContent::Proxy(proxy) if proxy.forwarding.accel_redirect == Some(true) => asking.push(place.key("proxy")),
        _ => asking.extend(routes.iter().filter_map(place_of_demand)),
    }
    if internal.is_empty() {
        let text = "`accel-redirect` needs a route of this site with `internal = true`, as in path = \"/protected/*\", \
                    internal = true, files = { root = \"protected\", strip-prefix = true }";
        return asking.iter().map(|place| Problem::of_key(place.key("accel-redirect"), text)).collect();
    }
    let restarts = |route: &&RouteTable| matches!(&route.handler, HandlerTable::Rewrite(rewrite) if rewrite.restarts());
    let circles = internal.iter().filter(|route| restarts(route)).map(|route| {
        let text = "`restart` has no effect in a route with `internal = true`: it would lead internal requests to all routes; \
                    write it in another route";
        Problem::of_key(route.place.key("rewrite"), text)
    });
    let circles: Vec<_> = circles.collect();
    if !circles.is_empty()
        || routes.iter().any(|route| route.handler.follows() || restarts(&route))
        || error_routes::has_any(site)
    {
        return circles;
    }
    let text = "nothing leads to this route: responses of an `app` do, or of a `proxy` with `accel-redirect = true`, a \
                `rewrite` with `restart = true`, or an error page with `route` or `path`, in the same site";
    internal.iter().map(|route| Problem::of_key(route.place.key("internal"), text)).collect()
}

/// Where a route demands that its responses lead to internal routes.
fn place_of_demand(route: &RouteTable) -> Option<Place> {
    match &route.handler {
        HandlerTable::App(app) if app.arguments.accel_redirect == Some(true) => Some(route.place.key("app")),
        HandlerTable::Php(php) if php.requests.accel_redirect == Some(true) => Some(route.place.key("php")),
        HandlerTable::Proxy(proxy) if proxy.forwarding.accel_redirect == Some(true) => Some(route.place.key("proxy")),
        _ => None,
    }
}
