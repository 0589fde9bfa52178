//! Limits of requests and connections.

use serow_nginx_syntax::scope::Scope;
use serow_settings_writer::{table::Table, value::Value};

use super::super::server::Server;

/// Sets which limits apply.
pub(crate) fn set<'tree>(server: &Server<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let notes = server.notes();
    let mut names = Vec::new();
    for limit in settings.nearest("limit_req") {
        match server.import.limit(
            limit,
            settings.nearest_one("limit_req_status"),
            settings.is_on("limit_req_dry_run") == Some(true),
        ) {
            Ok(name) => names.push(name),
            Err(why) => notes.lost(limit, why),
        }
    }
    if !names.is_empty() {
        table.set("limits", Value::list(names));
    }
    for name in ["limit_req_status", "limit_conn_status"] {
        let Some(status) = settings.nearest_one(name) else { continue };
        match status.word(0) {
            Some("429") => notes.translated(status),
            _ => notes.differs(status, "refused requests get 429"),
        }
    }
    for name in ["limit_req_log_level", "limit_conn_log_level"] {
        settings.nearest(name).into_iter().for_each(|directive| notes.no_line(directive, "Serow logs refusals itself"));
    }
    settings.nearest("limit_req_dry_run").into_iter().for_each(|directive| notes.translated(directive));
    let connections = settings.nearest("limit_conn");
    for limit in &connections {
        let key = limit.word(0).and_then(|zone| server.import.connection_zone(zone));
        match (key.as_deref(), limit.word(1).and_then(|number| number.parse().ok())) {
            (Some("$binary_remote_addr" | "$remote_addr"), Some(number)) => {
                notes.translated(limit);
                table.set("max-requests-per-client", Value::Number(number));
                if settings.nearest_one("limit_conn_status").is_none() {
                    notes.differs(limit, "further requests get 429; nginx sends 503");
                }
            }
            (Some("$server_name"), Some(_)) => {
                notes.lost(limit, "Serow limits the requests of a client, not those of a site")
            }
            (Some(key), Some(_)) => notes.lost(limit, format!("Serow counts the requests of a client, not by {key}")),
            _ => notes.lost(limit, "there is no `limit_conn_zone` for it"),
        }
    }
}
