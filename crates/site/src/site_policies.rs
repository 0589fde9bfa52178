//! The policies of sites, for responses that no route makes.

use std::sync::Arc;

use serow::{Method, Request};
use serow_router::Router;

use crate::{RouteHandler, RoutePolicy, error_routes::ErrorRoutes, phases::Phases};

/// The policies of sites, for the refusals of the router: a missing path, a method that no route takes. The answers of
/// routes pass the phases of these.
#[derive(Clone, Default)]
pub struct SitePolicies {
    /// By the number of the site; none where no site has one.
    by_site: Option<Arc<[Arc<Phases>]>>,
    /// None where no route makes an error page.
    error_routes: Option<ErrorRoutes>,
}

impl SitePolicies {
    /// Those of all sites, in their order.
    #[must_use]
    pub fn new(policies: Vec<Arc<RoutePolicy>>) -> Self {
        let phases = policies.into_iter().map(|policy| Arc::new(Phases::of_site(policy)));
        Self::of_phases(phases.collect())
    }

    /// Those of some sites, in this order.
    #[must_use]
    pub fn of_some(&self, numbers: &[usize]) -> Self {
        let all = self.by_site.as_deref().unwrap_or_default();
        Self::of_phases(numbers.iter().filter_map(|number| all.get(*number).cloned()).collect())
    }

    fn of_phases(phases: Vec<Arc<Phases>>) -> Self {
        let has_any = phases.iter().any(|phases| !phases.policy.is_empty());
        Self { by_site: has_any.then(|| phases.into()), error_routes: None }
    }

    /// The same for the sites of this router, of which these have error pages that routes make.
    #[must_use]
    pub fn with_error_routes(self, router: &Router<RouteHandler>, sites: &[bool]) -> Self {
        let error_routes = sites.contains(&true).then(|| ErrorRoutes::new(router, sites));
        Self { error_routes, ..self }
    }

    /// The routes that may make the error pages of a request.
    #[inline]
    pub(crate) fn error_routes(&self, router: &Router<RouteHandler>, request: &Request) -> Option<&ErrorRoutes> {
        let routes = self.error_routes.as_ref()?;
        // A tunnel has no pages.
        (request.method != Method::CONNECT && routes.has_site(router.site_of(request)?)).then_some(routes)
    }

    /// Those of the site that a request is for.
    pub(crate) fn of(&self, router: &Router<RouteHandler>, request: &Request) -> Option<Arc<Phases>> {
        self.by_site.as_ref()?.get(router.site_of(request)?).cloned()
    }
}
