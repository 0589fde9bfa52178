//! Where sites and routes stand, and the router's errors about those that contradict each other.

use serow_document::{Place, Problem};
use serow_router::RouterError;

use crate::tables::sites::{SiteContent, SiteTable};

/// Where a site and its routes stand.
pub struct SitePlaces {
    site: Place,
    /// The routes, and whether they are internal.
    routes: Vec<(Place, bool)>,
}

impl SitePlaces {
    /// Those of a site.
    pub fn new(site: &SiteTable) -> Self {
        let routes = match &site.content {
            SiteContent::App(_)
            | SiteContent::Cgi(_)
            | SiteContent::Files(_)
            | SiteContent::Php(_)
            | SiteContent::Proxy(_) => Vec::new(),
            SiteContent::Routes(routes) => {
                routes.iter().map(|route| (route.place.clone(), route.settings.internal)).collect()
            }
        };
        Self { site: site.place.clone(), routes }
    }

    /// The number of an internal route among all, by its number among the internal ones.
    fn number_of_internal(&self, route: usize) -> usize {
        let numbers = self.routes.iter().enumerate().filter(|(_, (_, internal))| *internal);
        numbers.map(|(number, _)| number).nth(route).unwrap_or(route)
    }

    /// An error of the router of the internal routes, at the place of the site or route that it is about.
    pub fn of_internal(&self, error: RouterError, site: usize) -> Problem {
        self.problem(&error.renumbered(site, |route| self.number_of_internal(route)))
    }

    fn problem(&self, error: &RouterError) -> Problem {
        let route = error.route().and_then(|route| self.routes.get(route)).map(|(place, _)| place);
        match error {
            RouterError::HostTwice { .. } => Problem::of_key(self.site.key("hosts"), error.to_string()),
            _ => Problem::of_key(route.unwrap_or(&self.site).clone(), error.to_string()),
        }
    }
}

/// An error of the router about sites that contradict each other, at the place of the site or route.
pub fn of_router(error: RouterError, places: &[SitePlaces]) -> Problem {
    let site = error.site();
    match places.get(site) {
        Some(places) => places.problem(&error.renumbered(site, |route| route)),
        None => Problem::of_key(Place::default(), error.to_string()),
    }
}
