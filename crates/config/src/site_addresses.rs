//! Addresses of single sites.

use std::net::SocketAddr;

use serow_document::{Problem, Problems};
use serow_message::Address;
use serow_router::{Router, RouterError, Site};

use crate::{listeners::overlap, options::ListeningOptions, tables::sites::SiteTable, values::ListenRule};

/// Which sites are reached at which addresses.
#[derive(Debug, Default)]
pub struct SiteAddresses {
    /// For each site, its addresses; none for a site that is reached at those of the root.
    pub of_sites: Vec<Vec<SocketAddr>>,
    /// All of them, each once.
    pub own: Vec<SocketAddr>,
    /// Those that are also at the root.
    pub of_root: Vec<SocketAddr>,
}

impl SiteAddresses {
    /// Adds the addresses of sites to those of the root, and notes what is wrong with them.
    pub fn new(listening: &mut ListeningOptions, sites: &[SiteTable], problems: &Problems) -> Self {
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

    /// The routers of these sites. An error is about the sites by their numbers here.
    ///
    /// # Errors
    ///
    /// Sites or routes that contradict each other.
    pub fn routers<H: Clone>(&self, sites: Vec<Site<H>>) -> Result<Routers<H>, RouterError> {
        if self.own.is_empty() {
            return Ok(Routers {
                by_address: Vec::new(),
                others: SiteRouter { router: Router::new(sites)?, sites: None },
            });
        }
        let routed = |is_member: &dyn Fn(&[SocketAddr]) -> bool| {
            let members = self.of_sites.iter().enumerate().filter(|(_, own)| is_member(own));
            let numbers: Vec<usize> = members.map(|(number, _)| number).collect();
            let members = numbers.iter().filter_map(|number| sites.get(*number).cloned()).collect();
            let router = Router::new(members).map_err(|error: RouterError| error.of_some(&numbers))?;
            Ok(SiteRouter { router, sites: Some(numbers) })
        };
        let of_address = |address: &SocketAddr| {
            let is_of_root = self.of_root.contains(address);
            let is_member = |own: &[SocketAddr]| own.contains(address) || own.is_empty() && is_of_root;
            Ok((*address, routed(&is_member)?))
        };
        let by_address = self.own.iter().map(of_address).collect::<Result<_, RouterError>>()?;
        Ok(Routers { by_address, others: routed(&<[_]>::is_empty)? })
    }
}

/// The routers of all addresses.
#[derive(Debug)]
pub struct Routers<H> {
    /// Those of addresses of single sites.
    pub by_address: Vec<(SocketAddr, SiteRouter<H>)>,
    /// That of all other addresses.
    pub others: SiteRouter<H>,
}

/// A router of some sites.
#[derive(Debug)]
pub struct SiteRouter<H> {
    /// The router.
    pub router: Router<H>,
    /// The numbers of its sites; `None` for all.
    pub sites: Option<Vec<usize>>,
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
