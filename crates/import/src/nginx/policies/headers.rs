//! Header fields of responses.

use super::{
    super::{
        handler::{Handler, HandlerKind},
        position::Position,
        proxying::is_field_name,
        scope::Scope,
        server::Server,
        text::Use,
    },
    files::{CacheControl, cache_control, has_variables},
};
use crate::{
    grammar::directive::Directive,
    settings::{table::Table, value::Value},
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
        let is_fixed = handler.kind.is_fixed();
        match name.to_ascii_lowercase().as_str() {
            // It is a part of `expires` or `cache-control` of the folder.
            "cache-control" if handler.kind == HandlerKind::Files && !has_variables(field) => continue,
            "cache-control" if !is_fixed && settings.nearest_one("expires").is_some() && !has_variables(field) => {
                continue;
            }
            "content-type" if handler.kind == HandlerKind::Respond => {
                server.notes().differs(field, "it is the `type` of the response; nginx sends two fields Content-Type");
                continue;
            }
            "strict-transport-security" | "alt-svc" if is_without_effect(server, field) => continue,
            _ if is_decided(settings, field) => continue,
            "content-length" | "date" | "connection" | "transfer-encoding" => {
                server.notes().lost(field, "Serow sends this field itself");
                continue;
            }
            _ => {}
        }
        match position.text(field.word(1).unwrap_or_default(), Use::Response) {
            Err(why) => server.notes().lost(field, why),
            Ok(value) => {
                server.notes().translated(field);
                let value = value.written();
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
    if !matches!(handler.kind, HandlerKind::Files | HandlerKind::Php) && settings.nearest_one("expires").is_some() {
        let value = cache_control(server, settings).map(|value| match value {
            CacheControl::Directives(value) => value,
            CacheControl::Expires(time) => {
                format!("max-age={}", super::super::units::seconds(&time).unwrap_or_default())
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
