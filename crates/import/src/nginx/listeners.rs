//! `listen`, `server_name` and certificates: which site gets a request.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashSet},
    net::Ipv4Addr,
    rc::Rc,
};

use super::{
    handler::Handler,
    import::Import,
    matching::{self, Match},
    route::Route,
    scope::Scope,
};
use crate::{
    grammar::directive::Directive,
    report::Outcome,
    settings::{table::Table, value::Value},
};

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
    /// The addresses that requests to a server have to arrive at, where a listener for all addresses has the port, too.
    narrow: BTreeMap<usize, Vec<String>>,
    /// The names of the servers at all addresses, where `narrow` has others.
    wide_names: HashSet<String>,
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
    for (position, directive) in servers.iter().enumerate() {
        let scope = http.inner(directive);
        let mut addresses = Vec::new();
        let is_all_tls = scope.is_on("ssl") == Some(true);
        for listen in scope.own("listen") {
            let Some(address) = listening.listen(import, listen, position, is_all_tls) else { continue };
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if scope.own_one("listen").is_none() {
            addresses.push(":80".to_owned());
            listening.tls.entry(":80".to_owned()).or_insert(false);
            listening.defaults.entry(":80".to_owned()).or_insert(position);
        }
        listening.certificates_of(import, &scope);
        listening.servers.push(addresses);
    }
    listening.widen(import, servers);
    listening.reserve_names(servers);
    listening.common = listening.most_common();
    listening.starred = listening.starred();
    listening
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

    /// Replaces addresses whose port a listener for all addresses has, too: a port has one listener.
    fn widen(&mut self, import: &Import<'_>, servers: &[&Directive]) {
        let wide: HashSet<String> = self.servers.iter().flatten().filter(|own| own.starts_with(':')).cloned().collect();
        for (position, addresses) in self.servers.iter_mut().enumerate() {
            let narrow: Vec<(String, String, String)> = addresses
                .iter()
                .filter_map(|address| host_and_port(address).map(|(host, all)| (address.clone(), host, all)))
                .filter(|(_, _, all)| wide.contains(all))
                .collect();
            let Some((_, _, all)) = narrow.first() else { continue };
            let is_refusable = narrow.len() == addresses.len()
                && narrow.iter().all(|(address, _, own)| own == all && self.tls.get(address) == self.tls.get(all));
            let has_all = addresses.clone();
            addresses.retain(|address| !narrow.iter().any(|(own, ..)| own == address));
            for (address, host, all) in &narrow {
                self.defaults.remove(address);
                let listen = servers[position].children().iter().filter(|inner| inner.name() == "listen");
                for listen in listen.filter(|listen| listen.word(0).is_some_and(|word| is_address(word, address))) {
                    import.notes.add(listen, outcome(address, all, has_all.contains(all), is_refusable));
                }
                if is_refusable {
                    self.narrow.entry(position).or_default().push(host.clone());
                    *addresses = vec![all.clone()];
                }
            }
        }
    }

    /// Notes the names that servers at single addresses leave to those at all addresses.
    fn reserve_names(&mut self, servers: &[&Directive]) {
        if self.narrow.is_empty() {
            return;
        }
        let wide = servers.iter().enumerate().filter(|(position, _)| !self.narrow.contains_key(position));
        let lines = wide.flat_map(|(_, server)| server.children()).filter(|inner| inner.name() == "server_name");
        self.wide_names = lines.flat_map(|line| line.texts()).map(str::to_ascii_lowercase).collect();
    }

    /// The route that refuses the hosts of a server at other addresses than its own.
    pub(crate) fn refusal_elsewhere(&self, position: usize) -> Option<Route> {
        let hosts = self.narrow.get(&position)?.iter();
        let patterns = hosts.map(|host| format!("!{}", host.trim_matches(['[', ']']))).collect();
        let elsewhere = matching::Condition { kind: "variable", name: "server_addr".to_owned(), patterns };
        let mut route = Route::new(Match::all().and(elsewhere));
        route.table.set("respond", Handler::responding(421).table.into_value());
        Some(route)
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

    fn most_common(&self) -> Vec<String> {
        let mut counts: Vec<(&Vec<String>, usize)> = Vec::new();
        for addresses in &self.servers {
            match counts.iter_mut().find(|(other, _)| *other == addresses) {
                Some((_, count)) => *count += 1,
                None => counts.push((addresses, 1)),
            }
        }
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        counts.into_iter().find(|(_, count)| *count == most).map(|(addresses, _)| addresses.clone()).unwrap_or_default()
    }

    /// Sets the addresses and certificates of the whole server.
    pub(crate) fn set_root(&self, root: &mut Table) {
        if !self.common.is_empty() {
            root.set("listen", self.value(&self.common));
        }
        if !self.certificates.is_empty() && self.tls.values().any(|is_tls| *is_tls) {
            root.set("tls", Value::texts(self.certificates.iter().cloned()));
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
                    let directive = scope.own_one("server_name");
                    directive.into_iter().for_each(|directive| {
                        import.notes.lost(
                            directive,
                            "an expression has no translation as a host: write the names, or *.example.com",
                        );
                    });
                }
                pattern if pattern.ends_with(".*") => {
                    let directive = scope.own_one("server_name");
                    directive.into_iter().for_each(|directive| {
                        import.notes.lost(directive, "only a star at the beginning of a host has a translation");
                    });
                }
                variable if variable.starts_with('$') => hosts.push("localhost".to_owned()),
                number if number.rsplit('.').next().is_some_and(is_number) && number.parse::<Ipv4Addr>().is_err() => {
                    scope.own_one("server_name").into_iter().for_each(|directive| {
                        import.notes.lost(directive, format!("{number} is not the name of a host"));
                    });
                }
                name => hosts.push(name.trim_end_matches('.').to_ascii_lowercase()),
            }
        }
        if self.narrow.contains_key(&position) {
            hosts.retain(|host| !self.wide_names.contains(host));
        }
        for address in self.narrow.get(&position).into_iter().flatten() {
            hosts.push(address.clone());
            if matches!(address.as_str(), "127.0.0.1" | "[::1]") && !hosts.iter().any(|host| host == "localhost") {
                hosts.push("localhost".to_owned());
            }
        }
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
        if addresses.is_empty() {
            return false;
        }
        // Without a name of its own, no request gets to a server that is not the default one.
        is_default || site.get("hosts").is_some()
    }
}

/// The address and the port of a listener on a single address; the port as that of all addresses.
fn host_and_port(address: &str) -> Option<(String, String)> {
    let (host, port) = address.rsplit_once(':')?;
    (!host.is_empty() && !address.starts_with("unix:")).then(|| (host.to_owned(), format!(":{port}")))
}

/// Whether a word of `listen` is this address.
fn is_address(word: &str, address: &str) -> bool {
    self::address(word).is_ok_and(|own| own == address)
}

/// The outcome of a `listen` whose port a listener for all addresses has, too.
fn outcome(address: &str, all: &str, is_beside: bool, is_refusable: bool) -> Outcome {
    match (is_beside, is_refusable) {
        (true, _) => Outcome::NoLine(format!("{all} beside it is for all addresses")),
        (false, true) => Outcome::Differs(format!(
            "{all} is for all addresses: the hosts of this server are refused at others than {address}, where other hosts \
             get the sites of {all}"
        )),
        (false, false) => Outcome::Lost(format!("{all} is for all addresses: {address} gets the sites of {all}")),
    }
}

fn is_number(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit())
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
    if is_port(listen) {
        return Ok(format!(":{listen}"));
    }
    let (host, port) = match listen.rsplit_once(':') {
        Some((host, port)) if is_port(port) && !listen.ends_with(']') => (host, port),
        _ => (listen, "80"),
    };
    match host {
        "*" | "0.0.0.0" | "[::]" => Ok(format!(":{port}")),
        "localhost" => Ok(format!("127.0.0.1:{port}")),
        host if host.starts_with('[') => Ok(format!("{host}:{port}")),
        host if host.split('.').count() == 4 && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
            Ok(format!("{host}:{port}"))
        }
        name => Err(format!("Serow listens on addresses: write that of {name}")),
    }
}
