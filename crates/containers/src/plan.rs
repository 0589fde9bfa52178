//! The routes of all containers, by host, and which of them are refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use crate::{
    container::{Container, Health},
    labels::{self, RefusedLabel, Scheme, WantedPath, WantedRoute, shown},
    settings::ContainerSettings,
    taken::Taken,
};

/// The routes of all containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) hosts: BTreeMap<String, PlannedHost>,
    pub(crate) refused: BTreeSet<Refusal>,
    /// The servers that get requests, or would if they accepted connections, and the runs of their containers.
    pub(crate) servers: BTreeSet<(SocketAddr, String)>,
}

/// A host, and its routes by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlannedHost {
    pub(crate) routes: BTreeMap<WantedPath, PlannedRoute>,
    pub(crate) has_certificate: bool,
}

/// A route to the containers that serve it; without any, it answers 503.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlannedRoute {
    pub(crate) servers: BTreeMap<SocketAddr, (Scheme, u16)>,
    pub(crate) strips_prefix: bool,
    pub(crate) keys: BTreeMap<String, String>,
}

/// A label of a container that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refusal {
    pub(crate) container: String,
    pub(crate) label: RefusedLabel,
}

/// A container with the routes that its labels ask for.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) container: Container,
    routes: Vec<WantedRoute>,
    refused: Vec<RefusedLabel>,
}

/// The settings, and other sites, beside the containers.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) settings: &'a ContainerSettings,
    /// The hosts of all sites.
    pub(crate) taken: &'a Taken,
    /// Those that containers have.
    pub(crate) own: &'a BTreeSet<&'a str>,
    /// Those of them that have certificates.
    pub(crate) certified: &'a BTreeSet<&'a str>,
    /// Whether a server of this run of a container accepts connections.
    pub(crate) accepts: &'a dyn Fn(SocketAddr, &str) -> bool,
}

/// The routes of these containers; `is_held` says which of them are left out for a while.
pub(crate) fn of<'c>(
    candidates: impl IntoIterator<Item = &'c Candidate>,
    is_held: impl Fn(&Container) -> bool,
    surroundings: Surroundings<'_>,
) -> Plan {
    let mut planning = Planning { plan: Plan::default(), routes: 0, wanting: BTreeSet::new(), surroundings };
    let mut candidates: Vec<_> = candidates.into_iter().collect();
    // Of two that contradict one another, the same one counts each time.
    candidates.sort_by_key(|candidate| (&candidate.container.name, &candidate.container.id));
    for candidate in candidates {
        planning.add(candidate, is_held(&candidate.container));
    }
    planning.certify();
    planning.plan
}

impl Candidate {
    /// A container by these rules.
    pub(crate) fn new(container: Container, settings: &ContainerSettings) -> Self {
        let mut refused = Vec::new();
        let routes = labels::routes(&container, settings, &mut refused);
        Self { container, routes, refused }
    }
}

struct Planning<'a> {
    plan: Plan,
    /// How many routes there are.
    routes: usize,
    /// The hosts that want certificates, and the containers that say so.
    wanting: BTreeSet<(String, String)>,
    surroundings: Surroundings<'a>,
}

impl Planning<'_> {
    fn add(&mut self, candidate: &Candidate, is_held: bool) {
        let Candidate { container, routes, refused } = candidate;
        let refusal = |label| Refusal { container: container.name.clone(), label };
        self.plan.refused.extend(refused.iter().cloned().map(refusal));
        for route in routes {
            if let Err(reason) = self.add_route(container, route, is_held) {
                self.plan.refused.insert(refusal(RefusedLabel::new(format!("host {}", route.host), reason)));
            }
        }
    }

    /// Adds a route, or says why it is refused.
    fn add_route(&mut self, container: &Container, route: &WantedRoute, is_held: bool) -> Result<(), String> {
        if let Some(reason) = self.obstacle(&route.host) {
            return Err(reason);
        }
        if route.wants_certificate {
            self.wanting.insert((route.host.clone(), container.name.clone()));
        }
        let is_ready = match container.health {
            Health::Unchecked | Health::Healthy => true,
            Health::Starting => route.takes_starting,
            Health::Unhealthy => false,
        };
        if !container.is_running || !is_ready || is_held {
            return Ok(());
        }
        let network = route.network.as_deref().or(self.surroundings.settings.network.as_deref());
        let address = route.port.map_or_else(|| container.only_port(), Ok);
        let address = address.and_then(|port| container.address(port, network))?;
        let run = container.run();
        let accepts = (self.surroundings.accepts)(address, &run);
        self.plan.servers.insert((address, run));
        if !accepts {
            return Ok(());
        }
        let is_new = self.plan.hosts.get(&route.host).is_none_or(|host| !host.routes.contains_key(&route.path));
        if is_new && self.routes >= MAX_ROUTES {
            return Err(format!("there are {MAX_ROUTES} routes of containers"));
        }
        self.routes += usize::from(is_new);
        let planned = self.plan.hosts.entry(route.host.clone()).or_default();
        let planned = planned.routes.entry(route.path.clone()).or_insert_with(|| PlannedRoute {
            servers: BTreeMap::new(),
            strips_prefix: route.strips_prefix,
            keys: route.keys.clone(),
        });
        if planned.strips_prefix != route.strips_prefix || planned.keys != route.keys {
            return Err("another container has the same route with other labels".to_owned());
        }
        planned.servers.entry(address).or_insert((route.scheme, route.weight));
        Ok(())
    }

    /// Why containers cannot have this host.
    fn obstacle(&self, host: &str) -> Option<String> {
        let Surroundings { settings, taken, own, .. } = self.surroundings;
        let is_allowed = settings.hosts.iter().any(|pattern| pattern.covers(host));
        if !is_allowed && !settings.hosts.is_empty() {
            return Some("`hosts` of [docker] does not allow it".to_owned());
        }
        if taken.has(host) && !own.contains(host) {
            return Some("a site of the settings has this host".to_owned());
        }
        // A host below one of a site would take requests from it, unless the settings say that it may.
        let above = taken.above(host, own).filter(|_| !is_allowed)?;
        let above = shown(above);
        Some(format!("the site {above} of the settings has it: to allow that, name the host in `hosts` of [docker]"))
    }

    /// Grants certificates to as many hosts as may have some; those that have one already come first.
    fn certify(&mut self) {
        let Surroundings { settings, certified, .. } = self.surroundings;
        let mut granted: BTreeSet<String> = BTreeSet::new();
        let mut wanting: Vec<_> = std::mem::take(&mut self.wanting).into_iter().collect();
        wanting.sort_by_key(|(host, _)| !certified.contains(host.as_str()));
        for (host, container) in wanting {
            let reason = if settings.certificates == 0 {
                "`certificates` of [docker] does not allow certificates"
            } else if host.starts_with('*') {
                "a certificate for all hosts below one is not ordered for containers"
            } else if granted.len() < settings.certificates || granted.contains(&host) {
                granted.insert(host);
                continue;
            } else {
                "as many hosts as `certificates` of [docker] allows have one"
            };
            let label = RefusedLabel::new(format!("certificate for {host}"), reason);
            self.plan.refused.insert(Refusal { container, label });
        }
        for (name, host) in &mut self.plan.hosts {
            host.has_certificate = granted.contains(name);
        }
    }
}

/// Routes of all containers: the settings are read again at each change.
const MAX_ROUTES: usize = 5000;

#[cfg(test)]
pub(crate) mod testing {
    use std::time::Duration;

    use super::*;
    use crate::settings::{AllowedKeys, LabelKinds};

    /// Settings that allow the key `max-body`.
    pub(crate) fn settings() -> ContainerSettings {
        ContainerSettings {
            network: None,
            exposed_by_default: false,
            labels: LabelKinds { serow: true, traefik: true },
            allowed: AllowedKeys { route: ["max-body".to_owned()].into(), upstream: ["balance".to_owned()].into() },
            hosts: Vec::new(),
            certificates: 0,
            keep: Duration::from_secs(60),
        }
    }

    /// A running container with this name, whose last letter is a part of its address, and the port 8080.
    pub(crate) fn container(name: &str, labels: &[(&str, &str)]) -> Container {
        let last = name.bytes().last().unwrap();
        Container {
            id: format!("{last:0>64x}"),
            name: name.to_owned(),
            labels: labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect(),
            is_running: true,
            started: 1,
            health: Health::Unchecked,
            addresses: [("web".to_owned(), [10, 0, 0, last].into())].into(),
            exposed: [8080].into(),
            published: BTreeMap::new(),
            is_on_host: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        testing::{container, settings},
        *,
    };
    use crate::settings::HostPattern;

    fn plan(containers: &[Container], settings: &ContainerSettings, taken: &[&str], certified: &[&str]) -> Plan {
        let taken = Taken::new(taken.iter().map(|host| (*host).to_owned()).collect());
        let certified = certified.iter().copied().collect();
        let candidates: Vec<_> =
            containers.iter().map(|container| Candidate::new(container.clone(), settings)).collect();
        let own = BTreeSet::new();
        let surroundings =
            Surroundings { settings, taken: &taken, own: &own, certified: &certified, accepts: &|_, _| true };
        of(&candidates, |_| false, surroundings)
    }

    /// The hosts with the last numbers of their servers' addresses.
    fn servers(plan: &Plan) -> Vec<(&str, Vec<u8>)> {
        let last = |address: &SocketAddr| match address {
            SocketAddr::V4(address) => address.ip().octets()[3],
            SocketAddr::V6(_) => 0,
        };
        let of_host =
            |host: &PlannedHost| host.routes.values().flat_map(|route| route.servers.keys().map(last)).collect();
        plan.hosts.iter().map(|(name, host)| (name.as_str(), of_host(host))).collect()
    }

    fn reasons(plan: &Plan) -> Vec<String> {
        plan.refused.iter().map(|refusal| format!("{} {}", refusal.container, refusal.label)).collect()
    }

    #[test]
    fn replicas_are_servers_of_one_route() {
        let shop = |name| container(name, &[("serow.host", "shop.example")]);
        let traefik = [("traefik.enable", "true"), ("traefik.http.routers.a.rule", "Host(`shop.example`)")];
        let containers = [shop("b"), shop("a"), container("c", &traefik), container("d", &[("serow.host", "other")])];
        let plan = plan(&containers, &settings(), &[], &[]);
        assert_eq!(servers(&plan), [("other", vec![b'd']), ("shop.example", vec![b'a', b'b', b'c'])]);
        assert_eq!(reasons(&plan), [""; 0]);
    }

    #[test]
    fn only_containers_that_run_and_are_not_unhealthy_serve() {
        let with = |is_running, health, starting| {
            let labels = [("serow.host", "shop.example"), ("serow.starting", starting)];
            let container = Container { is_running, health, ..container("a", &labels) };
            plan(&[container], &settings(), &[], &[]).hosts.len()
        };
        for (is_running, health, starting, expected) in [
            (true, Health::Unchecked, "false", 1),
            (true, Health::Healthy, "false", 1),
            (true, Health::Starting, "false", 0),
            (true, Health::Starting, "true", 1),
            (true, Health::Unhealthy, "true", 0),
            (false, Health::Healthy, "true", 0),
        ] {
            assert_eq!(with(is_running, health, starting), expected, "{is_running} {health:?} {starting}");
        }
    }

    #[test]
    fn hosts_of_sites_are_refused() {
        let with = |host, hosts: &[&str], taken: &[&str]| {
            let hosts = hosts.iter().map(|host| HostPattern::new(host).unwrap()).collect();
            let settings = ContainerSettings { hosts, ..settings() };
            reasons(&plan(&[container("a", &[("serow.host", host)])], &settings, taken, &[]))
        };
        for (host, hosts, taken, reason) in [
            ("a.example", &[][..], &["b.example"][..], ""),
            ("a.example", &[], &["a.example"], "a site of the settings has this host"),
            ("a.example", &["a.example"], &["a.example"], "a site of the settings has this host"),
            ("a.example", &[], &["*.example"], "the site \"*.example\" of the settings has it"),
            ("*.a.example", &[], &["*.example"], "the site \"*.example\" of the settings has it"),
            ("a.example", &["a.example"], &["*.example"], ""),
            ("a.example", &["b.example", "*.a.example"], &[], "`hosts` of [docker] does not allow it"),
            ("a.example", &["*.example"], &[], ""),
            ("*.example", &["*.a.example"], &[], "`hosts` of [docker] does not allow it"),
        ] {
            let found = with(host, hosts, taken);
            let is_expected =
                if reason.is_empty() { found.is_empty() } else { found.len() == 1 && found[0].contains(reason) };
            assert!(is_expected, "{host} {hosts:?} {taken:?}: {found:?}");
        }
    }

    #[test]
    fn contradicting_containers_and_those_without_an_address_are_refused() {
        let labels = [("serow.host", "a.example")];
        let other = container("b", &[("serow.host", "a.example"), ("serow.max-body", "1M")]);
        let nowhere = Container { addresses: BTreeMap::new(), ..container("c", &labels) };
        let plan = plan(&[nowhere, other, container("a", &labels)], &settings(), &[], &[]);
        assert_eq!(servers(&plan), [("a.example", vec![b'a'])]);
        let expected = [
            "b host a.example: another container has the same route with other labels",
            "c host a.example: it has no address, and does not publish port 8080",
        ];
        assert_eq!(reasons(&plan), expected);
    }

    #[test]
    fn certificates_are_ordered_for_a_limited_number_of_hosts() {
        let hosts = ["a.example", "b.example", "c.example", "*.d.example"];
        let containers: Vec<_> = hosts
            .iter()
            .zip(["1", "2", "3", "4"])
            .map(|(host, name)| container(name, &[("serow.host", host), ("serow.tls", "acme")]))
            .collect();
        let with = |certificates, certified: &[&str]| {
            let plan = plan(&containers, &ContainerSettings { certificates, ..settings() }, &[], certified);
            let granted = plan.hosts.iter().filter(|(_, host)| host.has_certificate).map(|(name, _)| name.clone());
            (granted.collect::<Vec<_>>().join(" "), plan.refused.len())
        };
        assert_eq!(with(0, &[]), (String::new(), 4));
        assert_eq!(with(2, &[]), ("a.example b.example".to_owned(), 2));
        // One that has a certificate keeps it.
        assert_eq!(with(2, &["c.example"]), ("a.example c.example".to_owned(), 2));
        assert_eq!(with(9, &[]), ("a.example b.example c.example".to_owned(), 1));
    }
}
