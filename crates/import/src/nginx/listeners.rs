//! `listen`, `server_name` and certificates: which site gets a request.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashSet},
    net::{Ipv4Addr, Ipv6Addr},
    rc::Rc,
};

use serow_nginx_syntax::{directive::Directive, pattern::Pattern, scope::Scope};
use serow_router::HostPattern;
use serow_settings_writer::{table::Table, value::Value};

use super::{import::Import, overlapping::Overlapping};

/// The addresses of all servers.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    /// The addresses of each server.
    servers: Vec<Vec<String>>,
    /// Whether an address has TLS.
    tls: BTreeMap<String, bool>,
    /// The server that gets unknown hosts, for each address.
    defaults: BTreeMap<String, usize>,
    /// Whether the address has its default server by `default_server`.
    explicit: BTreeMap<String, bool>,
    /// The pairs of certificates and keys.
    certificates: Vec<String>,
    /// The addresses of most servers, which stand at the root.
    common: Vec<String>,
    has_proxy_protocol: bool,
    /// The servers that get unknown hosts: one for each address.
    starred: Vec<bool>,
    /// The servers at single addresses of a listener for all.
    pub(crate) overlapping: Overlapping,
    /// The hosts of each address that a server has.
    taken: RefCell<HashSet<(String, String)>>,
}

/// The names of a server.
pub(crate) fn names(scope: &Scope<'_>) -> Vec<String> {
    scope.own("server_name").flat_map(|directive| directive.texts()).map(str::to_owned).collect()
}

/// The addresses of all servers.
pub(crate) fn of<'tree>(import: &Import<'tree>, http: &Rc<Scope<'tree>>, servers: &[&'tree Directive]) -> Listening {
    let mut listening = Listening::default();
    let scopes: Vec<_> = servers.iter().map(|directive| http.inner(directive)).collect();
    let mut listens: Vec<Vec<Listen<'_>>> = Vec::new();
    for (position, scope) in scopes.iter().enumerate() {
        let is_all_tls = scope.is_on("ssl") == Some(true);
        let mut own: Vec<Listen<'_>> = Vec::new();
        for directive in scope.own("listen") {
            let Some(address) = listening.listen(import, directive, position, is_all_tls) else { continue };
            if !own.iter().any(|other| other.address == address) {
                own.push(Listen { address, directive: Some(directive) });
            }
        }
        if scope.own_one("listen").is_none() {
            own.push(Listen { address: ":80".to_owned(), directive: None });
            listening.tls.entry(":80".to_owned()).or_insert(false);
            listening.defaults.entry(":80".to_owned()).or_insert(position);
        }
        listens.push(own);
    }
    listening.overlapping = Overlapping::of(import, &mut listens, &listening.tls, servers);
    let addresses = |own: &Vec<Listen<'_>>| own.iter().map(|listen| listen.address.clone()).collect::<Vec<String>>();
    listening.common = most_common(&listens.iter().map(addresses).collect::<Vec<_>>());
    for own in listens.iter_mut().filter(|own| addresses(own) != listening.common) {
        drop_sockets(import, own);
    }
    listening.servers = listens.iter().map(addresses).collect();
    listening.limit_proxy_protocol(import, &scopes);
    for (scope, addresses) in scopes.iter().zip(listening.servers.clone()) {
        if !addresses.is_empty() {
            listening.certificates_of(import, scope);
        }
    }
    listening.tls.retain(|address, _| listening.servers.iter().any(|own| own.contains(address)));
    listening.starred = listening.starred();
    listening
}

/// An address of a server, and the directive that names it.
#[derive(Debug)]
pub(super) struct Listen<'tree> {
    pub(super) address: String,
    pub(super) directive: Option<&'tree Directive>,
}

/// Drops the Unix sockets of a server whose addresses are not those of the root.
fn drop_sockets(import: &Import<'_>, own: &mut Vec<Listen<'_>>) {
    own.retain(|listen| {
        let is_socket = listen.address.starts_with("unix:");
        if let Some(directive) = listen.directive.filter(|_| is_socket) {
            import.notes.lost(directive, "only all servers together can listen on a Unix socket");
        }
        !is_socket
    });
}

/// The addresses that most servers have.
fn most_common(servers: &[Vec<String>]) -> Vec<String> {
    let mut counts: Vec<(&Vec<String>, usize)> = Vec::new();
    for addresses in servers.iter().filter(|addresses| !addresses.is_empty()) {
        match counts.iter_mut().find(|(other, _)| *other == addresses) {
            Some((_, count)) => *count += 1,
            None => counts.push((addresses, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    counts.into_iter().find(|(_, count)| *count == most).map(|(addresses, _)| addresses.clone()).unwrap_or_default()
}

impl Listening {
    fn listen(&mut self, import: &Import<'_>, listen: &Directive, position: usize, is_all_tls: bool) -> Option<String> {
        let address = match address(listen.word(0)?) {
            Ok(address) => address,
            Err(why) => {
                import.notes.lost(listen, why);
                return None;
            }
        };
        let mut is_tls = is_all_tls;
        import.notes.translated(listen);
        for word in listen.texts().skip(1) {
            match word.split_once('=').map_or(word, |(name, _)| name) {
                "ssl" => is_tls = true,
                "quic" => {
                    // HTTP/3 is served beside TLS on the same port.
                    return None;
                }
                "default_server" | "default" => {
                    self.defaults.insert(address.clone(), position);
                    self.explicit.insert(address.clone(), true);
                }
                "proxy_protocol" => self.has_proxy_protocol = true,
                "http2" | "spdy" | "reuseport" | "deferred" | "bind" | "ipv6only" | "backlog" | "fastopen"
                | "so_keepalive" | "rcvbuf" | "sndbuf" | "accept_filter" | "setfib" => {}
                other => import.notes.lost(listen, format!("`{other}` of `listen` has no translation")),
            }
        }
        *self.tls.entry(address.clone()).or_insert(false) |= is_tls;
        self.defaults.entry(address.clone()).or_insert(position);
        Some(address)
    }

    /// Whether a server listens on an address of these settings.
    pub(crate) fn listens(&self, position: usize) -> bool {
        self.servers.get(position).is_some_and(|addresses| !addresses.is_empty())
    }

    /// Leaves out `proxy_protocol` where servers have addresses of their own: its header replaces the address that tells them
    /// apart.
    fn limit_proxy_protocol(&mut self, import: &Import<'_>, scopes: &[Rc<Scope<'_>>]) {
        let have_own = self.servers.iter().any(|addresses| !addresses.is_empty() && *addresses != self.common);
        if !self.has_proxy_protocol || !have_own {
            return;
        }
        self.has_proxy_protocol = false;
        let listens = scopes.iter().flat_map(|scope| scope.own("listen"));
        for listen in listens.filter(|listen| listen.texts().any(|word| word == "proxy_protocol")) {
            import.notes.lost(listen, "`proxy_protocol` has no translation beside servers with other addresses");
        }
    }

    fn certificates_of(&mut self, import: &Import<'_>, scope: &Scope<'_>) {
        let certificates = scope.nearest("ssl_certificate");
        let keys = scope.nearest("ssl_certificate_key");
        for (certificate, key) in certificates.iter().zip(&keys) {
            let (Some(certificate_path), Some(key_path)) = (certificate.word(0), key.word(0)) else { continue };
            if certificate_path.contains('$') || certificate_path.starts_with("data:") {
                import.notes.lost(certificate, "Serow's certificates have no variables in their names");
                import.notes.lost(key, "Serow's certificates have no variables in their names");
                continue;
            }
            import.notes.translated(certificate);
            import.notes.translated(key);
            let pair = format!("{},{}", import.path(certificate_path), import.path(key_path));
            if !self.certificates.contains(&pair) {
                self.certificates.push(pair);
            }
        }
    }

    /// Sets the addresses and certificates of the whole server.
    pub(crate) fn set_root(&self, root: &mut Table) {
        if !self.common.is_empty() {
            root.set("listen", self.value(&self.common));
        }
        if !self.certificates.is_empty() && self.tls.values().any(|is_tls| *is_tls) {
            root.set("tls", Value::texts(self.certificates.iter().cloned()));
        } else if root.get("tls-unknown-name").is_some() {
            // All handshakes are refused: nginx needs no certificate for that.
            match self.tls.values().any(|is_tls| *is_tls) {
                true => root.set("tls", "self-signed"),
                false => _ = root.remove("tls-unknown-name"),
            }
        }
        if self.has_proxy_protocol {
            root.set("proxy-protocol", Value::Bool(true));
        }
    }

    /// The servers that get unknown hosts. Serow has one for each address, and a site all of its addresses: the first counts.
    fn starred(&self) -> Vec<bool> {
        let mut taken: HashSet<&str> = HashSet::new();
        let mut starred = Vec::with_capacity(self.servers.len());
        for (position, addresses) in self.servers.iter().enumerate() {
            let is_default = addresses.iter().any(|address| self.defaults.get(address) == Some(&position));
            let is_free = addresses.iter().all(|address| !taken.contains(address.as_str()));
            if is_default && is_free {
                taken.extend(addresses.iter().map(String::as_str));
            }
            starred.push(is_default && is_free);
        }
        starred
    }

    /// The addresses as a value: with a certificate, each has TLS unless it says otherwise.
    fn value(&self, addresses: &[String]) -> Value {
        let any_tls = self.tls.values().any(|is_tls| *is_tls);
        let mut values: Vec<Value> = addresses
            .iter()
            .map(|address| match self.tls.get(address) {
                Some(false) if any_tls => Value::Table(vec![
                    ("address".to_owned(), Value::Text(address.clone())),
                    ("tls".to_owned(), Value::Bool(false)),
                ]),
                _ => Value::Text(address.clone()),
            })
            .collect();
        if values.len() == 1 { values.remove(0) } else { Value::List(values) }
    }

    /// Sets the addresses and hosts of a site. Whether requests get to it.
    pub(crate) fn set_site(
        &self,
        import: &Import<'_>,
        position: usize,
        scope: &Scope<'_>,
        names: &[String],
        site: &mut Table,
    ) -> bool {
        scope.own("server_name").for_each(|directive| import.notes.translated(directive));
        let addresses = self.servers.get(position).map(Vec::as_slice).unwrap_or_default();
        let is_default = self.starred.get(position).copied().unwrap_or_default();
        let mut hosts = Vec::new();
        for name in names {
            match name.as_str() {
                // Names that no request has, of servers for all others.
                "_" | "" | "-" | "--" | "!@#" | "localhost" if is_default => {}
                "_" | "" => {}
                "*" => {}
                dotted if dotted.starts_with('.') => {
                    hosts.push(dotted[1..].to_owned());
                    hosts.push(format!("*{dotted}"));
                }
                expression if expression.starts_with('~') => {
                    hosts.extend(of_expression(import, scope, &expression[1..]));
                }
                pattern if pattern.ends_with(".*") => {
                    let directive = scope.own_one("server_name");
                    directive.into_iter().for_each(|directive| {
                        import.notes.lost(directive, "only a star at the beginning of a host has a translation");
                    });
                }
                variable if variable.starts_with('$') => hosts.push("localhost".to_owned()),
                name => hosts.push(name.trim_end_matches('.').to_ascii_lowercase()),
            }
        }
        self.overlapping.change_hosts(position, &mut hosts);
        hosts.retain(|host| {
            let parsed = host.parse::<HostPattern>();
            if let (Err(why), Some(directive)) = (&parsed, scope.own_one("server_name")) {
                import.notes.lost(directive, format!("{host:?}: {why}"));
            }
            parsed.is_ok()
        });
        // nginx gives a name to the first server that has it.
        let mut taken = self.taken.borrow_mut();
        hosts.retain(|host| {
            let keys: Vec<_> = addresses.iter().map(|address| (address.clone(), host.clone())).collect();
            let is_free = keys.iter().all(|key| !taken.contains(key));
            taken.extend(keys);
            is_free
        });
        if is_default && !hosts.is_empty() {
            hosts.push("*".to_owned());
        }
        if !hosts.is_empty() {
            site.set("hosts", Value::list(hosts));
        }
        if addresses != self.common {
            site.set("listen", self.value(addresses));
        }
        // Without a name of its own, no request gets to a server that is not the default one.
        is_default || site.get("hosts").is_some()
    }
}

/// The hosts of an expression; what differs is noted.
fn of_expression(import: &Import<'_>, scope: &Scope<'_>, expression: &str) -> Vec<String> {
    let pattern = Pattern::new(expression, true);
    let hosts = pattern.as_ref().ok().and_then(Pattern::as_hosts);
    let Some(directive) = scope.own_one("server_name") else { return Vec::new() };
    match hosts {
        Some((hosts, true)) => hosts,
        Some((hosts, false)) => {
            let why =
                format!("{} stands for the names that {expression} matches, and is for others, too", hosts.join(", "));
            import.notes.differs(directive, why);
            hosts
        }
        None => {
            let why = "an expression has no translation as a host, except as in ~^(.+)\\.example\\.com$";
            import.notes.lost(directive, why);
            Vec::new()
        }
    }
}

/// An address as Serow's settings have it.
fn address(listen: &str) -> Result<String, String> {
    if listen.starts_with("unix:") {
        return Ok(listen.to_owned());
    }
    if listen.contains('$') {
        return Err("an address has no variables".to_owned());
    }
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match listen.rsplit_once(':') {
        Some((host, port)) if is_port(port) && !listen.ends_with(']') => (host, port),
        _ if is_port(listen) => ("*", listen),
        _ => (listen, "80"),
    };
    if !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Err(format!("{port} is not a port"));
    }
    let is_address = |host: &str| match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(host) => host.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<Ipv4Addr>().is_ok(),
    };
    match host {
        "*" | "0.0.0.0" | "[::]" => Ok(format!(":{port}")),
        "localhost" => Ok(format!("127.0.0.1:{port}")),
        host if is_address(host) => Ok(format!("{host}:{port}")),
        name => Err(format!("Serow listens on addresses: write that of {name}")),
    }
}

/// The port of an address; nothing for a Unix socket.
pub(super) fn port(address: &str) -> Option<&str> {
    address.rsplit_once(':').map(|(_, port)| port).filter(|_| !address.starts_with("unix:"))
}
