//! Access: addresses, passwords, decisions of another server.

use serow_nginx_syntax::{
    directive::Directive,
    scope::Scope,
    units::{milliseconds, seconds, written_duration},
};
use serow_settings_writer::{route::Route, table::Table, value::Value};

use super::super::{
    condition::{decided_field, field_name},
    position::Position,
    process::network,
    server::Server,
    text::{Text, Use, is_field_name},
};

/// Sets who may send requests.
pub(crate) fn set<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let server = position.server;
    let mut is_complete = addresses(server, settings, table);
    is_complete &= passwords(position, settings, table);
    is_complete &= decisions(position, settings, table);
    is_complete &= methods(server, settings, table);
    is_complete &= !has_other_control(server, settings);
    if !is_complete {
        // The settings must not permit more than nginx does.
        KEYS.iter().for_each(|key| _ = table.remove(key));
        table.set("deny", "all");
        return;
    }
    if let Some(satisfy) = settings.nearest_one("satisfy") {
        server.notes().translated(satisfy);
        let has_user = table.get("basic").is_some() || table.get("forward-auth").is_some();
        let has_addresses = table.get("allow").is_some() || table.get("deny").is_some();
        if satisfy.word(0) == Some("any") && has_user && has_addresses {
            table.set("satisfy", "any");
        }
    }
}

/// Whether a module that Serow does not have controls the access.
fn has_other_control<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>) -> bool {
    const MODULES: &[&str] = &[
        "access_by_lua_block",
        "access_by_lua_file",
        "access_by_lua",
        "auth_digest",
        "auth_gss",
        "auth_jwt",
        "auth_ldap",
        "auth_ldap_servers",
        "auth_oidc",
        "auth_pam",
        "js_access",
        "modsecurity",
        "oidc",
        "session_log",
    ];
    let found: Vec<_> = MODULES.iter().flat_map(|name| settings.nearest(name)).collect();
    let is_on = |directive: &&Directive| directive.word(0) != Some("off");
    for directive in &found {
        server.notes().lost(directive, "Serow has no such access control, so that the location is closed");
    }
    found.iter().any(is_on)
}

/// The clients that get into a location, for routes that lead on to others: they check nothing themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Restriction {
    /// All.
    None,
    /// No client.
    All,
    /// Those that none of these patterns of addresses matches.
    Addresses(Vec<Vec<String>>),
    /// Clients with a password, or within a limit.
    Other,
}

/// Keys of access control, and those of limits.
pub(crate) const KEYS: &[&str] =
    &["allow", "deny", "basic", "forward-auth", "satisfy", "limits", "max-requests-per-client", "allow-methods"];

/// The restrictions of a block.
pub(crate) fn restriction<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>) -> Restriction {
    let table = keys(position, settings);
    let texts = |key: &str| match table.get(key) {
        Some(Value::Text(text)) => vec![text.clone()],
        Some(Value::List(values)) => values
            .iter()
            .filter_map(|value| match value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let (allowed, denied) = (texts("allow"), texts("deny"));
    // Limits of requests are not for the routes that follow.
    let others = ["basic", "forward-auth", "allow-methods"];
    match others.iter().any(|key| table.get(key).is_some()) {
        true => Restriction::Other,
        false if denied == ["all"] => Restriction::All,
        false if allowed.is_empty() && denied.is_empty() => Restriction::None,
        false => {
            let (exceptions, allowed): (Vec<_>, Vec<_>) =
                allowed.into_iter().partition(|network| network.starts_with('!'));
            let others: Vec<String> = allowed.iter().map(|network| format!("!{network}")).collect();
            let refused: Vec<String> = exceptions.iter().map(|network| network[1..].to_owned()).chain(denied).collect();
            Restriction::Addresses([others, refused].into_iter().filter(|patterns| !patterns.is_empty()).collect())
        }
    }
}

fn keys<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>) -> Table {
    let mut table = Table::default();
    set(position, settings, &mut table);
    super::limits::set(position.server, settings, &mut table);
    table
}

/// Gives these routes the restrictions of a block, too. Whether all of them can have these.
pub(crate) fn extend<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, routes: &mut [Route]) -> bool {
    let restrictions = keys(position, settings);
    for route in routes {
        let has_content = ["files", "proxy", "php"].iter().any(|key| route.table.get(key).is_some());
        let own: Vec<_> = route.table.entries.iter().filter(|(key, _)| KEYS.contains(&key.as_str())).collect();
        let is_same =
            own.len() == restrictions.entries.len() && own.iter().all(|entry| restrictions.entries.contains(entry));
        if !has_content || !(own.is_empty() || is_same) {
            return false;
        }
        for (key, value) in &restrictions.entries {
            route.table.set(key, value.clone());
        }
    }
    true
}

/// `allow` and `deny`, of which the first that names the client counts.
fn addresses<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) -> bool {
    let rules = settings.nearest_of(&["allow", "deny"]);
    let (mut allowed, mut denied) = (Vec::new(), Vec::new());
    let (mut ends_with_deny, mut is_complete) = (false, true);
    for (position, rule) in rules.iter().enumerate() {
        let is_allow = rule.name() == "allow";
        let Some(network) = rule.word(0) else { continue };
        let network = match network {
            "unix:" => "unix".to_owned(),
            "all" => "all".to_owned(),
            text => match self::network(text) {
                Some(network) => network,
                None => {
                    server.notes().lost(rule, format!("{text} is not an address or a network"));
                    is_complete = false;
                    continue;
                }
            },
        };
        server.notes().translated(rule);
        if network == "all" {
            ends_with_deny = !is_allow;
            rules[position + 1..].iter().for_each(|rule| server.unreached(rule));
            break;
        }
        if is_allow {
            allowed.push(network);
        } else if allowed.is_empty() {
            denied.push(network);
        } else {
            let why = "a `deny` behind an `allow` has no translation: Serow looks at `deny` first, and then at `allow`";
            let follows_deny_all =
                rules[position..].iter().any(|rule| rule.name() == "deny" && rule.word(0) == Some("all"));
            let has_later_allow = rules[position..].iter().any(|rule| rule.name() == "allow");
            match follows_deny_all && !has_later_allow {
                true => server.notes().no_line(rule, "the `deny all` behind it is for these clients, too"),
                false => {
                    is_complete = false;
                    server.notes().lost(rule, why);
                }
            }
        }
    }
    if ends_with_deny && allowed.is_empty() {
        table.set("deny", "all");
        return is_complete;
    }
    if ends_with_deny {
        table.set(
            "allow",
            Value::texts(allowed.into_iter().chain(denied.into_iter().map(|network| format!("!{network}")))),
        );
    } else if !denied.is_empty() {
        table.set("deny", Value::texts(denied));
    }
    is_complete
}

fn passwords<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) -> bool {
    let server = position.server;
    let Some(realm) = settings.nearest_one("auth_basic") else { return true };
    server.notes().translated(realm);
    let file = settings.nearest_one("auth_basic_user_file");
    if let Some(file) = file {
        server.notes().translated(file);
    }
    let name = realm.word(0).unwrap_or_default();
    if name == "off" {
        return true;
    }
    let Some(path) = file.and_then(|file| file.word(0)) else {
        server.notes().lost(realm, "there is no `auth_basic_user_file` for it");
        return false;
    };
    let path = position.text(path, Use::Message).unwrap_or_default();
    let Some(path) = path.literal().filter(|path| !path.is_empty()) else {
        server.notes().lost(realm, "the file of passwords has no variables in its name");
        return false;
    };
    let name = position.text(name, Use::Message).unwrap_or_default();
    let Some(name) = name.literal() else {
        server.notes().lost(realm, "the realm has variables: write a route for each case, with `when` and `basic`");
        return false;
    };
    let mut basic = vec![("file".to_owned(), Value::Text(server.import.path(path)))];
    basic.push(("realm".to_owned(), Value::Text(name.to_owned())));
    table.set("basic", Value::Table(basic));
    true
}

/// `auth_request`: a location that passes its requests to the server that decides.
fn decisions<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) -> bool {
    let server = position.server;
    let Some(request) = settings.nearest_one("auth_request") else { return true };
    let path = request.word(0).unwrap_or_default();
    if path == "off" {
        server.notes().translated(request);
        return true;
    }
    let lose = |why: String| {
        server.notes().lost(request, why);
        false
    };
    let Some(location) = server.location_for(path) else {
        return lose(format!("there is no location for {path}"));
    };
    let Some(pass) = location.scope.own_one("proxy_pass") else {
        return lose(format!("the location for {path} has no `proxy_pass`"));
    };
    let url = server.constant(pass.word(0).unwrap_or_default(), &location.scope);
    let url = url.as_str();
    if url.contains('$') {
        return lose("the server that decides has variables in its address".to_owned());
    }
    let (address, own) = super::super::proxying::split_url(url);
    let address = address.strip_prefix("http://").unwrap_or(address);
    let to = format!("{address}{}", own.unwrap_or(path));
    server.notes().translated(request);
    server.notes().translated(pass);
    let mut auth = vec![("to".to_owned(), Value::Text(to))];
    let set = decision_fields(position, &location.scope, address);
    if !set.is_empty() {
        auth.push(("set-header".to_owned(), Value::texts(set)));
    }
    decision_cache(server, request, &location.scope, &mut auth);
    let time = location.scope.nearest_one("proxy_read_timeout").and_then(|read| milliseconds(read.word(0)?));
    auth.extend(time.map(|time| ("timeout".to_owned(), Value::Text(written_duration(time)))));
    let [copied, answered] = copied_fields(server, settings);
    if !copied.is_empty() {
        auth.push(("copy".to_owned(), Value::list(copied)));
    }
    if !answered.is_empty() {
        auth.push(("copy-response".to_owned(), Value::list(answered)));
    }
    table.set("forward-auth", Value::Table(auth));
    true
}

/// `proxy_cache` of the location that decides: how long a permission counts, and on which fields it depends.
fn decision_cache(server: &Server<'_, '_>, request: &Directive, settings: &Scope<'_>, auth: &mut Vec<(String, Value)>) {
    let Some(zone) = settings.nearest_one("proxy_cache").filter(|zone| zone.word(0) != Some("off")) else { return };
    let is_of_success =
        |statuses: &[&str]| statuses.is_empty() || statuses.iter().any(|status| *status == "200" || *status == "any");
    let age = settings.nearest("proxy_cache_valid").into_iter().find_map(|valid| {
        let words: Vec<&str> = valid.texts().collect();
        let (time, statuses) = words.split_last()?;
        server.notes().translated(valid);
        is_of_success(statuses).then(|| seconds(time)).flatten()
    });
    let Some(age) = age.filter(|age| *age > 0) else {
        return server.notes().differs(zone, "the server that decides gets each request: `cache` of `forward-auth`");
    };
    server.notes().differs(request, "cached permissions count for the same client and path only");
    server.notes().differs(zone, "a permission counts for the same client and path only, and refusals are not cached");
    auth.push(("cache".to_owned(), Value::Text(written_duration(age * 1000))));
    let Some(key) = settings.nearest_one("proxy_cache_key") else { return };
    server.notes().translated(key);
    let text = Text::of(key.word(0).unwrap_or_default());
    let named = text.variables().filter_map(|name| name.strip_prefix("http_")).map(field_name);
    let mut fields = vec!["Cookie".to_owned(), "Authorization".to_owned()];
    fields.extend(named.filter(|name| !["Host", "Cookie", "Authorization"].contains(&name.as_str())));
    if fields.len() > 2 {
        auth.push(("cache-key".to_owned(), Value::list(fields)));
    }
}

/// Fields of the requests to the server that decides, without those that Serow sends in any case.
fn decision_fields<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, address: &str) -> Vec<String> {
    let notes = position.notes();
    if settings.is_on("proxy_pass_request_headers") == Some(false)
        && let Some(directive) = settings.nearest_one("proxy_pass_request_headers")
    {
        notes.differs(directive, "the server that decides also gets the fields of the client");
    }
    let mut set = Vec::new();
    // The host that nginx sends by default.
    let mut host = Some(format!("Host: {address}"));
    for field in settings.nearest("proxy_set_header") {
        let (Some(name), Some(value)) = (field.word(0), field.word(1)) else { continue };
        let name_lower = name.to_ascii_lowercase();
        if name_lower == "host" {
            host = None;
        }
        if !is_field_name(name) {
            notes.lost(field, format!("{name} is not the name of a field"));
            continue;
        }
        let filled = position.filled(value);
        if is_sent_to_decide(&name_lower, &filled.written()) {
            notes.translated(field);
            continue;
        }
        match position.variables.resolve(&filled, Use::Message) {
            Ok(value) if value.names_group() => {
                notes.lost(field, "the server that decides does not get groups of the path")
            }
            Ok(value) => {
                notes.translated(field);
                set.push(format!("{name}: {}", value.written()).trim_end().to_owned());
            }
            Err(why) => notes.lost(field, why),
        }
    }
    host.into_iter().chain(set).collect()
}

/// Whether Serow sends a field with this value to a server that decides, or frames requests by it.
fn is_sent_to_decide(name: &str, value: &str) -> bool {
    let hosts = ["$host", "$http_host"];
    match name {
        "connection" | "upgrade" | "keep-alive" | "te" | "content-length" | "transfer-encoding" | "expect" => true,
        "host" | "x-forwarded-host" => hosts.contains(&value),
        "x-forwarded-method" | "x-original-method" => value == "$request_method",
        "x-forwarded-proto" => matches!(value, "$scheme" | "$http_x_forwarded_proto"),
        "x-forwarded-uri" => value == "$request_uri",
        "x-forwarded-for" => matches!(value, "$remote_addr" | "$proxy_add_x_forwarded_for"),
        "x-original-url" => hosts.iter().any(|host| value == format!("$scheme://{host}$request_uri")),
        _ => false,
    }
}

/// Fields of the decision that the request gets, and those that the client gets: `auth_request_set $user
/// $upstream_http_x_user` with a `proxy_set_header` that names `$user`, or an `add_header`.
fn copied_fields<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>) -> [Vec<String>; 2] {
    let passed =
        settings.nearest_of(&["proxy_set_header", "fastcgi_param", "uwsgi_param", "scgi_param", "grpc_set_header"]);
    let added = settings.nearest("add_header");
    let (mut copied, mut answered) = (Vec::new(), Vec::new());
    for set in settings.nearest("auth_request_set") {
        let (Some(variable), Some(field)) = (set.word(0), decided_field(set)) else {
            server.notes().lost(set, "only fields of the decision, as in $upstream_http_x_user, have a translation");
            continue;
        };
        if ["Location", "Proxy-Authorization", "Content-Type", "Content-Length"].contains(&field.as_str()) {
            server
                .notes()
                .differs(set, format!("Serow passes on the response of the server that decides, with its {field}"));
            continue;
        }
        let names = |directive: &&&Directive| directive.words.iter().skip(1).any(|word| word.text.contains(variable));
        let is_passed = passed.iter().any(|passed| names(&passed));
        let fields: Vec<&&Directive> = added.iter().filter(names).collect();
        match (is_passed, fields.first()) {
            (false, None) => server.notes().no_line(set, "nothing names the variable"),
            (_, Some(added)) if added.word(0).is_some_and(|name| name.eq_ignore_ascii_case(&field)) => {
                server.notes().translated(set);
                server.notes().translated(added);
                answered.push(field);
            }
            (true, None) => {
                server.notes().translated(set);
                copied.push(field);
            }
            (_, Some(added)) => {
                server.notes().lost(
                    set,
                    format!(
                        "the client gets the field {field} of the decision by its own name, not as {}",
                        added.word(0).unwrap_or_default()
                    ),
                );
            }
        }
    }
    [copied, answered]
}

/// `limit_except`, whose other methods nginx refuses with 403.
fn methods<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) -> bool {
    let Some(except) = settings.own_one("limit_except") else { return true };
    let denies = except.children().iter().any(|inner| inner.name() == "deny" && inner.word(0) == Some("all"));
    if !denies || except.children().len() != 1 {
        server.lose(except, "only `limit_except … { deny all; }` has a translation");
        return false;
    }
    except.children().iter().for_each(|inner| server.notes().translated(inner));
    server.notes().differs(except, "other methods get 405, with the permitted ones in Allow; nginx sends 403");
    table.set("allow-methods", Value::list(except.texts().map(str::to_owned)));
    true
}
