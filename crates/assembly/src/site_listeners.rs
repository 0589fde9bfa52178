//! Addresses of single sites.

use std::net::SocketAddr;

use serow::Address;
use serow_config::{options::ListeningOptions, tables::sites::SiteTable, values::ListenRule};
use serow_document::{Problem, Problems};
use serow_gateway::TrustedProxies;
use serow_router::{Router, RouterError, Site};
use serow_site::{RouteHandler, Scripts, SitePolicies, SiteScripts, Sites, SitesByAddress};

use crate::overlap;

/// Which sites are reached at which addresses.
#[derive(Debug, Default)]
pub(crate) struct SiteListeners {
    /// For each site, its addresses; none for a site that is reached at those of the root.
    of_sites: Vec<Vec<SocketAddr>>,
    /// All of them, each once.
    own: Vec<SocketAddr>,
    /// Those that are also at the root.
    of_root: Vec<SocketAddr>,
}

impl SiteListeners {
    /// Adds the addresses of sites to those of the root, and notes what is wrong with them.
    pub(crate) fn new(listening: &mut ListeningOptions, sites: &[SiteTable], problems: &Problems) -> Self {
        let mut listeners = Self::default();
        if sites.iter().all(|site| site.settings.listen.is_none()) {
            return listeners;
        }
        let root = listening.listen.clone();
        let needs_root = sites.iter().find(|site| site.settings.listen.is_none()).filter(|_| root.is_empty());
        if needs_root.is_some() {
            let text = "some sites have `listen`, and this one has not: write `listen` here, or at the root for all such \
                        sites";
            needs_root.iter().for_each(|site| problems.add(Problem::of_key(site.place.clone(), text)));
            return listeners;
        }
        if listening.proxy_protocol {
            let text =
                "`listen` of a site needs the address that a client connected to, which `proxy-protocol` replaces";
            let first = sites.iter().find(|site| site.settings.listen.is_some());
            first.iter().for_each(|site| problems.add(Problem::of_key(site.place.key("listen"), text)));
            return listeners;
        }
        for site in sites {
            let (place, rules) = (site.place.key("listen"), site.settings.listen.as_deref());
            if rules.is_some_and(<[_]>::is_empty) {
                let text = "there is no address: write one, or leave the key out for those of the root";
                problems.add(Problem::of_value(place.clone(), text));
            }
            let addresses = rules.unwrap_or_default().iter().enumerate().filter_map(|(number, rule)| {
                let added = add(listening, rule);
                added.map_err(|text| problems.add(Problem::of_value(place.element(number), text))).ok()
            });
            listeners.of_sites.push(addresses.collect());
        }
        let mut own: Vec<_> = listeners.of_sites.iter().flatten().copied().collect();
        own.sort_unstable();
        own.dedup();
        let is_of_root = |own: &&SocketAddr| root.iter().any(|rule| rule.address == Address::Tcp(**own));
        listeners.of_root = own.iter().filter(is_of_root).copied().collect();
        listeners.own = own;
        listeners
    }

    /// The handler of these sites, which have these policies. An error is about the sites by their numbers here.
    pub(crate) fn site(
        &self,
        sites: Vec<Site<RouteHandler>>,
        policies: &SitePolicies,
        scripts: &[Scripts],
        trusted: &TrustedProxies,
    ) -> Result<Sites, RouterError> {
        if self.own.is_empty() {
            let router = Router::new(sites)?.with_trusted(trusted.clone());
            let (policies, scripts) = (policies.clone(), SiteScripts::new(scripts.to_vec(), &router, policies));
            return Ok(Sites::Routed { router, policies, scripts });
        }
        let routed = |is_member: &dyn Fn(&[SocketAddr]) -> bool| {
            let members = self.of_sites.iter().enumerate().filter(|(_, addresses)| is_member(addresses));
            let numbers: Vec<usize> = members.map(|(number, _)| number).collect();
            let members = numbers.iter().filter_map(|number| sites.get(*number).cloned()).collect();
            let router = Router::new(members).map_err(|error| error.of_some(&numbers))?;
            let router = router.with_trusted(trusted.clone());
            let policies = policies.of_some(&numbers);
            let scripts = numbers.iter().filter_map(|number| scripts.get(*number).cloned()).collect();
            let scripts = SiteScripts::new(scripts, &router, &policies);
            Ok(Sites::Routed { router, policies, scripts })
        };
        let of_address = |address: &SocketAddr| {
            let is_of_root = self.of_root.contains(address);
            let is_member =
                |addresses: &[SocketAddr]| addresses.contains(address) || addresses.is_empty() && is_of_root;
            Ok((*address, routed(&is_member)?))
        };
        let own = self.own.iter().map(of_address).collect::<Result<_, _>>()?;
        Ok(Sites::ByAddress(SitesByAddress::new(own, routed(&<[_]>::is_empty)?)))
    }
}

/// Adds an address of a site, unless it is there.
fn add(listening: &mut ListeningOptions, rule: &ListenRule) -> Result<SocketAddr, String> {
    let Address::Tcp(address) = rule.address else {
        return Err(format!("{} has no port: only the root can listen on it", rule.address));
    };
    if address.port() == 0 {
        return Err(
            "the port of a site's address must be a number from 1 on, which tells the site from others".to_owned()
        );
    }
    let known = listening.listen.iter().find(|known| overlap(&known.address, &rule.address));
    match known {
        None => listening.listen.push(rule.clone()),
        Some(known) if known.address != rule.address => {
            let (address, other) = (&rule.address, &known.address);
            return Err(format!("{address} and {other} share a port: write the same address in both places"));
        }
        Some(known) if rule.tls.is_some() && rule.tls != known.tls => {
            let tls = known.tls.map_or("no `tls`".to_owned(), |tls| format!("tls = {tls}"));
            return Err(format!(
                "{} is a listener already, with {tls}: write the same here, or the address only",
                rule.address
            ));
        }
        Some(_) => {}
    }
    Ok(address)
}
