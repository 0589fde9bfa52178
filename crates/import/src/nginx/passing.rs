//! Directives that each kind of `…_pass` has under a name of its own: `proxy_hide_header`, `fastcgi_hide_header`.

use super::{position::Position, scope::Scope, text::is_field_name};
use crate::settings::{table::Table, value::Value};

/// Those that leave out parts of a request, which Serow passes on, with the remark.
const UNCHANGED: &[(&str, &str)] = &[
    ("pass_request_headers", "the server also gets the fields of the client: remove them with `set-header`"),
    ("pass_request_body", "the server also gets the body of the request"),
    ("method", "the server gets the method of the request"),
];

/// Those that Serow does not have, with the reason.
const WITHOUT_COUNTERPART: &[(&str, &str)] = &[
    ("set_body", "the server gets the body of the request"),
    ("bind", "the system chooses the address of connections to servers"),
    ("limit_rate", "responses of servers are read as fast as clients take them"),
    ("store", "responses are not written into the folders of sites: `cache` stores them"),
    ("force_ranges", "a part is sent of a stored response, or by the server"),
    ("ssl_name", "a server has the name of its address in TLS: write the address with this name"),
    ("ssl_password_file", "keys of certificates have no password"),
    ("ssl_crl", "the certificates of servers are not looked up in a list of revoked ones"),
];

/// Notes the directives of a handler that change requests or responses as Serow does not.
pub(super) fn note_unchanged(position: &Position<'_, '_>, settings: &Scope<'_>, family: &str) {
    for (name, why) in UNCHANGED {
        let name = format!("{family}_{name}");
        if let Some(directive) = settings.nearest_one(&name).filter(|_| settings.is_on(&name) != Some(true)) {
            position.notes().differs(directive, *why);
        }
    }
    for (name, why) in WITHOUT_COUNTERPART {
        let directive = settings.nearest_one(&format!("{family}_{name}"));
        if let Some(directive) = directive.filter(|directive| !matches!(directive.word(0), Some("off" | "0"))) {
            position.notes().lost(directive, *why);
        }
    }
}

/// The fields of responses that `…_hide_header` removes.
pub(super) fn hidden<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, family: &str) -> Vec<&'tree str> {
    let mut names = Vec::new();
    for directive in settings.nearest(&format!("{family}_hide_header")) {
        match directive.word(0).filter(|name| is_field_name(name)) {
            Some(name) => {
                position.notes().translated(directive);
                names.push(name);
            }
            None => position.notes().lost(directive, "this is not the name of a field"),
        }
    }
    names
}

/// Removes the fields of responses that `…_hide_header` names.
pub(super) fn hide_fields<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    family: &str,
    table: &mut Table,
) {
    let hidden = hidden(position, settings, family);
    if !hidden.is_empty() {
        table.set("set-response-header", Value::texts(hidden.iter().map(|name| format!("{name}:"))));
    }
}
