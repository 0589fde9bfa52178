//! Serow's own labels: `serow.host`, and `serow.NAME.host` for a container with several routes.

use std::collections::{BTreeMap, BTreeSet};

use super::{RefusedLabel, Scheme, WantedPath, WantedRoute, host, port, shown, switch};
use crate::{container::Container, label_value, settings::ContainerSettings};

/// The labels of one route, by their keys: the whole label, and its value.
type Group<'a> = BTreeMap<&'a str, (&'a str, &'a str)>;

/// The routes that labels with this prefix ask for.
pub(super) fn routes(
    container: &Container,
    settings: &ContainerSettings,
    refused: &mut Vec<RefusedLabel>,
) -> Vec<WantedRoute> {
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for (label, value) in &container.labels {
        let Some(rest) = label.strip_prefix(PREFIX) else { continue };
        let (group, key) = rest.rsplit_once('.').unwrap_or(("", rest));
        groups.entry(group).or_default().insert(key, (label, value));
    }
    match groups.get("").and_then(|group| group.get("enable")).map(|(label, value)| (label, switch(value))) {
        Some((_, Ok(false))) => return Vec::new(),
        Some((label, Err(reason))) => refused.push(RefusedLabel::new(*label, reason)),
        _ => {}
    }
    // A key of all routes stands once.
    let common = groups.remove("").unwrap_or_default();
    let mut routes = Vec::new();
    if common.contains_key("host") || groups.is_empty() {
        routes.extend(of_group(&common, settings, refused));
    }
    for (_, mut group) in groups {
        common.iter().filter(|(key, _)| !OF_ONE_ROUTE.contains(key)).for_each(|(key, value)| {
            group.entry(key).or_insert(*value);
        });
        routes.extend(of_group(&group, settings, refused));
    }
    routes
}

/// The routes of a group: one for each host.
fn of_group(group: &Group<'_>, settings: &ContainerSettings, refused: &mut Vec<RefusedLabel>) -> Vec<WantedRoute> {
    let mut route = WantedRoute::new(String::new(), WantedPath::Below(String::new()));
    let mut hosts = BTreeSet::new();
    let before = refused.len();
    for (key, (label, value)) in group {
        let outcome = if *key == "host" {
            value.split(',').map(host).collect::<Result<BTreeSet<_>, _>>().map(|named| hosts = named)
        } else {
            set(&mut route, key, value, settings)
        };
        if let Err(reason) = outcome {
            refused.push(RefusedLabel::new(*label, reason));
        }
    }
    let is_wrong = refused.len() > before;
    if hosts.is_empty() && !is_wrong && group.keys().any(|key| *key != "enable") {
        let label = group.values().next().map_or(PREFIX, |(label, _)| *label);
        refused.push(RefusedLabel::new(label, "there is no serow.host beside it"));
    }
    // One that is half understood would lead requests where they do not belong.
    if is_wrong {
        return Vec::new();
    }
    hosts.into_iter().map(|host| WantedRoute { host, ..route.clone() }).collect()
}

fn set(route: &mut WantedRoute, key: &str, value: &str, settings: &ContainerSettings) -> Result<(), String> {
    match key {
        "enable" => {}
        "path" => route.path = WantedPath::below(value)?,
        "port" => route.port = Some(port(value)?),
        "scheme" => route.scheme = Scheme::of(value)?,
        "network" => route.network = Some(value.to_owned()),
        "starting" => route.takes_starting = switch(value)?,
        "strip-prefix" => route.strips_prefix = switch(value)?,
        "weight" => {
            let weight = value.trim().parse().ok().filter(|weight| (1..=MAX_WEIGHT).contains(weight));
            route.weight = weight.ok_or_else(|| format!("{} is not a weight from 1 to {MAX_WEIGHT}", shown(value)))?;
        }
        "tls" if value == "acme" => route.wants_certificate = true,
        "tls" => return Err(format!("{}: write acme, for a certificate, or leave it out", shown(value))),
        key if settings.allowed.has(key) => {
            label_value::meant(value)?;
            route.keys.insert(key.to_owned(), value.to_owned());
        }
        _ => return Err("labels may not set this key: `allowed-keys` of [docker] names those that they may".to_owned()),
    }
    Ok(())
}

/// The beginning of these labels.
pub(super) const PREFIX: &str = "serow.";

/// Keys that a route with a name has for itself.
const OF_ONE_ROUTE: [&str; 2] = ["host", "path"];

/// The largest weight of a server.
const MAX_WEIGHT: u16 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{container, settings};

    fn of(labels: &[(&str, &str)]) -> (Vec<WantedRoute>, Vec<String>) {
        let mut refused = Vec::new();
        let routes = routes(&container("a", labels), &settings(), &mut refused);
        (routes, refused.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn labels_are_routes() {
        let (routes, refused) = of(&[
            ("serow.host", "b.example, A.example"),
            ("serow.path", "/api/"),
            ("serow.port", "8080"),
            ("serow.scheme", "https"),
            ("serow.network", "web"),
            ("serow.starting", "true"),
            ("serow.strip-prefix", "true"),
            ("serow.weight", "3"),
            ("serow.tls", "acme"),
            ("serow.max-body", "10M"),
            ("other.label", "x"),
        ]);
        assert_eq!(refused, [""; 0]);
        let first = WantedRoute {
            host: "a.example".to_owned(),
            path: WantedPath::Below("/api".to_owned()),
            port: Some(8080),
            scheme: Scheme::Https,
            weight: 3,
            network: Some("web".to_owned()),
            strips_prefix: true,
            takes_starting: true,
            wants_certificate: true,
            keys: [("max-body".to_owned(), "10M".to_owned())].into(),
        };
        assert_eq!(routes, [first.clone(), WantedRoute { host: "b.example".to_owned(), ..first }]);
    }

    #[test]
    fn a_container_has_several_routes_with_names() {
        let (routes, refused) = of(&[
            ("serow.port", "80"),
            ("serow.shop.host", "shop.example"),
            ("serow.admin.host", "shop.example"),
            ("serow.admin.path", "/admin"),
            ("serow.admin.port", "81"),
        ]);
        assert_eq!(refused, [""; 0]);
        let found: Vec<_> = routes.iter().map(|route| (&route.path, route.port)).collect();
        let below = |path: &str| WantedPath::Below(path.to_owned());
        assert_eq!(found, [(&below("/admin"), Some(81)), (&below(""), Some(80))]);
    }

    #[test]
    fn labels_that_are_wrong_or_not_allowed_are_refused_with_their_route() {
        for (label, value, reason) in [
            ("serow.host", "a/b", "serow.host: \"a/b\" is not a host"),
            ("serow.port", "x", "serow.port: \"x\" is not a port"),
            ("serow.port", "0", "serow.port: \"0\" is not a port"),
            ("serow.path", "api", "serow.path: \"api\" is not a path"),
            ("serow.weight", "0", "serow.weight: \"0\" is not a weight"),
            ("serow.starting", "yes", "serow.starting: \"yes\" is neither"),
            ("serow.tls", "on", "serow.tls: \"on\": write acme"),
            ("serow.scheme", "ftp", "serow.scheme: \"ftp\" is not a scheme"),
            ("serow.app", "sh", "serow.app: labels may not set this key"),
            ("serow.files", "/etc", "serow.files: labels may not set this key"),
            ("serow.max-body", &"x".repeat(3000), "serow.max-body: it is longer"),
            ("serow.max-body", "${SECRET}", "serow.max-body: it may not name variables"),
        ] {
            let mut labels = vec![("serow.host", "a.example"), (label, value)];
            if label == "serow.host" {
                labels.remove(0);
            }
            let (routes, refused) = of(&labels);
            assert!(routes.is_empty() && refused.len() == 1 && refused[0].starts_with(reason), "{label}: {refused:?}");
        }
        assert_eq!(of(&[("serow.port", "80")]).1, ["serow.port: there is no serow.host beside it"]);
        let (routes, refused) = of(&[("serow.enable", "false"), ("serow.host", "a.example")]);
        assert!(routes.is_empty() && refused.is_empty());
    }
}
