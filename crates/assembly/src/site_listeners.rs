//! The handler of sites, some of which have addresses of their own.

use std::net::SocketAddr;

use serow_config::site_addresses::SiteAddresses;
use serow_gateway::TrustedProxies;
use serow_router::{Router, RouterError, Site as RouterSite};
use serow_site::{RouteHandler, Scripts, Site, SitePolicies, SiteScripts, SitesByAddress};

/// The handler of these sites, which have these policies. An error is about the sites by their numbers here.
pub(crate) fn site_by_address(
    addresses: &SiteAddresses,
    sites: Vec<RouterSite<RouteHandler>>,
    policies: &SitePolicies,
    scripts: &[Scripts],
    trusted: &TrustedProxies,
) -> Result<Site, RouterError> {
    if addresses.own.is_empty() {
        let router = Router::new(sites)?.with_trusted(trusted.clone());
        let (policies, scripts) = (policies.clone(), SiteScripts::new(scripts.to_vec(), &router, policies));
        return Ok(Site::Routed { router, policies, scripts });
    }
    let routed = |is_member: &dyn Fn(&[SocketAddr]) -> bool| {
        let members = addresses.of_sites.iter().enumerate().filter(|(_, own)| is_member(own));
        let numbers: Vec<usize> = members.map(|(number, _)| number).collect();
        let members = numbers.iter().filter_map(|number| sites.get(*number).cloned()).collect();
        let router = Router::new(members).map_err(|error| error.of_some(&numbers))?;
        let router = router.with_trusted(trusted.clone());
        let policies = policies.of_some(&numbers);
        let scripts = numbers.iter().filter_map(|number| scripts.get(*number).cloned()).collect();
        let scripts = SiteScripts::new(scripts, &router, &policies);
        Ok(Site::Routed { router, policies, scripts })
    };
    let of_address = |address: &SocketAddr| {
        let is_of_root = addresses.of_root.contains(address);
        let is_member = |own: &[SocketAddr]| own.contains(address) || own.is_empty() && is_of_root;
        Ok((*address, routed(&is_member)?))
    };
    let own = addresses.own.iter().map(of_address).collect::<Result<_, _>>()?;
    Ok(Site::ByAddress(SitesByAddress::new(own, routed(&<[_]>::is_empty)?)))
}
