//! The servers that are asked, as a table for people.

use serde_json::Value;

use super::units::{count, long_time, short_time};
use crate::failure::on_one_line;

/// A table for each upstream; nothing where there is none.
pub(super) fn of(status: &Value) -> String {
    let upstreams = status["upstreams"].as_array().into_iter().flatten();
    upstreams.map(of_upstream).collect::<String>() + &remembered(status)
}

fn of_upstream(upstream: &Value) -> String {
    let waiting = match upstream["waiting"].as_u64().unwrap_or(0) {
        0 => String::new(),
        waiting => format!(", {} requests wait", count(waiting)),
    };
    let servers: Vec<_> = upstream["servers"].as_array().into_iter().flatten().collect();
    let rows: Vec<_> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(servers.iter().map(|server| row(server))).collect();
    let widths: Vec<_> = (0..HEADINGS.len()).map(|column| width(&rows, column)).collect();
    let mut text = format!("\nupstream {}{waiting}\n", name(upstream));
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column < WORDS {
            true => format!("  {cell:width$}"),
            false => format!("  {cell:>width$}"),
        });
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
        let server = number.checked_sub(1).and_then(|number| servers.get(number));
        if let Some(reason) = server.and_then(|server| why(server)) {
            text.push_str(&format!("    {reason}\n"));
        }
    }
    text
}

fn row(server: &Value) -> [String; 8] {
    let number = |key: &str| count(server[key].as_u64().unwrap_or(0));
    let state = server["state"].as_str().unwrap_or_default();
    let time = long_time(server["state_seconds"].as_u64().unwrap_or(0));
    let backup = if server["backup"] == true { " (backup)" } else { "" };
    let active = match server["max"].as_u64() {
        Some(most) => format!("{}/{}", number("active"), count(most)),
        None => number("active"),
    };
    let latency = match server["latency_us"].as_u64().unwrap_or(0) {
        0 => "-".to_owned(),
        time => short_time(time),
    };
    [
        format!("{}{backup}", name(server)),
        state.to_owned(),
        time,
        number("weight"),
        active,
        number("requests"),
        number("failures"),
        latency,
    ]
}

/// Why it is not asked, if that is known.
fn why(server: &Value) -> Option<String> {
    let reason = server["last_failure"].as_str().filter(|_| server["state"] != "up")?;
    Some(on_one_line(reason))
}

/// What later generations are told.
fn remembered(status: &Value) -> String {
    let wishes = status["remembered"].as_array().into_iter().flatten();
    let lines: String = wishes
        .map(|wish| {
            let text = |key: &str| on_one_line(wish[key].as_str().unwrap_or_default());
            let weight = wish["weight"].as_u64().map_or_else(String::new, |weight| format!(" {weight}"));
            format!("  {} {} {}{weight}\n", text("action"), text("upstream"), text("server"))
        })
        .collect();
    if lines.is_empty() { lines } else { format!("\nremembered for later generations\n{lines}") }
}

fn name(value: &Value) -> String {
    on_one_line(value["name"].as_str().unwrap_or_default())
}

fn width(rows: &[[String; 8]], column: usize) -> usize {
    rows.iter().map(|row| row.get(column).map_or(0, |cell| cell.chars().count())).max().unwrap_or(0)
}

const HEADINGS: [&str; 8] = ["server", "state", "for", "weight", "active", "requests", "failed", "latency"];

/// The first columns are words, the others numbers.
const WORDS: usize = 3;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables() {
        let server = json!({
            "name": "127.0.0.1:9000", "state": "up", "state_seconds": 61, "weight": 3, "backup": false, "active": 2,
            "max": 100, "requests": 12_345, "failures": 7, "latency_us": 1_200, "last_failure": "silence",
        });
        let other = json!({
            "name": "unix:/run/a.sock", "state": "down", "state_seconds": 5, "weight": 1, "backup": true, "active": 0,
            "max": null, "requests": 0, "failures": 0, "latency_us": 0, "last_failure": "no\nconnection",
        });
        let status = json!({
            "upstreams": [
                { "name": "app", "waiting": 3, "servers": [server, other] },
                { "name": "none", "waiting": 0, "servers": [] },
            ],
            "remembered": [{ "upstream": "app", "server": "127.0.0.1:9000", "action": "weight", "weight": 3 }],
        });
        let expected = "
upstream app, 3 requests wait
  server                     state  for        weight  active  requests  failed  latency
  127.0.0.1:9000             up     1 min 1 s       3   2/100    12,345       7   1.2 ms
  unix:/run/a.sock (backup)  down   5 s             1       0         0       0        -
    no\\nconnection

upstream none
  server  state  for  weight  active  requests  failed  latency

remembered for later generations
  weight app 127.0.0.1:9000 3
";
        assert_eq!(of(&status), expected);
        assert_eq!(of(&json!({})), "");
    }
}
