//! Caches of responses.

use serow_nginx_syntax::{
    directive::Directive,
    scope::Scope,
    units::{seconds, written_duration},
};
use serow_settings_writer::{table::Table, value::Value};

use super::super::{handler::Handler, position::Position, server::Server, text::Text};

/// Sets whether and how responses are cached.
pub(crate) fn set<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    handler: &Handler,
    table: &mut Table,
) {
    let server = position.server;
    let family = handler.family;
    let name = |rest: &str| format!("{family}_cache{rest}");
    let notes = server.notes();
    let zone = settings.nearest_one(&name("")).filter(|_| !family.is_empty());
    zone.into_iter().for_each(|zone| notes.translated(zone));
    if zone.is_none_or(|zone| zone.word(0) == Some("off")) {
        let of_cache = ["cache_", "no_cache", "ignore_headers"].map(|start| format!("{family}_{start}"));
        let unused = of_cache.iter().flat_map(|start| settings.beginning_with(start));
        return unused.for_each(|directive| notes.no_line(directive, "no response is stored here"));
    }
    server.import.use_cache();
    let mut cache = Table::default();
    validity(server, settings, &name("_valid"), &mut cache);
    stale(server, settings, &name("_use_stale"), settings.is_on(&name("_background_update")), &mut cache);
    bypass(position, settings, &[&name("_bypass"), &format!("{family}_no_cache")], &mut cache);
    if let Some(ignored) = settings.nearest_one(&format!("{family}_ignore_headers")) {
        notes.translated(ignored);
        let fields = ignored.texts().filter(|field| {
            !field.to_ascii_lowercase().starts_with("x-accel-") || field.eq_ignore_ascii_case("x-accel-expires")
        });
        cache.set("ignore-fields", Value::list(fields.map(str::to_owned)));
    }
    if let Some(methods) = settings.nearest_one(&name("_methods")) {
        match methods.texts().any(|method| !["GET", "HEAD"].contains(&method)) {
            true => notes.lost(
                methods,
                "Serow caches responses to GET and HEAD only: POST with another body would get the same one",
            ),
            false => notes.translated(methods),
        }
    }
    if let Some(key) = settings.nearest_one(&name("_key")) {
        key_parts(server, key, &mut cache);
    }
    for (rest, why) in [
        ("_lock", "always on"),
        ("_revalidate", "always on"),
        ("_background_update", "on with `stale-while-revalidate`"),
        ("_max_range_offset", "the cache stores parts of large responses"),
    ] {
        settings.nearest(&name(rest)).into_iter().for_each(|directive| notes.no_line(directive, why));
    }
    for directive in ["_lock_timeout", "_lock_age"].iter().flat_map(|rest| settings.nearest(&name(rest))) {
        match directive.word(0).and_then(seconds) {
            Some(5) => notes.translated(directive),
            _ => notes.differs(directive, "requests wait 5 s for the one that fetches the response"),
        }
    }
    if let Some(uses) = settings.nearest_one(&name("_min_uses")) {
        match uses.word(0) {
            Some("1") => notes.translated(uses),
            _ => notes.differs(uses, "a response is stored at its first request"),
        }
    }
    match cache.is_empty() {
        true => table.set("cache", Value::Bool(true)),
        false => table.set("cache", cache.into_value()),
    }
}

fn validity<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, name: &str, cache: &mut Table) {
    let mut times: Vec<(String, Value)> = Vec::new();
    for valid in settings.nearest(name) {
        let words: Vec<&str> = valid.texts().collect();
        let Some((time, statuses)) = words.split_last() else { continue };
        let Some(age) = seconds(time) else {
            server.notes().lost(valid, format!("{time} is not a duration"));
            continue;
        };
        server.notes().translated(valid);
        let statuses = if statuses.is_empty() { &["200", "301", "302"][..] } else { statuses };
        for status in statuses {
            if *status == "any" {
                server.notes().differs(valid, "`any` is for errors that can be cached: 404 and 410");
                for status in ["404", "410"] {
                    push(&mut times, status, age);
                }
            } else {
                push(&mut times, status, age);
            }
        }
    }
    if !times.is_empty() {
        cache.set("default-ttl", Value::Table(times));
    }
}

fn push(times: &mut Vec<(String, Value)>, status: &str, age: u64) {
    if !times.iter().any(|(other, _)| other == status) {
        times.push((status.to_owned(), Value::Text(written_duration(age * 1000))));
    }
}

fn stale<'tree>(
    server: &Server<'_, 'tree>,
    settings: &Scope<'tree>,
    name: &str,
    in_background: Option<bool>,
    cache: &mut Table,
) {
    let Some(directive) = settings.nearest_one(name) else { return };
    let words: Vec<&str> = directive.texts().collect();
    if words == ["off"] {
        return server.notes().translated(directive);
    }
    // nginx has stale responses as long as they are stored; `inactive` of the zone says how long that is without a request.
    server.notes().differs(directive, "a stale response may be sent for a day at most; nginx has no such limit");
    if words.contains(&"updating") || in_background == Some(true) {
        cache.set("stale-while-revalidate", "1d");
    }
    if words.iter().any(|word| *word != "updating") {
        cache.set("stale-if-error", "1d");
    }
}

fn bypass<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, names: &[&str], cache: &mut Table) {
    let server = position.server;
    let mut parts: Vec<String> = Vec::new();
    for directive in names.iter().flat_map(|name| settings.nearest(name)) {
        for word in directive.texts() {
            let text = position.filled(word);
            let part = match text.variable().and_then(|name| name.split_once('_')) {
                Some(("cookie", name)) => Some(format!("cookie:{name}")),
                Some(("arg", name)) => Some(format!("query:{name}")),
                Some(("http", name)) => Some(format!("header:{}", super::super::condition::field_name(name))),
                _ if text.variable().is_some_and(|name| position.variables.has_map(name)) => {
                    text.variable().map(|name| format!("variable:{name}"))
                }
                _ if text.literal().is_some_and(|text| text.is_empty() || text == "0") => None,
                _ => {
                    server.notes().lost(directive, format!(
                        "Serow passes the cache by for cookies, arguments and header fields, and not for {word}: write routes \
                         with `when`, one of them without `cache`"
                    ));
                    continue;
                }
            };
            server.notes().translated(directive);
            parts.extend(part.filter(|part| !parts.contains(part)));
        }
    }
    if !parts.is_empty() {
        cache.set("bypass", Value::list(parts));
    }
}

/// The parts of a key that the URL does not have.
fn key_parts(server: &Server<'_, '_>, key: &Directive, cache: &mut Table) {
    let text = Text::of(key.word(0).unwrap_or_default());
    let mut parts = Vec::new();
    for name in text.variables() {
        match name.split_once('_') {
            Some(("cookie", name)) => parts.push(format!("cookie:{name}")),
            Some(("http", name)) if name != "host" => {
                parts.push(format!("header:{}", super::super::condition::field_name(name)))
            }
            _ if matches!(
                name,
                "scheme"
                    | "host"
                    | "http_host"
                    | "request_uri"
                    | "proxy_host"
                    | "uri"
                    | "args"
                    | "is_args"
                    | "query_string"
                    | "request_method"
                    | "server_name"
                    | "document_uri"
            ) => {}
            _ => return server.notes().lost(key, format!("${name} cannot be a part of the key of Serow's cache")),
        }
    }
    if !parts.is_empty() {
        cache.set("key", Value::list(parts));
    }
    let names_query = text.variables().any(|name| matches!(name, "request_uri" | "args" | "query_string"));
    if !names_query && text.variables().any(|name| name == "uri") {
        cache.set("ignore-query", Value::Bool(true));
    }
    server.notes().translated(key);
}

/// Takes the variables out of `bypass`, which routes of their own are for.
pub(crate) fn take_variables(route: &mut Table) -> Vec<String> {
    let Some(Value::Table(mut entries)) = route.get("cache").cloned() else { return Vec::new() };
    let Some(position) = entries.iter().position(|(key, _)| key == "bypass") else { return Vec::new() };
    let Value::List(parts) = entries[position].1.clone() else { return Vec::new() };
    let mut names = Vec::new();
    let mut left = Vec::new();
    for part in parts {
        match &part {
            Value::Text(text) => match text.strip_prefix("variable:") {
                Some(name) => names.push(name.to_owned()),
                None => left.push(part),
            },
            _ => left.push(part),
        }
    }
    if left.is_empty() {
        entries.remove(position);
    } else {
        entries[position].1 = Value::List(left);
    }
    route.set("cache", if entries.is_empty() { Value::Bool(true) } else { Value::Table(entries) });
    names
}
