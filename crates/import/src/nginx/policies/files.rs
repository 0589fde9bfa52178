//! Settings of folders.

use serow_nginx_syntax::{
    directive::Directive,
    scope::Scope,
    units::{seconds, written_duration},
};
use serow_settings_writer::{table::Table, value::Value};

use super::super::server::Server;

/// Sets the keys of `files` that do not depend on the folder.
pub(crate) fn set<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let notes = server.notes();
    let index = settings.nearest("index");
    let names: Vec<String> = index.iter().flat_map(|directive| directive.texts()).map(str::to_owned).collect();
    index.iter().for_each(|directive| notes.translated(directive));
    if !names.is_empty() && names != ["index.html"] {
        let (absolute, names): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.starts_with('/'));
        if let (Some(directive), false) = (index.first(), absolute.is_empty()) {
            notes.lost(directive, "an index with an absolute path has no translation: write a route for it");
        }
        let names: Vec<String> = names.into_iter().filter(|name| !name.contains('$')).collect();
        if names != ["index.html"] {
            table.set("index", Value::texts(names));
        }
    }
    match settings.is_on("autoindex") {
        Some(true) => {}
        _ => table.set("listing", "off"),
    }
    settings.nearest("autoindex").into_iter().for_each(|directive| notes.translated(directive));
    if let Some(format) = settings.nearest_one("autoindex_format") {
        match format.word(0) {
            Some("json") if settings.is_on("autoindex") == Some(true) => {
                notes.translated(format);
                table.set("listing", "json");
            }
            Some("html") => notes.translated(format),
            _ => notes.lost(format, "Serow lists folders as HTML or JSON"),
        }
    }
    links(server, settings, table);
    types(server, settings, table);
    expiry(server, settings, table);
}

/// nginx follows all symbolic links, unless `disable_symlinks` says otherwise.
fn links<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let Some(directive) = settings.nearest_one("disable_symlinks") else { return };
    server.notes().translated(directive);
    match directive.word(0) {
        Some("on") => table.set("symlinks", "none"),
        Some("if_not_owner") => table.set("symlinks", "owner"),
        _ => table.set("symlinks", "all"),
    }
}

fn types<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let notes = server.notes();
    if let Some(types) = settings.nearest_one("types") {
        notes.translated(types);
        let mut endings = Vec::new();
        for line in types.children() {
            // Those of nginx's own file are those of Serow.
            let is_known = line.place.file.file_name().is_some_and(|name| name == "mime.types");
            match is_known {
                true => notes.no_line(line, "Serow knows the usual media types"),
                false => {
                    notes.translated(line);
                    endings.extend(line.texts().map(|ending| format!("{ending}={}", line.name())));
                }
            }
        }
        if !endings.is_empty() {
            table.set("type", Value::texts(endings));
        }
    }
    if let Some(default) = settings.nearest_one("default_type") {
        notes.translated(default);
        match default.word(0) {
            // nginx's own default is text/plain, and each usual nginx.conf has the other one.
            Some("application/octet-stream") | None => {}
            Some(kind) => table.set("default-type", kind),
        }
    }
    settings
        .nearest("types_hash_max_size")
        .into_iter()
        .for_each(|directive| notes.no_line(directive, "a size of nginx's tables"));
}

/// `expires`, with the directives that `add_header Cache-Control` adds to it.
fn expiry<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let Some(cache_control) = cache_control(server, settings) else { return };
    match cache_control {
        CacheControl::Expires(time) => table.set("expires", time),
        CacheControl::Directives(directives) => table.set("cache-control", directives),
    }
}

/// The freshness of responses.
pub(super) enum CacheControl {
    /// A duration.
    Expires(String),
    /// The whole value of Cache-Control.
    Directives(String),
}

/// Whether the value of an `add_header` has variables, so that it is a rule of the route.
pub(super) fn has_variables(field: &Directive) -> bool {
    field.word(1).is_some_and(|value| value.contains('$'))
}

/// The Cache-Control that `expires` and `add_header` make together, without values that have variables.
pub(super) fn cache_control<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>) -> Option<CacheControl> {
    let notes = server.notes();
    let expires = settings.nearest_one("expires");
    let added: Vec<&str> = settings
        .nearest("add_header")
        .into_iter()
        .filter(|field| field.word(0).is_some_and(|name| name.eq_ignore_ascii_case("cache-control")))
        .filter(|field| !has_variables(field))
        .inspect(|field| notes.translated(field))
        .filter_map(|field| field.word(1))
        .filter(|value| !value.is_empty())
        .collect();
    let words: Vec<&str> = expires.map(|directive| directive.texts().collect()).unwrap_or_default();
    let age = match words.as_slice() {
        [] | ["off"] => None,
        ["max"] => Some(315_360_000),
        ["epoch"] => Some(0),
        [time] if time.starts_with('-') => Some(0),
        [time] => seconds(time),
        _ => None,
    };
    if let Some(directive) = expires {
        match (&age, words.as_slice()) {
            (None, [] | ["off"]) | (Some(_), _) => notes.translated(directive),
            (None, ["modified", ..]) => {
                notes.lost(directive, "Serow's `expires` counts from the request, not from the file's date")
            }
            (None, [time]) if time.starts_with('@') => {
                notes.lost(directive, "Serow's `expires` is a duration, not a time of the day")
            }
            (None, _) => notes.lost(
                directive,
                "Serow's `expires` has no variables: write patterns of names, as in expires = [\"*.css=30d\"]",
            ),
        }
    }
    let is_stale = words.first().is_some_and(|word| word.starts_with('-') || *word == "epoch");
    match (age, added.is_empty()) {
        (None, true) => None,
        (None, false) => Some(CacheControl::Directives(added.join(", "))),
        (Some(_), true) if is_stale => Some(CacheControl::Directives("no-cache".to_owned())),
        (Some(_), false) if is_stale => Some(CacheControl::Directives(format!("no-cache, {}", added.join(", ")))),
        (Some(age), true) => Some(CacheControl::Expires(written_duration(age * 1000))),
        (Some(age), false) => {
            let others: Vec<&str> = added.into_iter().filter(|value| *value != format!("max-age={age}")).collect();
            Some(CacheControl::Directives(
                [&[format!("max-age={age}").as_str()], others.as_slice()].concat().join(", "),
            ))
        }
    }
}
