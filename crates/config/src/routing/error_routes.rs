//! Error pages that routes make: the routes that they name.

use serow_document::{Place, Problem};

use crate::{
    tables::{
        error_pages::ErrorPageTable,
        policies::PolicySettings,
        sites::{SiteContent, SiteTable},
    },
    values::TextOr,
};

/// Whether routes make an error page of this site.
pub fn has_any(site: &SiteTable) -> bool {
    policies(site).any(|(policy, _)| pages(policy).next().is_some())
}

/// The problems of the error pages of a site that routes make, and of the names of internal routes.
pub fn problems(site: &SiteTable) -> Vec<Problem> {
    let routes = match &site.content {
        SiteContent::Routes(routes) => &routes[..],
        _ => &[],
    };
    let named = |name: &str| routes.iter().any(|route| route.settings.name.as_deref() == Some(name));
    let mut problems = Vec::new();
    let mut used = Vec::new();
    for (policy, place) in policies(site) {
        for (statuses, page) in pages(policy) {
            let place = place.key("error-pages").key(statuses.as_str());
            let text = match (&page.route, &page.path) {
                (Some(name), None) if named(name) => {
                    used.push(name.as_str());
                    continue;
                }
                (Some(name), None) => {
                    format!("no route of this site has the name {name:?}: write name = {name:?} into one")
                }
                (None, Some(_)) => continue,
                (Some(_), Some(_)) => "either `route` or `path`: leave one out".to_owned(),
                (None, None) => "nothing makes the page: write route = \"NAME\" or path = \"/PATH\"".to_owned(),
            };
            problems.push(Problem::of_value(place, text));
        }
    }
    for route in routes.iter().filter(|route| route.settings.internal) {
        let Some(name) = &route.settings.name else { continue };
        if !used.contains(&name.as_str()) {
            let text = "`name` has no effect in a route with `internal = true` unless an error page names it: scripts choose among \
                        the routes that clients reach; leave it out here";
            problems.push(Problem::of_key(route.place.key("name"), text));
        }
    }
    problems
}

/// The policies of a site and of its routes, with their places.
fn policies(site: &SiteTable) -> impl Iterator<Item = (&PolicySettings, &Place)> {
    let routes = match &site.content {
        SiteContent::Routes(routes) => &routes[..],
        _ => &[],
    };
    [(&site.policy, &site.place)].into_iter().chain(routes.iter().map(|route| (&route.policy, &route.place)))
}

/// The pages that routes make, by their statuses.
fn pages(policy: &PolicySettings) -> impl Iterator<Item = (&String, &ErrorPageTable)> {
    policy.error_pages.iter().filter_map(|(statuses, page)| match page {
        TextOr::Table(page) => Some((statuses, page)),
        TextOr::Text(_) => None,
    })
}
