//! `upstream` blocks, and the servers that routes name without one.

use std::net::Ipv6Addr;

use serow_nginx_syntax::{
    directive::Directive,
    scope::Scope,
    units::{milliseconds, written_duration},
};
use serow_settings_writer::{table::Table, value::Value};

use super::{handler::Handler, import::Import};

/// Settings that only an `[[upstream]]` has, which routes of nginx have each for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    table: Table,
}

impl Need {
    /// Those of the block of a handler that passes requests.
    pub(crate) fn of<'tree>(import: &Import<'tree>, settings: &Scope<'tree>, handler: &Handler) -> Self {
        let (notes, family) = (&import.notes, handler.family);
        let mut table = Table::default();
        if let Some(directive) = settings.nearest_one(&format!("{family}_connect_timeout")) {
            match directive.word(0).and_then(milliseconds) {
                Some(2000) => notes.translated(directive),
                Some(time) => {
                    notes.translated(directive);
                    table.set("connect-timeout", written_duration(time));
                }
                None => notes.lost(directive, "this is not a duration"),
            }
        }
        if handler.has_tls {
            tls(import, settings, family, &mut table);
        }
        retries(import, settings, family, &mut table);
        Self { table }
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.table.set(key, value);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

fn tls<'tree>(import: &Import<'tree>, settings: &Scope<'tree>, family: &str, table: &mut Table) {
    let notes = &import.notes;
    let own = |name: &str| format!("{family}_ssl_{name}");
    match settings.is_on(&own("verify")) {
        Some(true) => {
            if let Some(path) =
                settings.nearest_one(&own("trusted_certificate")).and_then(|directive| directive.word(0))
            {
                table.set("server-ca", import.path(path));
            }
        }
        _ => table.set("server-insecure", Value::Bool(true)),
    }
    let certificate = settings.nearest_one(&own("certificate")).and_then(|directive| directive.word(0));
    let key = settings.nearest_one(&own("certificate_key")).and_then(|directive| directive.word(0));
    if let (Some(certificate), Some(key)) = (certificate, key) {
        table.set("server-certificate", format!("{},{}", import.path(certificate), import.path(key)));
    }
    for name in ["verify", "trusted_certificate", "certificate", "certificate_key"] {
        settings.nearest(&own(name)).into_iter().for_each(|directive| notes.translated(directive));
    }
}

/// The statuses after which nginx can ask another server.
const STATUSES: &[&str] = &["403", "404", "429", "500", "502", "503", "504"];

fn retries<'tree>(import: &Import<'tree>, settings: &Scope<'tree>, family: &str, table: &mut Table) {
    let notes = &import.notes;
    if let Some(next) = settings.nearest_one(&format!("{family}_next_upstream")) {
        notes.translated(next);
        let mut causes = Vec::new();
        for word in next.texts() {
            match word {
                "error" => causes.extend(["connect".to_owned(), "broken".to_owned()]),
                "timeout" => causes.push("timeout".to_owned()),
                "invalid_header" => causes.push("broken".to_owned()),
                "non_idempotent" => table.set("retry-all-methods", Value::Bool(true)),
                "off" => {}
                status => match status.strip_prefix("http_").filter(|status| STATUSES.contains(status)) {
                    Some(status) => causes.push(status.to_owned()),
                    None => notes.lost(next, format!("`{status}` has no translation")),
                },
            }
        }
        causes.sort();
        causes.dedup();
        match next.word(0) {
            Some("off") => table.set("tries", Value::Number(1)),
            _ if causes.is_empty() => {}
            _ if causes == ["broken", "connect", "timeout"] => {}
            _ => table.set("retry-on", Value::list(causes)),
        }
    }
    if let Some(tries) = settings.nearest_one(&format!("{family}_next_upstream_tries")) {
        match tries.word(0).and_then(|word| word.parse().ok()) {
            Some(0) | None => notes.no_line(tries, "Serow tries three times at most"),
            Some(number) => {
                notes.translated(tries);
                table.set("tries", Value::Number(number));
            }
        }
    }
    if let Some(time) = settings.nearest_one(&format!("{family}_next_upstream_timeout")) {
        notes.differs(
            time,
            "the timeouts of the attempts limit the time; total-timeout limits that of the whole request",
        );
    }
}

impl<'tree> Import<'tree> {
    /// Whether an `upstream` has this name.
    pub(crate) fn is_upstream(&self, name: &str) -> bool {
        self.upstream_blocks.iter().any(|block| block.word(0) == Some(name))
    }

    /// Sets the server of a `proxy`: a name of an `[[upstream]]`, or an address.
    pub(crate) fn set_server(&self, address: &str, need: Need, table: &mut Table) -> Result<(), String> {
        let (scheme, host) = address.split_once("://").unwrap_or(("http", address));
        if !["http", "https", "grpc", "grpcs"].contains(&scheme) {
            return Err(format!("{scheme}:// is not a protocol of a server"));
        }
        if !is_server(host) {
            return Err(format!("{host} is not the address of a server"));
        }
        let block = self.upstream_blocks.iter().find(|block| block.word(0) == Some(host));
        if block.is_none() && need.is_empty() {
            table.set("servers", server_address(scheme, host));
            return Ok(());
        }
        let base = upstream_name(host);
        let name = self.upstream(&base, need, |made| match block {
            Some(block) => {
                made.place = Some(block.place.clone());
                self.write_block(block, scheme, made)
            }
            None => {
                made.set("servers", server_address(scheme, host));
                Ok(())
            }
        })?;
        table.set("upstream", name);
        Ok(())
    }

    /// The name of the `[[upstream]]` with these settings: another one where routes differ in them.
    fn upstream(
        &self,
        base: &str,
        need: Need,
        write: impl FnOnce(&mut Table) -> Result<(), String>,
    ) -> Result<String, String> {
        let mut made = Table::default();
        write(&mut made)?;
        for (key, value) in need.table.entries {
            made.set(&key, value);
        }
        let mut upstreams = self.upstreams.borrow_mut();
        let is_same = |table: &&Table| table.entries.get(1..) == Some(&made.entries);
        if let Some(Value::Text(name)) = upstreams.iter().find(is_same).and_then(|table| table.get("name")) {
            return Ok(name.clone());
        }
        let is_taken = |name: &str| upstreams.iter().any(|table| table.get("name") == Some(&Value::from(name)));
        let mut name = base.to_owned();
        let mut number = 2;
        while is_taken(&name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        made.entries.insert(0, ("name".to_owned(), Value::Text(name.clone())));
        upstreams.push(made);
        Ok(name)
    }

    fn write_block(&self, block: &'tree Directive, scheme: &str, table: &mut Table) -> Result<(), String> {
        self.notes.translated(block);
        let mut servers = Vec::new();
        let (mut failures, mut ejection) = (None, None);
        for directive in block.children() {
            match directive.name() {
                "server" => {
                    if directive.texts().any(|word| word == "down") {
                        self.notes.no_line(directive, "a server that is down gets no requests");
                        continue;
                    }
                    if !is_server(directive.word(0).unwrap_or_default()) {
                        self.notes.lost(directive, "it is not the address of a server");
                        continue;
                    }
                    servers.push(self.block_server(directive, scheme));
                    for word in directive.texts() {
                        match word.split_once('=') {
                            Some(("max_fails", number)) => failures = number.parse().ok(),
                            Some(("fail_timeout", time)) => ejection = milliseconds(time),
                            _ => {}
                        }
                    }
                }
                name => self.write_balancing(name, directive, table)?,
            }
        }
        if servers.is_empty() {
            return Err(format!("upstream {} has no servers", block.word(0).unwrap_or_default()));
        }
        table.entries.insert(0, ("servers".to_owned(), Value::texts(servers)));
        if let Some(failures) = failures.filter(|failures| *failures != 3) {
            table.set("max-failures", Value::Number(failures));
        }
        if let Some(ejection) = ejection.filter(|ejection| *ejection != 10_000 && *ejection > 0) {
            table.set("ejection-time", written_duration(ejection));
        }
        Ok(())
    }

    fn block_server(&self, directive: &Directive, scheme: &str) -> String {
        self.notes.translated(directive);
        let mut server = server_address(scheme, directive.word(0).unwrap_or_default());
        for word in directive.texts().skip(1) {
            match word.split_once('=') {
                Some(("weight", "1")) => {}
                Some(("weight", weight)) if weight.parse::<u64>().is_ok_and(|weight| weight > u64::from(u16::MAX)) => {
                    self.notes.differs(directive, format!("a weight is {} at most", u16::MAX));
                    server.push_str(&format!(",weight={}", u16::MAX));
                }
                Some(("weight", weight)) => server.push_str(&format!(",weight={weight}")),
                Some(("max_conns", "0")) => {}
                Some(("max_conns", number)) => server.push_str(&format!(",max={number}")),
                Some(("max_fails" | "fail_timeout" | "slow_start", _)) => {}
                Some(("id" | "route", name)) => server.push_str(&format!(",id={name}")),
                None if word == "backup" => server.push_str(",backup"),
                None if word == "resolve" => {}
                _ => self.notes.lost(directive, format!("`{word}` of a server has no translation")),
            }
        }
        server
    }

    fn write_balancing(&self, name: &str, directive: &Directive, table: &mut Table) -> Result<(), String> {
        match name {
            "least_conn" => table.set("balance", "least-requests"),
            "ip_hash" => table.set("balance", "hash"),
            "random" => table.set("balance", "least-requests"),
            "least_time" => table.set("balance", "latency"),
            "hash" => {
                table.set("balance", "hash");
                let key = directive.word(0).unwrap_or_default();
                let key = match key {
                    "$remote_addr" | "$binary_remote_addr" => None,
                    "$request_uri" => Some("target".to_owned()),
                    "$uri" => Some("path".to_owned()),
                    "$host" | "$http_host" => Some("host".to_owned()),
                    _ => match key.trim_start_matches('$').split_once('_') {
                        Some(("cookie", name)) => Some(format!("cookie:{name}")),
                        Some(("arg", name)) => Some(format!("query:{name}")),
                        Some(("http", name)) => Some(format!("header:{}", super::condition::field_name(name))),
                        _ => {
                            self.notes.lost(directive, format!("Serow's hash has no key like {key}"));
                            return Ok(());
                        }
                    },
                };
                table.set_some("hash-key", key);
            }
            "keepalive" => {
                let number = directive.word(0).and_then(|word| word.parse().ok()).filter(|number| *number != 64);
                table.set_some("keep-idle", number.map(Value::Number));
            }
            "keepalive_timeout" => {
                let time = directive.word(0).and_then(milliseconds).filter(|time| *time != 55_000);
                table.set_some("keep-idle-timeout", time.map(written_duration));
            }
            "zone" | "keepalive_requests" | "keepalive_time" | "resolver" | "resolver_timeout" => {
                self.notes.no_line(
                    directive,
                    "Serow shares the state of servers among its threads, and resolves names again",
                );
                return Ok(());
            }
            "sticky" | "sticky_cookie_insert" if directive.word(0) == Some("cookie") => {
                table.set("sticky", "insert");
                table.set_some("sticky-cookie", directive.word(1).map(str::to_owned));
            }
            _ => {
                self.notes.lost(directive, "it has no translation in an [[upstream]]");
                return Ok(());
            }
        }
        self.notes.translated(directive);
        Ok(())
    }
}

/// Whether a text can be the address of a server, or the name of an `upstream`.
pub(super) fn is_server(host: &str) -> bool {
    if let Some(path) = host.strip_prefix("unix:") {
        return path.starts_with('/') && !path.contains([',', ' ']);
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !host.ends_with(']') => (name, port.parse::<u16>().ok().filter(|port| *port > 0)),
        _ => (host, Some(80)),
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = !name.is_empty() && name.bytes().all(is_letter);
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    port.is_some() && (is_name || address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()))
}

/// A server as Serow's settings have it.
pub(super) fn server_address(scheme: &str, host: &str) -> String {
    if let Some(path) = host.strip_prefix("unix:") {
        let path = path.trim_end_matches(':');
        return match scheme {
            "grpc" => format!("h2c+unix:{path}"),
            _ => format!("unix:{path}"),
        };
    }
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    match scheme {
        "https" | "grpcs" => format!("https://{host}"),
        "grpc" => format!("h2c://{host}"),
        _ if has_port => host.to_owned(),
        _ => format!("{host}:80"),
    }
}

/// A name for an `[[upstream]]`, from that of its block or from an address.
fn upstream_name(host: &str) -> String {
    let name = host.rsplit('/').next().unwrap_or(host).trim_end_matches(".sock");
    let name: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' })
        .collect();
    if name.trim_matches('-').is_empty() { "servers".to_owned() } else { name.trim_matches('-').to_owned() }
}
