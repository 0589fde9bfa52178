//! The scripts of sites: each gets the requests for its site before a route is selected.

use std::sync::Arc;

use serow::Request;
use serow_router::Router;

use crate::{RouteHandler, Scripts, SitePolicies, chosen_route, per_thread::PerThread, site_response::SiteResponse};

/// The scripts of sites, by the numbers of the sites.
#[derive(Clone, Default)]
pub struct SiteScripts {
    /// None where no site has any.
    shared: Option<Arc<Shared>>,
}

/// The scripts of the site that a request is for.
pub(crate) struct ScriptsOfSite<'a> {
    scripts: &'a Scripts,
    waiting: &'a PerThread<(Router<RouteHandler>, SitePolicies)>,
}

struct Shared {
    by_site: Vec<Scripts>,
    /// The router and policies for requests whose scripts have waited.
    waiting: PerThread<(Router<RouteHandler>, SitePolicies)>,
}

impl SiteScripts {
    /// Those of all sites of a router, in their order.
    #[must_use]
    pub fn new(by_site: Vec<Scripts>, router: &Router<RouteHandler>, policies: &SitePolicies) -> Self {
        let has_any = by_site.iter().any(|scripts| !scripts.is_empty());
        let shared = || {
            let waiting = PerThread::new((router.clone(), policies.clone()));
            Arc::new(Shared { by_site, waiting })
        };
        Self { shared: has_any.then(shared) }
    }

    /// The scripts of the site that a request is for.
    #[inline]
    pub(crate) fn of(&self, router: &Router<RouteHandler>, request: &Request) -> Option<ScriptsOfSite<'_>> {
        let Shared { by_site, waiting } = &**self.shared.as_ref()?;
        let scripts = by_site.get(router.site_of(request)?).filter(|scripts| !scripts.is_empty())?;
        Some(ScriptsOfSite { scripts, waiting })
    }
}

impl ScriptsOfSite<'_> {
    /// Passes a request through the scripts of its site to the routes.
    #[inline(never)]
    pub(crate) fn respond(
        self,
        router: &Router<RouteHandler>,
        policies: &SitePolicies,
        request: Request,
    ) -> SiteResponse {
        let later = || {
            let waiting = self.waiting.of_thread();
            move |request| chosen_route::routed(&waiting.0, &waiting.1, request)
        };
        self.scripts.respond(request, |request| chosen_route::routed(router, policies, request), later)
    }
}
