//! The settings file of a host.

use std::net::SocketAddr;

use serow_message::StableHash;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use crate::{
    label_value,
    labels::WantedPath,
    plan::{PlannedHost, PlannedRoute},
    settings::AllowedKeys,
};

/// Which keys of labels are in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelKeys {
    /// All that are allowed.
    All,
    /// None: one of them was wrong.
    None,
}

/// The file of a host with these routes.
pub(crate) fn of_host(host: &str, planned: &PlannedHost, allowed: &AllowedKeys, keys: LabelKeys) -> String {
    let mut document = DocumentMut::new();
    let (mut upstreams, mut routes) = (ArrayOfTables::new(), ArrayOfTables::new());
    let mut planned_routes: Vec<_> = planned.routes.iter().collect();
    // Whatever the order of the containers: the longer path counts, and an exact one before all below it.
    planned_routes.sort_by_key(|(path, _)| match path {
        WantedPath::Exact(path) => (usize::MAX - path.len(), 0, path),
        WantedPath::Below(path) => (usize::MAX - path.len(), 1, path),
    });
    for (path, route) in planned_routes {
        let mut table = Table::new();
        table.insert("path", value(patterns(path)));
        if route.servers.is_empty() {
            add_unavailable(&mut table);
        } else {
            let name = upstream_name(host, path);
            let mut upstream = upstream_table(&name, route);
            let mut proxy = InlineTable::new();
            proxy.insert("upstream", name.into());
            if route.strips_prefix {
                proxy.insert("strip-prefix", true.into());
            }
            table.insert("proxy", value(proxy));
            for (key, text) in route.keys.iter().filter(|_| keys == LabelKeys::All) {
                let table = if allowed.upstream.contains(key) { &mut upstream } else { &mut table };
                // Its label has been checked.
                table.insert(key, label_value::meant(text).map_or(Item::None, Item::Value));
            }
            upstreams.push(upstream);
        }
        routes.push(table);
    }
    if !upstreams.is_empty() {
        document.insert("upstream", Item::ArrayOfTables(upstreams));
    }
    let mut site = site_table(host, planned.has_certificate);
    site.insert("route", Item::ArrayOfTables(routes));
    document.insert("site", Item::ArrayOfTables([site].into_iter().collect()));
    document.to_string()
}

/// The content of a file of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadHost {
    pub(crate) host: String,
    pub(crate) paths: Vec<WantedPath>,
    pub(crate) has_certificate: bool,
    pub(crate) servers: Vec<SocketAddr>,
}

/// Reads a file of this module; nothing where it is another one.
pub(crate) fn read(text: &str) -> Option<ReadHost> {
    let document = text.parse::<DocumentMut>().ok()?;
    let site = document.get("site")?.as_array_of_tables()?.get(0)?;
    let host = site.get("hosts")?.as_array()?.get(0)?.as_str()?.to_owned();
    let routes = site.get("route")?.as_array_of_tables()?.iter();
    let paths = routes.filter_map(|route| path_of(route.get("path")?)).collect();
    let upstreams = document.get("upstream").and_then(Item::as_array_of_tables).into_iter().flatten();
    let servers = upstreams.filter_map(|upstream| upstream.get("servers")?.as_array()).flatten();
    let servers = servers.filter_map(|server| address_of(server.as_str()?)).collect();
    Some(ReadHost { host, paths, has_certificate: site.contains_key("tls"), servers })
}

/// The address of a server as it is written.
fn address_of(server: &str) -> Option<SocketAddr> {
    let (address, _) = server.split_once(',').unwrap_or((server, ""));
    address.rsplit("//").next()?.parse().ok()
}

fn path_of(patterns: &Item) -> Option<WantedPath> {
    match (patterns.as_str(), patterns.as_array()) {
        (Some("/*"), _) => Some(WantedPath::Below(String::new())),
        (Some(path), _) => Some(WantedPath::Exact(path.to_owned())),
        (None, paths) => Some(WantedPath::Below(paths?.get(0)?.as_str()?.to_owned())),
    }
}

/// The response where all containers have gone, and may come back.
fn add_unavailable(route: &mut Table) {
    let mut respond = InlineTable::new();
    respond.insert("status", 503.into());
    let mut headers = InlineTable::new();
    headers.insert("Retry-After", "5".into());
    route.insert("respond", value(respond));
    route.insert("headers", value(headers));
}

fn site_table(host: &str, has_certificate: bool) -> Table {
    let mut site = Table::new();
    site.insert("hosts", value(Array::from_iter([host])));
    if has_certificate {
        site.insert("tls", value("acme"));
    }
    site
}

fn upstream_table(name: &str, route: &PlannedRoute) -> Table {
    let servers = route.servers.iter().map(|(address, (scheme, weight))| match weight {
        1 => format!("{}{address}", scheme.prefix()),
        weight => format!("{}{address},weight={weight}", scheme.prefix()),
    });
    let mut upstream = Table::new();
    upstream.insert("name", value(name));
    upstream.insert("servers", value(Array::from_iter(servers)));
    // The upstream is another one, without a history, each time that a container comes or goes; and then many requests may need
    // another server at once.
    upstream.insert("retry-budget", value(100));
    // The address of a container that was removed does not answer at all.
    upstream.insert("connect-timeout", value("1s"));
    upstream
}

/// A name that tells the routes of all hosts apart, of letters that names of upstreams may have.
fn upstream_name(host: &str, path: &WantedPath) -> String {
    let host = host.replace('*', "_");
    let (path, end) = match path {
        WantedPath::Below(path) if path.is_empty() => return format!("docker.{host}"),
        WantedPath::Below(path) => (path, ""),
        WantedPath::Exact(path) => (path, "="),
    };
    let is_plain = path.bytes().skip(1).all(|byte| byte.is_ascii_alphanumeric());
    if is_plain && end.is_empty() {
        return format!("docker.{host}-{}", &path[1..]);
    }
    let hash = StableHash::of(format!("{path}{end}").as_bytes());
    format!("docker.{host}-{hash:016x}")
}

fn patterns(path: &WantedPath) -> Value {
    match path {
        WantedPath::Exact(path) => path.as_str().into(),
        WantedPath::Below(path) if path.is_empty() => "/*".into(),
        WantedPath::Below(path) => Array::from_iter([path.clone(), format!("{path}/*")]).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        container::Container,
        plan::{
            self, Candidate, Surroundings,
            testing::{container, settings},
        },
        taken::Taken,
    };

    fn text(containers: &[Container], keys: LabelKeys) -> String {
        let settings = settings();
        let (taken, none) = (Taken::default(), BTreeSet::new());
        let accepts: &dyn Fn(SocketAddr, &str) -> bool = &|_, _| true;
        let surroundings = Surroundings { settings: &settings, taken: &taken, own: &none, certified: &none, accepts };
        let candidates: Vec<_> =
            containers.iter().map(|container| Candidate::new(container.clone(), &settings)).collect();
        let plan = plan::of(&candidates, |_| false, surroundings);
        assert_eq!((plan.hosts.len(), plan.refused.len()), (1, 0));
        let (host, planned) = plan.hosts.first_key_value().unwrap();
        of_host(host, planned, &settings.allowed, keys)
    }

    #[test]
    fn a_host_with_several_routes() {
        let shop = [("serow.host", "shop.example"), ("serow.max-body", "10M"), ("serow.balance", "random")];
        let api = [("serow.host", "shop.example"), ("serow.path", "/api/v1"), ("serow.strip-prefix", "true")];
        let weighted = [&api[..], &[("serow.weight", "2"), ("serow.scheme", "h2c")]].concat();
        let admin =
            [("traefik.enable", "true"), ("traefik.http.routers.a.rule", "Host(`shop.example`) && Path(`/api/v1`)")];
        let containers =
            [container("a", &shop), container("b", &api), container("c", &weighted), container("d", &admin)];
        let expected = r#"[[upstream]]
name = "docker.shop.example-6c7b1b2ea73f7e7f"
servers = ["10.0.0.100:8080"]
retry-budget = 100
connect-timeout = "1s"

[[upstream]]
name = "docker.shop.example-6c7b1b2ea73f7e7f"
servers = ["10.0.0.98:8080", "h2c://10.0.0.99:8080,weight=2"]
retry-budget = 100
connect-timeout = "1s"

[[upstream]]
name = "docker.shop.example"
servers = ["10.0.0.97:8080"]
retry-budget = 100
connect-timeout = "1s"
balance = "random"

[[site]]
hosts = ["shop.example"]

[[site.route]]
path = "/api/v1"
proxy = { upstream = "NAME" }

[[site.route]]
path = ["/api/v1", "/api/v1/*"]
proxy = { upstream = "NAME", strip-prefix = true }

[[site.route]]
path = "/*"
proxy = { upstream = "docker.shop.example" }
max-body = "10M"
"#;
        // The hashes are not readable.
        let shortened = |text: &str| {
            let hashes = ["6c7b1b2ea73f7e7f"];
            hashes
                .iter()
                .fold(text.to_owned(), |text, hash| text.replace(&format!("docker.shop.example-{hash}"), "NAME"))
        };
        let mut found = text(&containers, LabelKeys::All);
        let names: std::collections::BTreeSet<_> = found
            .lines()
            .filter_map(|line| line.strip_prefix("name = \"docker.shop.example-"))
            .map(str::to_owned)
            .collect();
        assert_eq!(names.len(), 2, "{found}");
        for name in names {
            found = found.replace(&format!("docker.shop.example-{}", name.trim_end_matches('"')), "NAME");
        }
        assert_eq!(found, shortened(expected));
        let mut servers: Vec<_> = read(&text(&containers, LabelKeys::All)).unwrap().servers;
        servers.sort();
        let expected: [SocketAddr; 4] = [97, 98, 99, 100].map(|last| ([10, 0, 0, last], 8080).into());
        assert_eq!(servers, expected);
        let without = text(&containers, LabelKeys::None);
        assert!(!without.contains("max-body") && !without.contains("balance"), "{without}");
    }

    #[test]
    fn a_host_without_containers_answers_503_and_can_be_read_again() {
        let paths =
            [WantedPath::Below(String::new()), WantedPath::Below("/a".to_owned()), WantedPath::Exact("/b".to_owned())];
        let routes = paths.iter().map(|path| (path.clone(), PlannedRoute::default())).collect();
        let planned = PlannedHost { routes, has_certificate: true };
        let text = of_host("*.example", &planned, &AllowedKeys::default(), LabelKeys::All);
        let end = "[[site.route]]\npath = \"/*\"\nrespond = { status = 503 }\nheaders = { Retry-After = \"5\" }\n";
        assert!(
            text.starts_with("[[site]]\nhosts = [\"*.example\"]\ntls = \"acme\"\n\n") && text.ends_with(end),
            "{text}"
        );
        let mut read = read(&text).unwrap();
        read.paths.sort();
        let mut paths = paths.to_vec();
        paths.sort();
        assert_eq!(read, ReadHost { host: "*.example".to_owned(), paths, has_certificate: true, servers: Vec::new() });
        for other in ["", "x = 1", "[[site]]\nhosts = []", "[[site]]\nhosts = [\"a\"]", "["] {
            assert_eq!(super::read(other), None, "{other}");
        }
    }
}
