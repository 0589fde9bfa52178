//! The common labels of Traefik: routers with a rule, services with a port, and prefixes to remove. Labels of these kinds that
//! mean something else are refused; those of other kinds, such as for TCP, are not looked at.

use std::collections::BTreeMap;

use super::{RefusedLabel, Scheme, WantedPath, WantedRoute, port, rule, shown, switch};
use crate::{container::Container, settings::ContainerSettings};

/// The labels of a router, a service or a middleware, by their keys: the whole label, and its value.
type Part<'a> = BTreeMap<String, (&'a str, &'a str)>;

/// The labels of a container, sorted.
#[derive(Default)]
struct Parts<'a> {
    enable: Option<(&'a str, &'a str)>,
    network: Option<&'a str>,
    routers: BTreeMap<String, Part<'a>>,
    services: BTreeMap<String, Part<'a>>,
    middlewares: BTreeMap<String, Part<'a>>,
}

/// The routes that labels with this prefix ask for.
pub(super) fn routes(
    container: &Container,
    settings: &ContainerSettings,
    refused: &mut Vec<RefusedLabel>,
) -> Vec<WantedRoute> {
    let parts = Parts::of(&container.labels);
    let is_enabled = match parts.enable.map(|(label, value)| (label, switch(value))) {
        None => settings.exposed_by_default,
        Some((_, Ok(is_enabled))) => is_enabled,
        Some((label, Err(reason))) => {
            refused.push(RefusedLabel::new(label, reason));
            false
        }
    };
    if !is_enabled {
        return Vec::new();
    }
    let mut routes = Vec::new();
    for (name, router) in &parts.routers {
        match parts.routes(name, router) {
            Ok(found) => routes.extend(found),
            Err(label) => refused.push(label),
        }
    }
    routes
}

impl<'a> Parts<'a> {
    fn of(labels: &'a BTreeMap<String, String>) -> Self {
        let mut parts = Self::default();
        for (label, value) in labels {
            // Case does not matter behind the prefix.
            let Some(key) = label.strip_prefix(PREFIX).map(str::to_ascii_lowercase) else { continue };
            let label = (label.as_str(), value.as_str());
            match key.split('.').collect::<Vec<_>>()[..] {
                ["enable"] => parts.enable = Some(label),
                ["docker", "network"] => parts.network = Some(label.1),
                ["http", "routers", name, ref key @ ..] if !key.is_empty() => {
                    parts.routers.entry(name.to_owned()).or_default().insert(key.join("."), label);
                }
                ["http", "services", name, ref key @ ..] if !key.is_empty() => {
                    parts.services.entry(name.to_owned()).or_default().insert(key.join("."), label);
                }
                ["http", "middlewares", name, ref key @ ..] if !key.is_empty() => {
                    parts.middlewares.entry(name.to_owned()).or_default().insert(key.join("."), label);
                }
                _ => {}
            }
        }
        parts
    }

    fn routes(&self, name: &str, router: &Part<'a>) -> Result<Vec<WantedRoute>, RefusedLabel> {
        let mut route = WantedRoute::new(String::new(), WantedPath::Below(String::new()));
        route.network = self.network.map(str::to_owned);
        let mut alternatives = None;
        for (key, (label, value)) in router {
            let outcome = match &**key {
                "rule" => rule::parse(value).map(|found| alternatives = Some(found)),
                "tls.certresolver" => {
                    route.wants_certificate = true;
                    Ok(())
                }
                "tls" => switch(value).map(|_| ()),
                // All listeners have all routes, and the longer path counts first, as Traefik has it without a priority.
                "entrypoints" | "service" | "middlewares" | "rulesyntax" => Ok(()),
                _ => Err("this key of a router is not supported".to_owned()),
            };
            outcome.map_err(|reason| RefusedLabel::new(*label, reason))?;
        }
        let first = router.values().next().map_or(PREFIX, |(label, _)| *label);
        let alternatives = alternatives.ok_or_else(|| {
            RefusedLabel::new(first, format!("there is no traefik.http.routers.{name}.rule beside it"))
        })?;
        self.add_service(router, &mut route)?;
        let stripped = self.stripped(router)?;
        let routes = alternatives.into_iter().map(|(host, path)| {
            let strips_prefix = match &stripped {
                None => false,
                Some((_, prefix)) if path == WantedPath::Below(prefix.clone()) => true,
                Some((label, _)) => {
                    return Err(RefusedLabel::new(
                        *label,
                        "a prefix is only removed where PathPrefix names the same one",
                    ));
                }
            };
            Ok(WantedRoute { host, path, strips_prefix, ..route.clone() })
        });
        routes.collect()
    }

    /// Adds what the service of a router says: the one that it names, or the only one.
    fn add_service(&self, router: &Part<'a>, route: &mut WantedRoute) -> Result<(), RefusedLabel> {
        let service = match router.get("service") {
            Some((label, name)) => {
                let service = self.services.get(&name.to_ascii_lowercase());
                let text = || format!("there is no label of a service {}", shown(name));
                service.ok_or_else(|| RefusedLabel::new(*label, text()))?
            }
            None => match self.services.values().next() {
                Some(service) if self.services.len() == 1 => service,
                None => return Ok(()),
                Some(_) => {
                    let label = router.values().next().map_or(PREFIX, |(label, _)| *label);
                    return Err(RefusedLabel::new(label, "there are several services: name one with `service`"));
                }
            },
        };
        for (key, (label, value)) in service {
            let outcome = match &**key {
                "loadbalancer.server.port" => port(value).map(|port| route.port = Some(port)),
                "loadbalancer.server.scheme" => Scheme::of(value).map(|scheme| route.scheme = scheme),
                // Serow's own defaults.
                "loadbalancer.passhostheader" if switch(value) == Ok(true) => Ok(()),
                _ => Err("this key of a service is not supported".to_owned()),
            };
            outcome.map_err(|reason| RefusedLabel::new(*label, reason))?;
        }
        Ok(())
    }

    /// The prefix that the middlewares of a router remove, and its label.
    fn stripped(&self, router: &Part<'a>) -> Result<Option<(&'a str, String)>, RefusedLabel> {
        let Some((label, names)) = router.get("middlewares") else { return Ok(None) };
        let mut stripped = None;
        for name in names.split(',').map(str::trim) {
            let text = || format!("there is no label of a middleware {}", shown(name));
            let middleware = self.middlewares.get(&name.to_ascii_lowercase());
            let middleware = middleware.ok_or_else(|| RefusedLabel::new(*label, text()))?;
            for (key, (label, value)) in middleware {
                match (&**key, WantedPath::below(value)) {
                    ("stripprefix.prefixes", Ok(WantedPath::Below(prefix))) if stripped.is_none() => {
                        stripped = Some((*label, prefix));
                    }
                    ("stripprefix.prefixes", Err(reason)) => return Err(RefusedLabel::new(*label, reason)),
                    // A proxy that dropped what protects an application would be worse than none.
                    _ => return Err(RefusedLabel::new(*label, "this middleware is not supported")),
                }
            }
        }
        Ok(stripped)
    }
}

/// The beginning of these labels.
pub(super) const PREFIX: &str = "traefik.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{container, settings};

    fn of(labels: &[(&str, &str)]) -> (Vec<WantedRoute>, Vec<String>) {
        let mut refused = Vec::new();
        let labels = [&[("traefik.enable", "true")], labels].concat();
        let routes = routes(&container("a", &labels), &settings(), &mut refused);
        (routes, refused.iter().map(ToString::to_string).collect())
    }

    const RULE: (&str, &str) = ("traefik.http.routers.a.rule", "Host(`a.example`) && PathPrefix(`/api`)");

    #[test]
    fn the_common_labels_are_routes() {
        let (routes, refused) = of(&[
            RULE,
            ("traefik.http.routers.a.entrypoints", "websecure"),
            ("traefik.http.routers.a.tls", "true"),
            ("traefik.http.routers.a.tls.certResolver", "letsencrypt"),
            ("traefik.http.routers.a.middlewares", "short"),
            ("traefik.http.middlewares.short.stripprefix.prefixes", "/api"),
            ("traefik.http.services.s.loadbalancer.server.port", "9000"),
            ("traefik.http.services.s.loadBalancer.server.scheme", "h2c"),
            ("traefik.docker.network", "web"),
            ("traefik.tcp.routers.x.rule", "HostSNI(`*`)"),
        ]);
        assert_eq!(refused, [""; 0]);
        let path = WantedPath::Below("/api".to_owned());
        let expected = WantedRoute {
            port: Some(9000),
            scheme: Scheme::H2c,
            network: Some("web".to_owned()),
            strips_prefix: true,
            wants_certificate: true,
            ..WantedRoute::new("a.example".to_owned(), path)
        };
        assert_eq!(routes, [expected]);
    }

    #[test]
    fn a_router_has_the_service_that_it_names_or_the_only_one() {
        let services = [
            ("traefik.http.services.one.loadbalancer.server.port", "1"),
            ("traefik.http.services.two.loadbalancer.server.port", "2"),
        ];
        let with = |label| of(&[&[RULE, label], &services[..]].concat());
        assert_eq!(with(("traefik.http.routers.a.service", "two")).0[0].port, Some(2));
        assert!(with(("traefik.http.routers.a.service", "x")).1[0].contains("no label of a service \"x\""));
        assert!(of(&[&[RULE], &services[..]].concat()).1[0].contains("several services"));
        assert_eq!(of(&[RULE, services[0]]).0[0].port, Some(1));
        assert_eq!(of(&[RULE]).0[0].port, None);
    }

    #[test]
    fn labels_that_mean_more_are_refused() {
        for (label, value, reason) in [
            ("traefik.http.routers.a.rule", "Host(`a`) && Method(`GET`)", "Method is not supported"),
            ("traefik.http.routers.a.priority", "7", "this key of a router"),
            ("traefik.http.routers.a.tls", "yes", "neither true nor false"),
            ("traefik.http.routers.a.middlewares", "auth", "no label of a middleware"),
            ("traefik.http.services.s.loadbalancer.server.port", "abc", "is not a port"),
            ("traefik.http.services.s.loadbalancer.sticky.cookie", "true", "this key of a service"),
            ("traefik.http.routers.b.entrypoints", "web", "no traefik.http.routers.b.rule"),
        ] {
            let labels: Vec<_> = [RULE, (label, value)].into_iter().collect();
            let (_, refused) = of(&labels);
            assert!(refused.len() == 1 && refused[0].contains(reason), "{label}: {refused:?}");
        }
        let (routes, refused) = of(&[
            RULE,
            ("traefik.http.routers.a.middlewares", "auth"),
            ("traefik.http.middlewares.auth.basicauth.users", "a:b"),
        ]);
        assert!(routes.is_empty() && refused[0].contains("this middleware is not supported"), "{refused:?}");
    }

    #[test]
    fn only_containers_that_ask_for_it_are_routed() {
        let routed = |labels: &[(&str, &str)], exposed_by_default| {
            let settings = ContainerSettings { exposed_by_default, ..settings() };
            let mut refused = Vec::new();
            (routes(&container("a", labels), &settings, &mut refused).len(), refused.len())
        };
        assert_eq!(routed(&[RULE], false), (0, 0));
        assert_eq!(routed(&[RULE], true), (1, 0));
        assert_eq!(routed(&[RULE, ("traefik.enable", "false")], true), (0, 0));
        assert_eq!(routed(&[RULE, ("traefik.enable", "yes")], true), (0, 1));
    }
}
