//! Directives that each kind of `…_pass` has under a name of its own: `proxy_hide_header`, `fastcgi_hide_header`.

use serow_nginx_syntax::scope::Scope;
use serow_settings_writer::{table::Table, value::Value};

use super::{handler::Handler, position::Position, text::is_field_name};

/// Those that change requests or responses, with the values that Serow's behaviour has, and what it does otherwise.
const DIFFERING: &[(&str, &[&str], &str)] = &[
    ("pass_request_headers", ON, "the server also gets the fields of the client: remove them with `set-header`"),
    ("pass_request_body", ON, "the server also gets the body of the request"),
    ("method", &[], "the server gets the method of the request"),
    ("http_version", &["1.1"], "servers get requests over HTTP/1.1, or over HTTP/2 if their address says so"),
    ("ignore_client_abort", OFF, "a request whose client leaves while it gets the response does not go on"),
    ("cache_convert_head", ON, "HEAD is answered from the response to GET"),
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
    ("catch_stderr", "a response counts, whatever the program writes to its errors"),
    ("cache_purge", "requests with the method PURGE purge if `purge-from` of [cache] names the client"),
];

/// Those that Serow needs no setting for, with the reason; a star stands for any end.
const NEEDLESS: &[(&[&str], &str)] = &[
    (
        &["buffer*", "busy_buffers_size", "max_temp_file_size", "temp_*", "headers_hash_*", "send_lowat"],
        "Serow manages buffers by itself",
    ),
    (&["socket_keepalive", "keep_conn", "ssl_session_reuse"], "Serow manages connections to servers by itself"),
    (&["ssl_server_name"], "servers get their name in TLS"),
    (&["ssl_protocols", "ssl_ciphers", "ssl_verify_depth", "ssl_conf_command"], "TLS to servers is secure by default"),
    (&["store_access"], "responses are not written into the folders of sites"),
    (&["split_path_info", "index"], "Serow splits the paths of scripts itself"),
];

const ON: &[&str] = &["on"];
const OFF: &[&str] = &["off"];

/// Notes the directives that act on requests of a family, and that nothing else has read. One that nothing is known about is
/// lost.
pub(super) fn note_rest(position: &Position<'_, '_>, settings: &Scope<'_>, handler: &Handler) {
    let (notes, family) = (position.notes(), handler.family);
    for directive in settings.beginning_with(&format!("{family}_")) {
        let name = &directive.name()[family.len() + 1..];
        if ["buffering", "request_buffering", "cache_path"].contains(&name) {
            continue;
        }
        let value = directive.word(0).unwrap_or_default();
        let fits = |pattern: &&str| pattern.strip_suffix('*').map_or(name == *pattern, |start| name.starts_with(start));
        if name.starts_with("ssl_") && !handler.has_tls {
            notes.no_line(directive, "the connection to this server has no TLS");
        } else if let Some((_, usual, why)) = DIFFERING.iter().find(|(known, ..)| *known == name) {
            match usual.contains(&value) {
                true => notes.no_line(directive, "it is the default"),
                false => notes.differs(directive, *why),
            }
        } else if let Some((_, why)) = WITHOUT_COUNTERPART.iter().find(|(known, _)| *known == name) {
            match value {
                "off" | "0" => notes.no_line(directive, "it is the default"),
                _ => notes.lost(directive, *why),
            }
        } else if let Some((_, why)) = NEEDLESS.iter().find(|(names, _)| names.iter().any(&fits)) {
            notes.no_line(directive, *why);
        } else if name == "pass_header" {
            match value.to_ascii_lowercase().starts_with("x-accel-") {
                true => notes.lost(directive, "clients never get fields X-Accel-…, which are for the server in front"),
                false => notes.no_line(directive, "Serow passes on all fields but X-Accel-…"),
            }
        } else if !notes.has(directive) {
            notes.lost(directive, "Serow has nothing like it");
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
