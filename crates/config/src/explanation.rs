//! The settings of a file in other words: all that differ from the defaults, each value in its shortest form. The text
//! can be read again as a settings file and means the same.

use std::{fmt::Write, path::PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    options::{FolderOptions, GeneralOptions, UpstreamOptions, without_options},
    tables::{
        access::LimitTable,
        applications::AppTable,
        cgi::CgiTable,
        handlers::{FilesSettings, FilesTable, HandlerTable, MissingChoice, RedirectTable, RespondTable},
        maps::MapTable,
        php::{PhpProcessSettings, PhpSettings, PhpTable},
        redis::RedisTable,
        root::{AccountTable, MetricsTable, ReloadTable, RootTable, SandboxTable, ScriptsTable},
        sites::{RouteTable, SiteContent, SiteTable},
        status::RedirectStatus,
        upstreams::{ProxyTable, UpstreamTable},
    },
};

/// Writes the settings of a file as the text of another one.
pub fn of(table: &RootTable) -> String {
    let GeneralOptions { listening, tls, acme, http, logging, admin, limits, timeouts } = &table.general;
    let mut keys = Keys::default();
    keys.add(&table.account, &AccountTable::default());
    keys.add(&table.sandbox, &SandboxTable::default());
    keys.add(&table.reload, &ReloadTable::default());
    keys.add(listening, &without_options());
    keys.add(tls, &without_options());
    keys.add(http, &without_options());
    keys.add(logging, &without_options());
    keys.add(admin, &without_options());
    keys.add(&table.metrics, &MetricsTable::default());
    keys.add(limits, &without_options());
    keys.add(timeouts, &without_options());
    keys.add(&table.scripts, &ScriptsTable::default());
    let mut of_acme = Keys::default();
    of_acme.add(acme, &without_options());
    let of_acme = if of_acme.0.is_empty() { String::new() } else { format!("\n[acme]\n{}", of_acme.lines()) };
    let of_cache = table.cache.as_ref().map_or_else(String::new, |cache| {
        let mut keys = Keys::default();
        keys.add_all(cache);
        format!("\n[cache]\n{}", keys.lines())
    });
    let maps: String = table.maps.iter().map(of_map).collect();
    let redis: String = table.redis.iter().map(of_redis).collect();
    let rate_limits: String = table.limits.iter().map(of_limit).collect();
    let upstreams: String = table.upstreams.iter().map(of_upstream).collect();
    let sites: String = table.sites.iter().map(of_site).collect();
    format!("{}{of_acme}{of_cache}{maps}{redis}{rate_limits}{upstreams}{sites}", keys.lines())
}

fn of_map(map: &MapTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&map.settings);
    format!("\n[[map]]\n{}", keys.lines())
}

fn of_redis(redis: &RedisTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&redis.settings);
    format!("\n[redis]\n{}", keys.lines())
}

fn of_limit(limit: &LimitTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&limit.settings);
    format!("\n[[limit]]\n{}", keys.lines())
}

fn of_upstream(upstream: &UpstreamTable) -> String {
    let UpstreamOptions { balancing, sticky, timeouts, connections, tls, retries, health } = &upstream.arguments;
    let mut keys = Keys::default();
    keys.add_all(&upstream.settings);
    keys.add(balancing, &without_options());
    keys.add(sticky, &without_options());
    keys.add(timeouts, &without_options());
    keys.add(connections, &without_options());
    keys.add(tls, &without_options());
    keys.add(retries, &without_options());
    keys.add(health, &without_options());
    format!("\n[[upstream]]\n{}", keys.lines())
}

fn of_site(site: &SiteTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&site.settings);
    keys.add_all(&site.header_rules);
    keys.add_all(&site.log);
    keys.add_all(&site.policy);
    keys.add_all(&site.access);
    let routes = match &site.content {
        SiteContent::Files(files) => {
            keys.add_table("files", of_files(files));
            String::new()
        }
        SiteContent::App(app) => {
            keys.add_table("app", of_app(app));
            String::new()
        }
        SiteContent::Proxy(proxy) => {
            keys.add_table("proxy", of_proxy(proxy));
            String::new()
        }
        SiteContent::Cgi(cgi) => {
            keys.add_table("cgi", of_cgi(cgi));
            String::new()
        }
        SiteContent::Php(php) => {
            keys.add_table("php", of_php(php));
            String::new()
        }
        SiteContent::Routes(routes) => routes.iter().map(of_route).collect(),
    };
    format!("\n[[site]]\n{}{routes}", keys.lines())
}

fn of_route(route: &RouteTable) -> String {
    let mut keys = Keys::default();
    keys.add_all(&route.settings);
    keys.add_all(&route.header_rules);
    keys.add_all(&route.log);
    keys.add_all(&route.policy);
    keys.add_all(&route.access);
    if let Some(when) = &route.when {
        let mut table = Keys::default();
        table.add_all(when);
        keys.add_table("when", table);
    }
    match &route.handler {
        HandlerTable::Files(files) => keys.add_table("files", of_files(files)),
        HandlerTable::App(app) => keys.add_table("app", of_app(app)),
        HandlerTable::Proxy(proxy) => keys.add_table("proxy", of_proxy(proxy)),
        HandlerTable::Cgi(cgi) => keys.add_table("cgi", of_cgi(cgi)),
        HandlerTable::Php(php) => keys.add_table("php", of_php(php)),
        HandlerTable::Redirect(redirect) => {
            let mut table = Keys::default();
            table.add(redirect, &RedirectTable { to: String::new(), status: RedirectStatus::default() });
            keys.add_table("redirect", table);
        }
        HandlerTable::Respond(response) => {
            let mut table = Keys::default();
            table.add(response, &RespondTable::default());
            keys.add_table("respond", table);
        }
        HandlerTable::Rewrite(rewrite) => keys.add_all(rewrite),
    }
    format!("\n[[site.route]]\n{}", keys.lines())
}

fn of_files(files: &FilesTable) -> Keys {
    let FolderOptions { content, caching } = &files.folder;
    let mut keys = Keys::default();
    let default = FilesSettings { root: PathBuf::new(), missing: MissingChoice::default(), strip_prefix: false };
    keys.add(&files.settings, &default);
    keys.add(content, &without_options());
    keys.add(caching, &without_options());
    keys
}

fn of_app(app: &AppTable) -> Keys {
    let mut keys = Keys::default();
    keys.add_all(&app.settings);
    keys.add(&app.arguments, &without_options());
    keys
}

fn of_proxy(proxy: &ProxyTable) -> Keys {
    let mut keys = Keys::default();
    keys.add_all(&proxy.settings);
    keys.add(&proxy.forwarding, &without_options());
    keys
}

fn of_cgi(cgi: &CgiTable) -> Keys {
    let mut keys = Keys::default();
    keys.add(cgi, &CgiTable::default());
    keys
}

fn of_php(php: &PhpTable) -> Keys {
    let mut keys = Keys::default();
    keys.add(&php.settings, &PhpSettings::default());
    keys.add_all(&php.requests);
    keys.add(&php.processes, &PhpProcessSettings::default());
    keys.add(&php.caching, &without_options());
    keys
}

/// Keys and values of a table, in their order.
#[derive(Default)]
struct Keys(Map<String, Value>);

impl Keys {
    /// Adds the settings that differ from the defaults.
    fn add<T: Serialize>(&mut self, settings: &T, defaults: &T) {
        let defaults = object(defaults);
        let differing = object(settings).into_iter().filter(|(key, value)| defaults.get(key) != Some(value));
        self.0.extend(differing);
    }

    /// Adds the settings that say something.
    fn add_all<T: Serialize>(&mut self, settings: &T) {
        let is_empty = |(key, value): &(String, Value)| {
            value.is_null() || value.as_object().is_some_and(Map::is_empty) && key != MEANT_IF_EMPTY
        };
        self.0.extend(object(settings).into_iter().filter(|entry| !is_empty(entry)));
    }

    fn add_table(&mut self, key: &str, table: Self) {
        self.0.insert(key.to_owned(), Value::Object(table.0));
    }

    /// A line for each.
    fn lines(&self) -> String {
        let mut lines = String::new();
        for (name, value) in &self.0 {
            // A String takes everything.
            let _ = writeln!(lines, "{} = {}", key(name), toml(value));
        }
        lines
    }
}

fn object<T: Serialize>(settings: &T) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(keys)) => keys,
        // All settings are structs with values that are text, numbers, lists or tables.
        _ => Map::new(),
    }
}

/// A value as TOML writes it.
fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        // One stands for a list of it.
        Value::Array(values) if values.len() == 1 => toml(&values[0]),
        Value::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(keys) if keys.is_empty() => "{}".to_owned(),
        Value::Object(keys) => {
            let entries = keys.iter().map(|(name, value)| format!("{} = {}", key(name), toml(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { string(name) }
}

fn string(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            character if character.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(character))),
            character => quoted.push(character),
        }
    }
    quoted + "\""
}

/// A table without conditions: any certificate is enough.
const MEANT_IF_EMPTY: &str = "client-certificate";
