//! The servers of upstreams, as a table for people.

use serde_json::Value;
use serow_config::printable::on_one_line;

use super::{
    table,
    units::{count, rough_time, short_time},
};

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
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(servers.iter().map(|server| row(server)));
    let mut text = format!("\nupstream {}{waiting}\n", name(upstream));
    for (number, line) in table::lines(&rows, WORDS).iter().enumerate() {
        text.push_str(line);
        let server = number.checked_sub(1).and_then(|number| servers.get(number));
        if let Some(notes) = server.and_then(|server| notes(server)) {
            text.push_str(&format!("    {notes}\n"));
        }
    }
    text
}

fn row(server: &Value) -> [String; 7] {
    let number = |key: &str| count(server[key].as_u64().unwrap_or(0));
    let state = server["state"].as_str().unwrap_or_default();
    let time = rough_time(server["state_seconds"].as_u64().unwrap_or(0));
    let active = match server["max"].as_u64() {
        Some(most) => format!("{}/{}", number("active"), count(most)),
        None => number("active"),
    };
    let latency = match server["latency_us"].as_u64().unwrap_or(0) {
        0 => "-".to_owned(),
        time => short_time(time),
    };
    let state = format!("{state} {time}");
    [name(server), state, number("weight"), active, number("requests"), number("failures"), latency]
}

/// Notes about a server: whether it is a backup, and why it is not up, if that is known.
fn notes(server: &Value) -> Option<String> {
    let backup = Some("backup".to_owned()).filter(|_| server["backup"] == true);
    let reason = server["last_failure"].as_str().filter(|_| server["state"] != "up").map(on_one_line);
    let notes: Vec<_> = backup.into_iter().chain(reason).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The commands that later generations receive.
fn remembered(status: &Value) -> String {
    let overrides = status["remembered"].as_array().into_iter().flatten();
    let lines: String = overrides
        .map(|command| {
            let text = |key: &str| on_one_line(command[key].as_str().unwrap_or_default());
            let weight = command["weight"].as_u64().map_or_else(String::new, |weight| format!(" {weight}"));
            format!("  {} {} {}{weight}\n", text("action"), text("upstream"), text("server"))
        })
        .collect();
    if lines.is_empty() { lines } else { format!("\nremembered for later generations\n{lines}") }
}

fn name(value: &Value) -> String {
    on_one_line(value["name"].as_str().unwrap_or_default())
}

const HEADINGS: [&str; 7] = ["server", "state", "weight", "active", "requests", "failed", "latency"];

/// The first columns are words, the others numbers.
const WORDS: usize = 2;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_become_tables() {
        let server = json!({
            "name": "127.0.0.1:9000", "state": "up", "state_seconds": 61, "weight": 3, "backup": false, "active": 2,
            "max": 100, "requests": 12_345, "failures": 7, "latency_us": 1_200, "last_failure": "silence",
        });
        let other = json!({
            "name": "unix:/run/application.sock", "state": "down", "state_seconds": 5, "weight": 1, "backup": true, "active": 0,
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
  server          state     weight  active  requests  failed  latency
  127.0.0.1:9000  up 1 min       3   2/100    12,345       7   1.2 ms
  unix:/run/application.sock
                  down 5 s       1       0         0       0        -
    backup; no\\nconnection

upstream none
  server  state  weight  active  requests  failed  latency

remembered for later generations
  weight app 127.0.0.1:9000 3
";
        assert_eq!(of(&status), expected);
        assert_eq!(of(&json!({})), "");
    }
}
