//! `proxy_pass` and `grpc_pass`: requests that another server answers.

use serow_nginx_syntax::{
    directive::Directive,
    pattern::Pattern,
    scope::Scope,
    units::{self, milliseconds},
};
use serow_settings_writer::{
    matching::{Condition, Match},
    table::Table,
    value::Value,
};

use super::{
    handler::{Handler, HandlerKind},
    locations::Location,
    passing,
    position::Position,
    text::{Text, Use, is_field_name},
    upstreams::{Need, is_server},
};

/// The parts of `http://host:port/path`: what is before the path, and the path if there is one.
pub(super) fn split_url(url: &str) -> (&str, Option<&str>) {
    let start = url.find("://").map_or(0, |position| position + 3);
    if let Some(socket) = url[start..].strip_prefix("unix:") {
        // The path behind the socket follows a colon.
        return match socket.find(':') {
            Some(colon) => {
                let end = start + "unix:".len() + colon;
                (&url[..end], Some(&url[end + 1..]).filter(|path| !path.is_empty()))
            }
            None => (url, None),
        };
    }
    match url[start..].find(['/', '?']) {
        Some(slash) => (&url[..start + slash], Some(&url[start + slash..])),
        None => (url, None),
    }
}

/// The handlers of a `proxy_pass`, each with its requests: one for each server that a variable can name.
pub(super) fn handlers<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    pass: &'tree Directive,
    settings: &Scope<'tree>,
    matching: &Match,
    rewrite: Option<String>,
) -> Result<Vec<(Match, Handler)>, String> {
    let written = Text::of(pass.word(0).unwrap_or_default());
    let url = position.variables.filled(&written);
    let had_variables = written.literal().is_none();
    let (address, path) = parts(&url);
    let mut handlers = Vec::new();
    for (of_server, server) in addresses(position, matching, &address)? {
        // `grpc_pass` needs no scheme.
        let server =
            if pass.name() == "grpc_pass" && !server.contains("://") { format!("grpc://{server}") } else { server };
        let had_variables = had_variables || of_server != *matching;
        let (path, rewrite) = (path.as_ref(), rewrite.clone());
        let handler = handler(position, location, settings, matching, &server, path, had_variables, rewrite)?;
        handlers.push((of_server, handler));
    }
    position.notes().translated(pass);
    Ok(handlers)
}

/// The servers that a text can name, each with its requests: one, or those of a map with a fixed number.
pub(super) fn addresses(
    position: &Position<'_, '_>,
    matching: &Match,
    address: &Text,
) -> Result<Vec<(Match, String)>, String> {
    if let Some(address) = address.literal() {
        return Ok(vec![(matching.clone(), address.to_owned())]);
    }
    let (Some(name), scheme) = (address.variables().next(), address.leading()) else {
        return Err("the server has variables".to_owned());
    };
    let values = position.server.import.map_values(name).filter(|_| address.variables().count() == 1);
    let Some(values) = values else {
        return Err(format!(
            "the server depends on ${name}, which clients may choose: write a route with `when` for each server that is meant"
        ));
    };
    let of_server = |(value, server): (String, String)| {
        let patterns = vec![super::condition::exact_pattern(&value)];
        let matching = matching.and(Condition { kind: "variable", name: name.to_owned(), patterns });
        (matching, format!("{scheme}{server}"))
    };
    Ok(values.into_iter().map(of_server).collect())
}

/// The beginning of the names of its directives.
fn family(address: &str) -> &'static str {
    if address.starts_with("grpc") { "grpc" } else { "proxy" }
}

/// The address, and the path behind it.
fn parts(url: &Text) -> (Text, Option<Text>) {
    if let Some(url) = url.literal() {
        let (address, path) = split_url(url);
        return (Text::of(address), path.map(Text::of));
    }
    let written: String = url
        .parts
        .iter()
        .map(|part| match part {
            super::text::Part::Literal(literal) => literal.clone(),
            super::text::Part::Variable(name) => format!("${{{name}}}"),
        })
        .collect();
    let start = written.find("://").map_or(0, |position| position + 3);
    let is_uri =
        |behind: &str| ["${uri}", "${request_uri}", "${document_uri}"].iter().any(|name| behind.starts_with(name));
    let end = written[start..]
        .char_indices()
        .find(|(position, letter)| *letter == '/' || is_uri(&written[start + position..]))
        .map(|(position, _)| start + position);
    match end {
        Some(end) => (Text::of(&written[..end]), Some(Text::of(&written[end..]))),
        None => (Text::of(&written), None),
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one directive and of the route around it")]
fn handler<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    settings: &Scope<'tree>,
    matching: &Match,
    address: &str,
    path: Option<&Text>,
    had_variables: bool,
    rewrite: Option<String>,
) -> Result<Handler, String> {
    let mut handler = Handler::passing(HandlerKind::Proxy, family(address));
    handler.has_tls = address.starts_with("https://") || address.starts_with("grpcs://");
    let need = Need::of(position.server.import, settings, &handler);
    position.server.import.set_server(address, need, &mut handler.table)?;
    match rewrite {
        // With `rewrite … break`, the path of `proxy_pass` does not count.
        Some(rewrite) => set_rewritten(matching, rewrite, &mut handler),
        None => set_path(position, location, matching, path, had_variables, &mut handler)?,
    }
    fields(position, settings, address, &mut handler);
    // nginx has no default for a `proxy_pass` with variables.
    let has_default = !had_variables && handler.table.get("host").is_some();
    if handler.family == "proxy" {
        redirects(position, location, settings, address, path, has_default, &mut handler.table);
        cookies(position, settings, &mut handler.table);
    }
    times(position, settings, &mut handler);
    Ok(handler)
}

/// The path after a rewrite: `/api/(.*)` to `/$1` leaves out a prefix.
fn set_rewritten(matching: &Match, rewrite: String, handler: &mut Handler) {
    let mut route = Table::default();
    matching.write(true, &mut route);
    if let (Some(Value::Text(path)), "/$1") = (route.get("path"), rewrite.as_str())
        && let Some(prefix) = path.strip_suffix("/*").filter(|prefix| !prefix.is_empty())
    {
        handler.table.set("strip-prefix", prefix);
        return;
    }
    handler.rewrite = Some(rewrite);
}

/// The path that the server gets.
fn set_path<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    matching: &Match,
    path: Option<&Text>,
    had_variables: bool,
    handler: &mut Handler,
) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let written = position.variables.resolve(path, Use::Message)?.written();
    if had_variables || path.literal().is_none() {
        let is_unchanged = ["$request_uri", "$uri$is_args$args", "$uri"].contains(&written.as_str());
        if is_unchanged {
            return Ok(());
        }
        let written = match written.strip_suffix("$is_args$args") {
            Some(before) => before.to_owned(),
            // A text with a query has that one alone.
            None if written.contains('?') => written,
            None => format!("{written}?"),
        };
        if let Some(before) = written.strip_suffix("$request_uri?") {
            handler.table.set("add-prefix", before.trim_end_matches('/'));
            return Ok(());
        }
        handler.rewrite = Some(written);
        return Ok(());
    }
    if written.contains('?') {
        return Err("nginx appends the request's query behind the one of `proxy_pass` with a second `?`".to_owned());
    }
    if matching.exact_path().is_some() {
        handler.rewrite = Some(written);
        return Ok(());
    }
    let Some(prefix) = location.path() else {
        return Err("`proxy_pass` with a path needs a location with a prefix".to_owned());
    };
    if prefix == written {
        return Ok(());
    }
    let both_end = prefix.ends_with('/') && written.ends_with('/');
    match matching.prefix() == Some(prefix) && !both_end {
        // nginx puts the rest of the path directly behind the text.
        true => handler.rewrite = Some(format!("{written}$1")),
        false => set_prefixes(prefix, &written, &mut handler.table),
    }
    Ok(())
}

fn set_prefixes(prefix: &str, path: &str, table: &mut Table) {
    let (prefix, path) = (prefix.trim_end_matches('/'), path.trim_end_matches('/'));
    if !prefix.is_empty() {
        table.set("strip-prefix", prefix);
    }
    if !path.is_empty() {
        table.set("add-prefix", path);
    }
}

/// Attributes that cookies get by `cookie-flags`.
const COOKIE_FLAGS: &[&str] =
    &["secure", "httponly", "partitioned", "samesite=strict", "samesite=lax", "samesite=none"];

/// Fields of requests and responses.
fn fields<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, address: &str, handler: &mut Handler) {
    let (table, family) = (&mut handler.table, handler.family);
    let notes = position.notes();
    let decided = position.server.with_decisions(&position.variables, settings);
    let (mut host, mut set) = (None, Vec::new());
    let (mut names_client, mut usual) = (false, Vec::new());
    let set_by = settings.nearest(&format!("{family}_set_header"));
    for &field in &set_by {
        let (Some(name), Some(value)) = (field.word(0), field.word(1)) else { continue };
        match (name.to_ascii_lowercase().as_str(), value) {
            ("host", _) => host = Some((field, value)),
            ("connection" | "upgrade" | "keep-alive" | "te", _) => {
                notes.no_line(field, "connections to servers stay open, and upgrades such as WebSockets are passed on");
            }
            ("content-length" | "transfer-encoding" | "expect", _) => {
                notes.no_line(field, "Serow frames the requests to servers itself");
            }
            ("x-forwarded-for", "$proxy_add_x_forwarded_for" | "$remote_addr" | "$http_x_forwarded_for") => {
                names_client = true;
                notes.translated(field);
            }
            ("x-forwarded-proto", "$scheme" | "$http_x_forwarded_proto") => {
                match value {
                    "$scheme" => notes.translated(field),
                    _ => notes.differs(field, "what clients say counts only if they are proxies that `trust` names"),
                }
                usual.push("X-Forwarded-Proto: $scheme".to_owned());
            }
            ("x-forwarded-host", "$host" | "$http_host" | "$server_name") => {
                notes.translated(field);
                usual.push("X-Forwarded-Host: $host".to_owned());
            }
            _ if !is_field_name(name) => notes.lost(field, format!("{name} is not the name of a field")),
            (lower, _) => match decided.resolve(&position.filled(value), Use::Message) {
                Ok(value) => {
                    notes.translated(field);
                    names_client |= lower == "x-forwarded-for";
                    // A proxy does not know what the path of the route matched.
                    if value.names_group() {
                        handler.fields.push((name.to_owned(), value.written()));
                        continue;
                    }
                    set.push(format!("{name}: {}", value.written()).trim_end().to_owned());
                }
                Err(why) => notes.lost(field, why),
            },
        }
    }
    set_host(position, host, address, table);
    let sets_scheme = usual.iter().chain(&set).any(|field| field.starts_with("X-Forwarded-Proto"));
    if !names_client {
        table.set("forwarded", "off");
        set.append(&mut usual);
    } else if !sets_scheme {
        let why = "the server also gets X-Forwarded-Proto and X-Forwarded-Host, which Serow sets with X-Forwarded-For";
        set_by.first().into_iter().for_each(|field| notes.differs(field, why));
    }
    if !set.is_empty() {
        table.set("set-header", Value::texts(set));
    }
    passing::hide_fields(position, settings, family, table);
}

fn set_host(position: &Position<'_, '_>, host: Option<(&Directive, &str)>, address: &str, table: &mut Table) {
    let notes = position.notes();
    // The name of an upstream is the host that nginx sends.
    let name = address.split_once("://").map_or(address, |(_, name)| name);
    let own = if position.server.import.is_upstream(name) { name } else { "server" };
    let Some((field, value)) = host else {
        return table.set("host", own);
    };
    notes.translated(field);
    let filled = position.filled(value);
    match (filled.written().as_str(), filled.literal()) {
        ("$host" | "$http_host" | "$host:$server_port" | "$http_host:$server_port", _) => {}
        ("$proxy_host" | "$proxy_add_host", _) => table.set("host", own),
        ("$server_name", _) if position.server.first_name().is_some() => {
            table.set("host", position.server.first_name().unwrap_or_default())
        }
        (_, Some(name)) if is_server(name) => table.set("host", name),
        (_, Some(name)) => notes.lost(field, format!("{name} is not a host")),
        (other, None) => {
            notes.lost(field, format!("the host that servers get is the client's, the server's or a name, not {other}"))
        }
    }
}

/// `proxy_redirect`.
fn redirects<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    settings: &Scope<'tree>,
    address: &str,
    path: Option<&Text>,
    has_default: bool,
    table: &mut Table,
) {
    let notes = position.notes();
    let mut rewritten = Vec::new();
    let rules = settings.nearest("proxy_redirect");
    // Without a path behind the server, a path of the origin is one of the site as well, whatever the location.
    let default = |rewritten: &mut Vec<(String, Value)>| {
        let from = |path: &str| format!("{address}{path}");
        let rule = match path {
            None => Some((from("/"), "/")),
            Some(path) => path.literal().map(from).zip(location.path()),
        };
        // An address with variables has no redirects of its own.
        let rule = rule.filter(|_| address.contains("://"));
        rewritten.extend(rule.map(|(from, to)| (from, Value::Text(to.to_owned()))));
    };
    for rule in &rules {
        notes.translated(rule);
        match (rule.word(0).unwrap_or_default(), rule.word(1)) {
            ("off", None) => {}
            ("default", None) => default(&mut rewritten),
            (from, Some(to)) => match redirected(from).and_then(|from| Ok((from, position.text(to, Use::Message)?))) {
                Ok((from, to)) => rewritten.push((from, Value::Text(to.written()))),
                Err(why) => notes.lost(rule, why),
            },
            _ => notes.lost(rule, "it has a text and its replacement"),
        }
    }
    if rules.is_empty() && has_default {
        default(&mut rewritten);
    }
    if !rewritten.is_empty() {
        table.set("rewrite-location", Value::Table(rewritten));
    }
}

/// The key of `rewrite-location` for the first word of `proxy_redirect`.
fn redirected(from: &str) -> Result<String, String> {
    if let Some(expression) = from.strip_prefix('~') {
        let (expression, ignores_case) = expression.strip_prefix('*').map_or((expression, false), |rest| (rest, true));
        return Pattern::new(expression, ignores_case).map(|pattern| pattern.written_as_condition());
    }
    match ["/", "http://", "https://"].iter().any(|start| from.starts_with(start)) {
        true => Ok(from.to_owned()),
        false => Err("only the beginning of a URL or of a path has a translation".to_owned()),
    }
}

/// `proxy_cookie_domain`, `proxy_cookie_path` and `proxy_cookie_flags`.
fn cookies<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let notes = position.notes();
    let mut flags: Vec<(String, Value)> = Vec::new();
    for (name, key) in [("proxy_cookie_domain", "cookie-domain"), ("proxy_cookie_path", "cookie-path")] {
        let mut replaced = Vec::new();
        for rule in settings.nearest(name) {
            notes.translated(rule);
            // A usual way to add attributes: `proxy_cookie_path / "/; Secure; HttpOnly"`.
            if let (Some("/"), Some(("/", attributes))) = (rule.word(0), rule.word(1).and_then(|to| to.split_once(';')))
            {
                let attributes = attributes.split(';').map(|attribute| attribute.trim().to_ascii_lowercase());
                let (known, others): (Vec<_>, Vec<_>) = attributes
                    .filter(|attribute| !attribute.is_empty())
                    .partition(|attribute| COOKIE_FLAGS.contains(&attribute.as_str()));
                if !others.is_empty() {
                    notes.lost(rule, format!("`{}` is not an attribute that cookies get here", others.join("; ")));
                }
                flags.push(("*".to_owned(), Value::list(known)));
                continue;
            }
            if let (Some(from), Some(to)) = (rule.word(0), rule.word(1)) {
                match position.text(to, Use::Message) {
                    Ok(to) => replaced.push((from.to_owned(), Value::Text(to.written()))),
                    Err(why) => notes.lost(rule, why),
                }
            }
        }
        if !replaced.is_empty() {
            table.set(key, Value::Table(replaced));
        }
    }
    let named =
        settings.nearest("proxy_cookie_flags").into_iter().inspect(|rule| notes.translated(rule)).filter_map(|rule| {
            let name = rule.word(0)?.replace('~', "");
            let name = if rule.word(0) == Some("~") { "*".to_owned() } else { name };
            Some((name, Value::list(rule.texts().skip(1).map(str::to_owned))))
        });
    flags.extend(named);
    if !flags.is_empty() {
        table.set("cookie-flags", Value::Table(flags));
    }
}

/// Times and buffers of the route.
pub(super) fn times<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, handler: &mut Handler) {
    let (notes, table, is_proxy) = (position.notes(), &mut handler.table, handler.kind == HandlerKind::Proxy);
    let own = |name: &str| format!("{}_{name}", handler.family);
    let time = |name: &str| {
        let directive = settings.nearest_one(&own(name))?;
        let value = directive.word(0).and_then(milliseconds);
        match value {
            Some(_) => notes.translated(directive),
            None => notes.lost(directive, "this is not a duration"),
        }
        value.filter(|value| *value != 60_000)
    };
    if let Some(read) = time("read_timeout") {
        table.set("response-timeout", units::written_duration(read));
        table.set("transfer-timeout", units::written_duration(read));
    }
    if let Some(send) = time("send_timeout")
        && table.get("transfer-timeout").is_none()
    {
        table.set("transfer-timeout", units::written_duration(send));
    }
    // PHP gets a body when it is whole.
    for (name, usual, key, value) in [
        ("buffering", true, "buffer-responses", Value::from("off")),
        ("request_buffering", !is_proxy, "buffer-requests", Value::Bool(true)),
    ] {
        let Some(directive) = settings.nearest_one(&own(name)) else { continue };
        match is_proxy {
            _ if settings.is_on(&own(name)) == Some(usual) => notes.no_line(directive, "it is the default"),
            true => {
                notes.translated(directive);
                table.set(key, value);
            }
            false => notes.differs(directive, "bodies for PHP, and those of its responses, are always buffered"),
        }
    }
    if is_proxy && settings.is_on("underscores_in_headers") == Some(true) {
        settings.nearest("underscores_in_headers").into_iter().for_each(|directive| notes.translated(directive));
        table.set("underscores-in-headers", Value::Bool(true));
    }
}
