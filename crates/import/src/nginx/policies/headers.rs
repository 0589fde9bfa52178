//! Header fields of responses.

use serow_nginx_syntax::{directive::Directive, scope::Scope, units};
use serow_settings_writer::{table::Table, value::Value};

use super::{
    super::{
        handler::{Handler, HandlerKind},
        passing,
        position::Position,
        server::Server,
        text::{Use, is_field_name},
    },
    files::{CacheControl, cache_control, has_variables},
};

/// Fields that `add_header` sets in place of those that are there.
const REPLACING: &[&str] = &["Last-Modified", "ETag"];

/// Sets the header fields of responses.
pub(crate) fn set<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    handler: &mut Handler,
    table: &mut Table,
) {
    let server = position.server;
    let (mut always, mut rules) = (Vec::new(), Vec::new());
    for field in settings.nearest("add_header") {
        let Some(name) = name(server, field) else { continue };
        if is_set_elsewhere(server, settings, handler, field) {
            continue;
        }
        match position.text(field.word(1).unwrap_or_default(), Use::Response) {
            Err(why) => server.notes().lost(field, why),
            Ok(value) => {
                server.notes().translated(field);
                let value = on_one_line(server, field, value.written());
                // As in nginx, they take the place of the file's own.
                if REPLACING.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                    let action = if value.is_empty() { "remove" } else { "set" };
                    rules.push(rule(action, name, value, field.word(2) != Some("always")));
                    continue;
                }
                if value.is_empty() {
                    continue;
                }
                let is_repeated = always.iter().any(|(other, _): &(String, Value)| other.eq_ignore_ascii_case(name));
                match field.word(2) == Some("always") && !is_repeated {
                    true => always.push((name.to_owned(), Value::Text(value))),
                    false => rules.push(rule("add", name, value, field.word(2) != Some("always"))),
                }
            }
        }
    }
    if handler.kind == HandlerKind::Php {
        let hidden = passing::hidden(position, settings, "fastcgi");
        rules.splice(0..0, hidden.into_iter().map(removal));
    }
    if let Some(etag) = settings.nearest_one("etag").filter(|_| handler.kind == HandlerKind::Files) {
        server.notes().translated(etag);
        if settings.is_on("etag") == Some(false) && !rules.contains(&removal("ETag")) {
            rules.insert(0, removal("ETag"));
        }
    }
    if !matches!(handler.kind, HandlerKind::Files | HandlerKind::Php) && settings.nearest_one("expires").is_some() {
        let value = cache_control(server, settings).map(|value| match value {
            CacheControl::Directives(value) => value,
            CacheControl::Expires(time) => {
                format!("max-age={}", units::seconds(&time).unwrap_or_default())
            }
        });
        // Before those with variables, which are added to it.
        rules.splice(0..0, value.map(|value| rule("set", "Cache-Control", value, true)));
    }
    if !always.is_empty() {
        table.set("headers", Value::Table(always));
    }
    match rules.len() {
        0 => {}
        1 => table.set("response-headers", rules.remove(0)),
        _ => table.set("response-headers", Value::List(rules)),
    }
}

/// The name of the field that an `add_header` adds.
fn name<'tree>(server: &Server<'_, '_>, field: &'tree Directive) -> Option<&'tree str> {
    let name = field.word(0)?;
    if !is_field_name(name) {
        server.notes().lost(field, format!("{name} is not the name of a field"));
    }
    is_field_name(name).then_some(name)
}

/// Whether a field is a part of another setting, or Serow's own.
fn is_set_elsewhere<'tree>(
    server: &Server<'_, 'tree>,
    settings: &Scope<'tree>,
    handler: &Handler,
    field: &Directive,
) -> bool {
    let notes = server.notes();
    match field.word(0).unwrap_or_default().to_ascii_lowercase().as_str() {
        // It is a part of `expires` or `cache-control` of the folder.
        "cache-control" if handler.kind == HandlerKind::Files && !has_variables(field) => {
            if field.word(2) == Some("always") {
                notes.differs(field, "errors do not have the Cache-Control of files, by which caches would keep them");
            }
            true
        }
        "cache-control" if !handler.kind.is_fixed() && settings.nearest_one("expires").is_some() => {
            !has_variables(field)
        }
        "content-type" if handler.kind == HandlerKind::Respond => {
            notes.differs(field, "it is the `type` of the response; nginx sends two fields Content-Type");
            true
        }
        "strict-transport-security" | "alt-svc" if is_without_effect(server, field) => true,
        _ if is_decided(settings, field) => true,
        "content-length" | "date" | "connection" | "transfer-encoding" => {
            notes.lost(field, "Serow sends this field itself");
            true
        }
        _ => false,
    }
}

fn rule(action: &str, name: &str, value: String, only_success: bool) -> Value {
    let mut rule = vec![(action.to_owned(), Value::Text(name.to_owned()))];
    if action != "remove" {
        rule.push(("value".to_owned(), Value::Text(value)));
    }
    if only_success {
        rule.push(("status".to_owned(), Value::list(["2xx".to_owned(), "3xx".to_owned()])));
    }
    Value::Table(rule)
}

fn removal(name: &str) -> Value {
    Value::Table(vec![("remove".to_owned(), Value::Text(name.to_owned()))])
}

/// A value without line feeds, which fields do not have (RFC 9110 §5.5).
fn on_one_line(server: &Server<'_, '_>, field: &Directive, value: String) -> String {
    if !value.contains(|letter: char| letter.is_control() && letter != '\t') {
        return value;
    }
    server.notes().differs(field, "the value is on one line: nginx sends its line feeds, which clients may refuse");
    value
        .split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether Serow adds the field itself, by a setting of the whole server.
fn is_without_effect(server: &Server<'_, '_>, field: &Directive) -> bool {
    let is_alternative = field.word(0).is_some_and(|name| name.eq_ignore_ascii_case("alt-svc"));
    if is_alternative {
        server.notes().no_line(field, "Serow tells clients about HTTP/3 itself");
    }
    is_alternative
}

/// Whether the field is one of the decision of `auth_request`, which `forward-auth` copies.
fn is_decided(settings: &Scope<'_>, field: &Directive) -> bool {
    settings.nearest("auth_request_set").iter().any(|set| set.word(0).is_some() && set.word(0) == field.word(1))
}
