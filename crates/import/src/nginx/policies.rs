//! Settings around handlers: header fields, access, limits, errors, caching, compression, logs.

pub(super) mod access;
pub(super) mod caching;
pub(super) mod errors;
pub(super) mod files;
pub(super) mod headers;
pub(super) mod limits;
pub(super) mod logs;
mod statuses;

use std::rc::Rc;

use serow_nginx_syntax::{
    scope::Scope,
    units::{bytes, milliseconds, written_duration, written_size},
};
use serow_settings_writer::{table::Table, value::Value};

use super::{
    handler::{Handler, HandlerKind},
    passing,
    position::Position,
    server::Server,
};

/// Sets the keys around a handler, and the handler.
pub(super) fn set<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Rc<Scope<'tree>>,
    handler: &Handler,
    table: &mut Table,
) {
    let server = position.server;
    let mut handler = handler.clone();
    headers::set(position, settings, &mut handler, table);
    if !handler.kind.is_fixed() {
        access::set(position, settings, table);
        limits::set(server, settings, table);
        body(server, settings, table);
    }
    bandwidth(server, settings, &handler, table);
    errors::set(position, settings, &handler, table);
    caching::set(position, settings, &handler, table);
    compression(server, settings, &handler, table);
    logs::set(position, settings, table);
    if !handler.family.is_empty() {
        passing::note_rest(position, settings, &handler);
    }
    if denies_all(table) {
        handler = Handler::responding(403);
        for key in [
            "deny",
            "allow",
            "max-body",
            "basic",
            "forward-auth",
            "limits",
            "max-requests-per-client",
            "cache",
            "compress",
        ] {
            table.remove(key);
        }
    }
    let fields: Vec<Value> = std::mem::take(&mut handler.fields)
        .into_iter()
        .map(|(name, value)| match value.is_empty() {
            true => Value::Table(vec![("remove".to_owned(), Value::Text(name))]),
            false => {
                Value::Table(vec![("set".to_owned(), Value::Text(name)), ("value".to_owned(), Value::Text(value))])
            }
        })
        .collect();
    if !fields.is_empty() {
        table.set("request-headers", Value::List(fields));
    }
    if let Some(path) = handler.rewrite.take() {
        table.set("rewrite", path);
    }
    table.set(handler.kind.key(), handler.table.into_value());
}

/// Whether no client gets the content: then only the refusal is written.
fn denies_all(table: &mut Table) -> bool {
    matches!(table.get("deny"), Some(Value::Text(all)) if all == "all") && table.get("satisfy").is_none()
}

fn body<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let written = settings.nearest_one("client_max_body_size");
    let size = written.and_then(|directive| bytes(directive.word(0)?));
    if let (Some(directive), Some(_)) = (written, size) {
        server.notes().translated(directive);
    }
    table.set(
        "max-body",
        match size.unwrap_or(1 << 20) {
            0 => "unlimited".to_owned(),
            size => written_size(size),
        },
    );
    if let Some(directive) = settings.nearest_one("client_body_timeout")
        && let Some(timeout) = directive.word(0).and_then(milliseconds)
    {
        server.notes().translated(directive);
        if timeout != 30_000 && timeout != 60_000 {
            table.set("body-timeout", written_duration(timeout));
        }
    }
}

fn bandwidth<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, handler: &Handler, table: &mut Table) {
    for (name, key) in [("limit_rate", "rate"), ("limit_rate_after", "rate-after")] {
        let Some(directive) = settings.nearest_one(name) else { continue };
        match directive.word(0).and_then(bytes) {
            Some(0) => server.notes().no_line(directive, "it is the default"),
            Some(_) if key == "rate-after" && table.get("rate").is_none() => {
                server.notes().no_line(directive, "there is no `limit_rate` for it");
            }
            Some(_) if handler.kind.is_fixed() => server.notes().no_line(directive, "the response is short"),
            Some(rate) => {
                server.notes().translated(directive);
                table.set(key, written_size(rate));
            }
            None => server.notes().lost(directive, "the bandwidth of Serow has no variables"),
        }
    }
}

fn compression<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, handler: &Handler, table: &mut Table) {
    let is_on = ["gzip", "brotli", "zstd"].iter().any(|name| settings.is_on(name) == Some(true));
    for name in ["gzip", "brotli", "zstd"] {
        settings.nearest(name).into_iter().for_each(|directive| server.notes().translated(directive));
    }
    if is_on && matches!(handler.kind, HandlerKind::Proxy | HandlerKind::Php) {
        table.set("compress", Value::Bool(true));
    }
}
