//! Directives of the whole server: users, workers, connections, timeouts, TLS.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    rc::Rc,
};

use serow_nginx_syntax::{
    directive::Directive,
    scope::Scope,
    units::{bytes, milliseconds, written_duration, written_size},
};
use serow_settings_writer::{table::Table, value::Value};

use super::{import::Import, text::is_field_name};

/// As many threads as Serow starts.
const MAX_WORKERS: u64 = 1024;

/// Sets the keys of the root.
pub(crate) fn set<'tree>(import: &Import<'tree>, main: &Rc<Scope<'tree>>, http: &Rc<Scope<'tree>>, root: &mut Table) {
    let notes = &import.notes;
    if let Some(user) = main.own_one("user") {
        notes.translated(user);
        root.set_some("user", user.word(0).map(str::to_owned));
        root.set_some("group", user.word(1).map(str::to_owned));
    }
    if let Some(workers) = main.own_one("worker_processes") {
        match workers.word(0).and_then(|word| word.parse::<u64>().ok()) {
            Some(number @ 1..=MAX_WORKERS) => {
                notes.translated(workers);
                root.set("workers", Value::Number(number));
            }
            Some(_) => notes.lost(workers, format!("there are 1 to {MAX_WORKERS} workers")),
            None => notes.no_line(workers, "one for each core is the default"),
        }
    }
    if let Some(events) = main.own_one("events") {
        notes.translated(events);
        for directive in events.children() {
            match (directive.name(), directive.word(0).and_then(|word| word.parse::<u64>().ok())) {
                ("worker_connections", Some(number)) => {
                    notes.translated(directive);
                    let workers = match root.get("workers") {
                        Some(Value::Number(workers)) => *workers,
                        _ => 0,
                    };
                    // The usual values are below what the limit of open files allows.
                    if workers > 0 && number > 1024 {
                        root.set("max-connections", Value::Number(number * workers));
                    }
                }
                _ => notes.no_line(directive, "Serow takes connections as they come"),
            }
        }
    }
    timeouts(import, http, root);
    heads(import, http, root);
    tls(import, http, root);
}

/// The size of request heads, which is that of the whole server in Serow.
fn heads<'tree>(import: &Import<'tree>, http: &Rc<Scope<'tree>>, root: &mut Table) {
    let of_servers = http.own("server").flat_map(Directive::children);
    let all = http.directives.iter().chain(of_servers);
    let mut largest = DEFAULT_HEAD;
    for directive in all.filter(|directive| directive.name() == "large_client_header_buffers") {
        let number = directive.word(0).and_then(|word| word.parse::<u64>().ok());
        let size = directive.word(1).and_then(bytes);
        match number.zip(size).and_then(|(number, size)| number.checked_mul(size)) {
            Some(total) => {
                import.notes.translated(directive);
                largest = largest.max(total);
            }
            None => import.notes.lost(directive, "it has a number and a size"),
        }
    }
    if largest > DEFAULT_HEAD {
        root.set("max-head", written_size(largest));
    }
}

/// The size of a head by default: in nginx, of four buffers.
const DEFAULT_HEAD: u64 = 32 << 10;

/// The timeouts of connections, which are those of the whole server in Serow.
fn timeouts<'tree>(import: &Import<'tree>, http: &Rc<Scope<'tree>>, root: &mut Table) {
    for (name, key, default) in [
        ("keepalive_timeout", "idle-timeout", 75_000),
        ("client_header_timeout", "head-timeout", 60_000),
        ("send_timeout", "body-timeout", 60_000),
    ] {
        let mut found: Vec<&Directive> = http.own(name).collect();
        for server in http.own("server") {
            found.extend(server.children().iter().filter(|directive| directive.name() == name));
        }
        let Some((first, others)) = found.split_first() else { continue };
        let Some(time) = first.word(0).and_then(milliseconds) else {
            import.notes.lost(first, "this is not a duration");
            continue;
        };
        import.notes.translated(first);
        for other in others {
            match other.word(0).and_then(milliseconds) == Some(time) {
                true => import.notes.translated(other),
                false => import.notes.lost(other, format!("`{key}` is that of the whole server")),
            }
        }
        if time == 0 && name == "keepalive_timeout" {
            import.notes.differs(first, "connections stay open for a short time");
            root.set(key, "1s");
        } else if time != default {
            root.set(key, written_duration(time));
        }
    }
    if let Some(underscores) = http.own_one("underscores_in_headers") {
        import.notes.translated(underscores);
    }
}

fn tls<'tree>(import: &Import<'tree>, http: &Rc<Scope<'tree>>, root: &mut Table) {
    let notes = &import.notes;
    let mut all: Vec<&'tree Directive> = http.directives.iter().collect();
    all.extend(http.own("server").flat_map(Directive::children));
    let named = |name: &'static str| all.iter().copied().filter(move |directive| directive.name() == name);
    let old =
        |directive: &&Directive| directive.texts().any(|version| ["SSLv3", "TLSv1", "TLSv1.1"].contains(&version));
    let protocols: Vec<&Directive> = named("ssl_protocols").collect();
    for directive in &protocols {
        notes.translated(directive);
        if old(directive) {
            notes.differs(directive, "clients need TLS 1.2 at least: older versions are insecure (RFC 8996)");
        }
    }
    let only =
        |version: &str| !protocols.is_empty() && protocols.iter().all(|directive| directive.texts().eq([version]));
    if only("TLSv1.3") {
        root.set("tls-versions", "1.3");
    }
    let authority = named("ssl_client_certificate").next();
    let verifies = named("ssl_verify_client").find(|directive| directive.word(0) != Some("off"));
    if let (Some(authority), Some(verifies)) = (authority, verifies) {
        root.set_some("tls-client-ca", authority.word(0).map(|path| import.path(path)));
        match verifies.word(0) {
            Some("optional") => root.set("tls-client", "optional"),
            Some("optional_no_ca") => notes.lost(verifies, "a client's certificate is always verified"),
            _ => {}
        }
        let servers = http.own("server").count();
        if servers > 1 {
            notes.differs(verifies, "client certificates are required or optional for all sites: a site can require more by `client-certificate`");
        }
        notes.translated(verifies);
        notes.translated(authority);
    }
    if let Some(list) = named("ssl_crl").next() {
        notes.translated(list);
        root.set_some("tls-client-crl", list.word(0).map(|path| import.path(path)));
    }
    if let Some(reject) = named("ssl_reject_handshake").find(|directive| directive.word(0) == Some("on")) {
        notes.translated(reject);
        root.set("tls-unknown-name", "refuse");
    }
    if let Some(early) = named("ssl_early_data").find(|directive| directive.word(0) == Some("on")) {
        notes.differs(early, "early data is for HTTP/3");
        root.set("early-data", "on");
    }
    if let Some(stapling) = named("ssl_stapling_file").next() {
        notes.translated(stapling);
        root.set_some("tls-ocsp", stapling.word(0).map(|path| import.path(path)));
    }
}

/// The trusted proxies, of `set_real_ip_from`.
pub(crate) fn trust<'tree>(
    import: &Import<'tree>,
    http: &Rc<Scope<'tree>>,
    servers: &[&'tree Directive],
) -> Option<Value> {
    let mut from: Vec<&Directive> = http.own("set_real_ip_from").collect();
    for server in servers {
        from.extend(server.children().iter().filter(|directive| directive.name() == "set_real_ip_from"));
    }
    let mut networks = Vec::new();
    for directive in from {
        let network = match directive.word(0).unwrap_or_default() {
            "unix:" => "unix".to_owned(),
            text => match network(text) {
                Some(network) => network,
                None => {
                    import.notes.lost(directive, format!("{text} is not an address or a network"));
                    continue;
                }
            },
        };
        import.notes.translated(directive);
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    (!networks.is_empty()).then(|| Value::texts(networks))
}

/// An address, or a network such as 10.0.0.0/8 without the bits behind its length, which mean nothing to nginx; nothing for
/// another text.
pub(super) fn network(text: &str) -> Option<String> {
    let Some((address, length)) = text.split_once('/') else {
        return text.parse().ok().map(|address: IpAddr| address.to_string());
    };
    let length: u32 = length.parse().ok()?;
    Some(match address.parse().ok()? {
        IpAddr::V4(address) => {
            let rest = 32_u32.checked_sub(length)?;
            let bits = address.to_bits() & u32::MAX.checked_shl(rest).unwrap_or(0);
            format!("{}/{length}", Ipv4Addr::from_bits(bits))
        }
        IpAddr::V6(address) => {
            let rest = 128_u32.checked_sub(length)?;
            let bits = address.to_bits() & u128::MAX.checked_shl(rest).unwrap_or(0);
            format!("{}/{length}", Ipv6Addr::from_bits(bits))
        }
    })
}

/// Sets the field with the client's address, of `real_ip_header`.
pub(crate) fn trust_header<'tree>(import: &Import<'tree>, http: &Rc<Scope<'tree>>, root: &mut Table) {
    let mut found: Vec<&Directive> = http.own("real_ip_header").collect();
    found.extend(
        http.own("server").flat_map(Directive::children).filter(|directive| directive.name() == "real_ip_header"),
    );
    for directive in found {
        import.notes.translated(directive);
        match directive.word(0) {
            Some("proxy_protocol") | None => {}
            Some(name) if name.eq_ignore_ascii_case("x-forwarded-for") => {}
            Some(name) if !is_field_name(name) => {
                import.notes.lost(directive, format!("{name} is not the name of a field"));
            }
            Some(name) if root.get("trust").is_some() => root.set("trust-header", name),
            Some(_) => {}
        }
    }
}
