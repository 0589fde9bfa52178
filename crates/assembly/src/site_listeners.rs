//! The handler of sites, some of which have addresses of their own.

use serow_config::site_addresses::{SiteAddresses, SiteRouter};
use serow_gateway::TrustedProxies;
use serow_router::{RouterError, Site};
use serow_site::{RouteHandler, Scripts, SitePolicies, SiteScripts, Sites, SitesByAddress};

/// The handler of these sites, which have these policies, some with error pages that routes make. An error is about the sites by their numbers here.
pub(crate) fn site_by_address(
    addresses: &SiteAddresses,
    sites: Vec<Site<RouteHandler>>,
    (policies, have_pages): (&SitePolicies, &[bool]),
    scripts: &[Scripts],
    trusted: &TrustedProxies,
) -> Result<Sites, RouterError> {
    let routed = |SiteRouter { router, sites }: SiteRouter<RouteHandler>| {
        let router = router.with_trusted(trusted.clone());
        let some_pages = |numbers: &Vec<usize>| {
            numbers.iter().map(|number| have_pages.get(*number).is_some_and(|has_pages| *has_pages)).collect()
        };
        let have_pages = sites.as_ref().map_or_else(|| have_pages.to_vec(), some_pages);
        let policies = sites.as_ref().map_or_else(|| policies.clone(), |numbers| policies.of_some(numbers));
        let policies = policies.with_error_routes(&router, &have_pages);
        let scripts = match sites {
            Some(numbers) => numbers.iter().filter_map(|number| scripts.get(*number).cloned()).collect(),
            None => scripts.to_vec(),
        };
        let scripts = SiteScripts::new(scripts, &router, &policies);
        Sites::Routed { router, policies, scripts }
    };
    let routers = addresses.routers(sites)?;
    if routers.by_address.is_empty() {
        return Ok(routed(routers.others));
    }
    let own = routers.by_address.into_iter().map(|(address, router)| (address, routed(router))).collect();
    Ok(Sites::ByAddress(SitesByAddress::new(own, routed(routers.others))))
}
