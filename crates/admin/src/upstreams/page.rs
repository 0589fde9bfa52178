//! The servers as a page.

use serde_json::Value;

use super::Listed;
use crate::units::{count, long_time, short_time};

/// The whole page.
pub(super) fn text(servers: &[Listed<'_>]) -> String {
    let up = servers.iter().filter(|server| server.up).count();
    let mut sections = String::new();
    for group in servers.chunk_by(|one, other| one.upstream == other.upstream) {
        let rows: String = group.iter().map(row).collect();
        let name = group.first().map(|server| escaped(server.upstream)).unwrap_or_default();
        sections.push_str(&format!("<section>\n<h2>{name}</h2>\n<table>\n{HEADINGS}{rows}</table>\n</section>\n"));
    }
    if servers.is_empty() {
        sections.push_str("<p>There are none.</p>\n");
    }
    let summary = format!("{up} of {} up", servers.len());
    PAGE.replace("{SUMMARY}", &summary).replace("{SECTIONS}", sections.trim_end())
}

fn row(server: &Listed<'_>) -> String {
    let all = server.all;
    let text = |key: &str| all[key].as_str().unwrap_or_default();
    let number = |key: &str| all[key].as_u64().unwrap_or(0);
    let state = text("state");
    let backup = Some("backup").filter(|_| all["backup"] == Value::Bool(true));
    let reason = Some(text("last_failure")).filter(|reason| !reason.is_empty() && !server.up);
    let notes = backup.into_iter().chain(reason).map(|note| format!("<small>{}</small>", escaped(note)));
    let notes: String = notes.collect();
    let latency = match number("latency_us") {
        0 => "–".to_owned(),
        time => short_time(time),
    };
    let check = match server.kind {
        "none" => ["–".to_owned(), "–".to_owned(), "–".to_owned()],
        kind => {
            let port = if server.port == 0 { String::new() } else { format!(" :{}", server.port) };
            [format!("{}{port}", escaped(kind)), count(server.rise), count(server.fall)]
        }
    };
    let [kind, rise, fall] = check;
    let cells = [
        (
            "State",
            format!("<b class=\"{}\">{}</b> {}", escaped(state), escaped(state), long_time(number("state_seconds"))),
        ),
        ("Weight", count(number("weight"))),
        ("Active", count(number("active"))),
        ("Requests", count(number("requests"))),
        ("Failed", count(number("failures"))),
        ("Retried", count(number("retries"))),
        ("Latency", latency),
        ("Check", kind),
        ("Rise", rise),
        ("Fall", fall),
    ];
    let cells: String = cells.iter().map(|(name, cell)| format!("<td data-name=\"{name}\">{cell}</td>")).collect();
    format!("<tr><td>{}</td><th scope=\"row\">{}{notes}</th>{cells}</tr>\n", server.index, escaped(server.name))
}

/// Text in which HTML would see more than there is.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const HEADINGS: &str = "<thead><tr><th>#</th><th>Server</th><th>State</th><th>Weight</th><th>Active</th><th>Requests</th>\
    <th>Failed</th><th>Retried</th><th>Latency</th><th>Check</th><th>Rise</th><th>Fall</th></tr></thead>\n";

const PAGE: &str = include_str!("page.html");
