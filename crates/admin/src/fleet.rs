//! The fleet that shares limits: as JSON, as metrics for Prometheus, and as a table for people.

use std::fmt::Write;

use serde_json::{Value, json};
use serow_config::printable::on_one_line;
use serow_fleet::FleetReport;
#[cfg(test)]
use serow_fleet::{JournalCounts, ServerId, ServerReport};

use super::{fleet_servers, metric_head::head, table, units::count};

/// How it is, as JSON; null without `[redis]`.
pub(super) fn document(report: Option<&FleetReport>) -> Value {
    let Some(report) = report else { return Value::Null };
    let microseconds = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    json!({
        "redis": report.place,
        "connected": report.is_connected,
        "lag_us": report.lag.map(microseconds),
        "round_trip_us": microseconds(report.round_trip),
        "instances": report.instances,
        "share": report.share,
        "exchanges": report.exchanges,
        "errors": report.errors,
        "last_error": report.last_error,
        "events_published": report.events_published,
        "events_received": report.events_received,
        "events_lost": report.events_lost,
        "commands": fleet_servers::commands(report.journal.as_ref()),
        "servers": fleet_servers::document(&report.servers),
    })
}

/// Appends its metrics, if there is one.
pub(super) fn push(status: &Value, text: &mut String) {
    let fleet = &status["fleet"];
    if fleet.is_null() {
        return;
    }
    let mut push = |name: &str, kind: &str, explanation: &str, value: Option<f64>| {
        let Some(value) = value else { return };
        head(text, name, kind, explanation);
        // Writing to memory does not fail.
        let _ = writeln!(text, "{name} {value}");
    };
    let seconds = |key: &str| fleet[key].as_f64().map(|time| time / 1e6);
    let connected = fleet["connected"].as_bool().map(|is| f64::from(u8::from(is)));
    push("serow_fleet_connected", "gauge", "Whether there is a connection to Redis.", connected);
    push("serow_fleet_lag_seconds", "gauge", "How old the last exchange with Redis is.", seconds("lag_us"));
    let explanation = "How long Redis took to answer the last exchange.";
    push("serow_fleet_round_trip_seconds", "gauge", explanation, seconds("round_trip_us"));
    for (name, kind, explanation, key) in METRICS {
        push(name, kind, explanation, fleet[key].as_f64());
    }
    for (name, explanation, key) in COMMAND_METRICS {
        push(name, "gauge", explanation, fleet["commands"][key].as_f64());
    }
}

/// The table; nothing without `[redis]`.
pub(super) fn table(status: &Value) -> String {
    let fleet = &status["fleet"];
    if fleet.is_null() {
        return String::new();
    }
    let number = |key: &str| count(fleet[key].as_u64().unwrap_or(0));
    let state = if fleet["connected"] == true { "connected" } else { "unavailable" };
    let milliseconds = |key: &str| fleet[key].as_u64().map_or("-".to_owned(), |time| format!("{} ms", time / 1000));
    let share = format!("{:.0} %", fleet["share"].as_f64().unwrap_or(0.0) * 100.0);
    let row = [
        on_one_line(fleet["redis"].as_str().unwrap_or_default()),
        state.to_owned(),
        milliseconds("lag_us"),
        number("instances"),
        share,
        number("exchanges"),
        number("errors"),
    ];
    let lines = table::lines(&[HEADINGS.map(str::to_owned), row], WORDS).concat();
    let error = fleet["last_error"].as_str().map(|error| format!("  last error: {}\n", on_one_line(error)));
    format!("\nfleet\n{lines}{}", error.unwrap_or_default())
}

/// Names, kinds and explanations, and where the number stands.
const METRICS: [(&str, &str, &str, &str); 7] = [
    ("serow_fleet_instances", "gauge", "Servers that share limits, this one included.", "instances"),
    (
        "serow_fleet_share",
        "gauge",
        "The part of each shared limit that this server grants: 1 in contact with the others.",
        "share",
    ),
    ("serow_fleet_exchanges_total", "counter", "Exchanges with Redis that succeeded.", "exchanges"),
    ("serow_fleet_errors_total", "counter", "Exchanges with Redis and connections to it that failed.", "errors"),
    ("serow_fleet_events_published_total", "counter", "Events that this server published.", "events_published"),
    ("serow_fleet_events_received_total", "counter", "Events that other servers published.", "events_received"),
    ("serow_fleet_events_lost_total", "counter", "Events that were forgotten or invalid.", "events_lost"),
];

/// Likewise, of the commands to the fleet.
const COMMAND_METRICS: [(&str, &str, &str); 4] = [
    ("serow_fleet_commands", "Commands to the fleet that this server keeps.", "kept"),
    ("serow_fleet_commands_behind", "Commands to the fleet that this server has yet to execute.", "behind"),
    (
        "serow_fleet_commands_unsent",
        "Commands to the fleet that this server has executed and Redis does not have.",
        "unsent",
    ),
    ("serow_fleet_commands_refused", "Commands to the fleet that this server has refused.", "refused"),
];

const HEADINGS: [&str; 7] = ["redis", "state", "lag", "servers", "share", "exchanges", "errors"];

/// The first columns are words, the others numbers.
const WORDS: usize = 2;

/// A fleet of ten, out of contact.
#[cfg(test)]
pub(crate) fn example() -> FleetReport {
    FleetReport {
        place: "redis://10.0.0.1:6379".to_owned(),
        is_connected: false,
        lag: Some(std::time::Duration::from_millis(1500)),
        round_trip: std::time::Duration::from_micros(300),
        instances: 10,
        share: 0.1,
        exchanges: 1234,
        errors: 2,
        last_error: Some("it does not answer\nwithin 500ms".to_owned()),
        events_published: 3,
        events_received: 4,
        events_lost: 5,
        journal: Some(JournalCounts {
            entries: 6,
            behind: 7,
            last_refusal: Some(("a".into(), "b".into())),
            ..JournalCounts::default()
        }),
        servers: vec![ServerReport {
            server: ServerId(1),
            age: std::time::Duration::ZERO,
            text: r#"{"name":"web1"}"#.to_owned(),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition;

    #[test]
    fn a_fleet_as_metrics_and_as_a_table() {
        let status = json!({ "fleet": document(Some(&example())) });
        let mut text = String::new();
        push(&status, &mut text);
        for line in [
            "serow_fleet_connected 0",
            "serow_fleet_lag_seconds 1.5",
            "serow_fleet_share 0.1",
            "serow_fleet_instances 10",
            "serow_fleet_events_lost_total 5",
            "serow_fleet_commands_behind 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        let expected = "
fleet
  redis  state            lag  servers  share  exchanges  errors
  redis://10.0.0.1:6379
         unavailable  1500 ms       10   10 %      1,234       2
  last error: it does not answer\\nwithin 500ms
";
        assert_eq!(table(&status), expected);
        assert_eq!(table(&json!({ "fleet": document(None) })), "");
    }
}
