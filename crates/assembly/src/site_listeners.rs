//! The handlers of sites that were read: of all together, of which some have addresses of their own, and of one that is found by its
//! hosts.

use std::sync::Arc;

use serow_config::site_addresses::{SiteAddresses, SiteRouter};
use serow_gateway::TrustedProxies;
use serow_router::{HostsElsewhere, Router, RouterError, Site};
use serow_site::{RouteHandler, RoutePolicy, Scripts, SitePolicies, SiteScripts, Sites, SitesByAddress};

/// The parts of a site that was read.
pub(crate) struct SiteParts {
    pub(crate) site: Site<RouteHandler>,
    pub(crate) policy: Arc<RoutePolicy>,
    pub(crate) scripts: Scripts,
    /// Whether routes make error pages of it.
    pub(crate) has_pages: bool,
}

/// The handler of these sites, beside others with these hosts. An error is about the sites by their numbers here.
pub(crate) fn site_by_address(
    addresses: &SiteAddresses,
    parts: Vec<SiteParts>,
    elsewhere: &HostsElsewhere,
    trusted: &TrustedProxies,
) -> Result<Sites, RouterError> {
    let (mut sites, mut policies, mut scripts, mut have_pages) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        sites.push(part.site);
        policies.push(part.policy);
        scripts.push(part.scripts);
        have_pages.push(part.has_pages);
    }
    let policies = SitePolicies::new(policies);
    let of_router = |SiteRouter { router, sites }: SiteRouter<RouteHandler>| {
        let router = router.with_hosts_elsewhere(elsewhere.clone()).with_trusted(trusted.clone());
        match sites {
            None => routed(router, policies.clone(), scripts.clone(), &have_pages),
            Some(numbers) => {
                let have_pages: Vec<_> =
                    numbers.iter().map(|number| have_pages.get(*number).is_some_and(|has_pages| *has_pages)).collect();
                let scripts = numbers.iter().filter_map(|number| scripts.get(*number).cloned()).collect();
                routed(router, policies.of_some(&numbers), scripts, &have_pages)
            }
        }
    };
    let routers = addresses.routers(sites)?;
    if routers.by_address.is_empty() {
        return Ok(of_router(routers.others));
    }
    let own = routers.by_address.into_iter().map(|(address, router)| (address, of_router(router))).collect();
    Ok(Sites::ByAddress(SitesByAddress::new(own, of_router(routers.others))))
}

/// The handler of a site whose requests are found by their hosts. An error is about the site with the number 0.
pub(crate) fn site_of_found_host(parts: SiteParts, trusted: &TrustedProxies) -> Result<Sites, RouterError> {
    let SiteParts { site, policy, scripts, has_pages } = parts;
    let router = Router::of_found_host(site)?.with_trusted(trusted.clone());
    Ok(routed(router, SitePolicies::new(vec![policy]), vec![scripts], &[has_pages]))
}

fn routed(router: Router<RouteHandler>, policies: SitePolicies, scripts: Vec<Scripts>, have_pages: &[bool]) -> Sites {
    let policies = policies.with_error_routes(&router, have_pages);
    let scripts = SiteScripts::new(scripts, &router, &policies);
    Sites::Routed { router, policies, scripts }
}
