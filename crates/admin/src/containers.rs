//! The containers of Docker or Podman that are routed: as JSON, as metrics for Prometheus, and as a table for people.

use std::fmt::Write;

use serde_json::{Value, json};
use serow_config::printable::on_one_line;
use serow_containers::ContainersReport;

use super::{metric_head::head, table, units::count};

/// How they are, as JSON; null without `[docker]`.
pub(super) fn document(report: Option<&ContainersReport>) -> Value {
    let Some(report) = report else { return Value::Null };
    json!({
        "api": report.api,
        "connected": report.is_connected,
        "servers": report.servers,
        "hosts": report.hosts,
        "routes": report.routes,
        "changes": report.changes,
        "errors": report.errors,
        "last_error": report.last_error,
        "refused": report.refused,
    })
}

/// Appends their metrics, if there are any.
pub(super) fn push(status: &Value, text: &mut String) {
    let containers = &status["containers"];
    if containers.is_null() {
        return;
    }
    let refused = containers["refused"].as_array().map(|refused| refused.len() as f64);
    let connected = containers["connected"].as_bool().map(|is| f64::from(u8::from(is)));
    let numbers = METRICS.map(|(name, kind, explanation, key)| (name, kind, explanation, containers[key].as_f64()));
    let others = [
        ("serow_containers_connected", "gauge", "Whether events of the containers' API arrive.", connected),
        ("serow_containers_refused", "gauge", "Labels and hosts of containers that are refused; 50 at most.", refused),
    ];
    for (name, kind, explanation, value) in others.into_iter().chain(numbers) {
        let Some(value) = value else { continue };
        head(text, name, kind, explanation);
        // Writing to memory does not fail.
        let _ = writeln!(text, "{name} {value}");
    }
}

/// The table; nothing without `[docker]`.
pub(super) fn table(status: &Value) -> String {
    let containers = &status["containers"];
    if containers.is_null() {
        return String::new();
    }
    let number = |key: &str| count(containers[key].as_u64().unwrap_or(0));
    let state = if containers["connected"] == true { "connected" } else { "unavailable" };
    let row = [
        on_one_line(containers["api"].as_str().unwrap_or_default()),
        state.to_owned(),
        number("servers"),
        number("hosts"),
        number("routes"),
        number("changes"),
        number("errors"),
    ];
    let mut text = format!("\ncontainers\n{}", table::lines(&[HEADINGS.map(str::to_owned), row], WORDS).concat());
    if let Some(error) = containers["last_error"].as_str() {
        let _ = writeln!(text, "  last error: {}", on_one_line(error));
    }
    for refused in containers["refused"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "  refused: {}", on_one_line(refused));
    }
    text
}

/// Names, kinds and explanations, and where the number stands.
const METRICS: [(&str, &str, &str, &str); 5] = [
    ("serow_containers_servers", "gauge", "Addresses of running containers that have routes.", "servers"),
    ("serow_containers_hosts", "gauge", "Hosts of containers.", "hosts"),
    ("serow_containers_routes", "gauge", "Routes to running containers.", "routes"),
    ("serow_containers_changes_total", "counter", "Changes of the settings for containers.", "changes"),
    ("serow_containers_errors_total", "counter", "Errors of the containers' API.", "errors"),
];

const HEADINGS: [&str; 7] = ["containers' API", "state", "servers", "hosts", "routes", "changes", "errors"];

/// The first columns are words, the others numbers.
const WORDS: usize = 2;

/// Two containers of one host.
#[cfg(test)]
pub(crate) fn example() -> ContainersReport {
    ContainersReport {
        api: "/run/docker.sock".to_owned(),
        is_connected: true,
        servers: 2,
        hosts: 1,
        routes: 1,
        changes: 3,
        errors: 0,
        last_error: None,
        refused: vec!["container a: serow.app: labels\nmay not set this key".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition;

    #[test]
    fn containers_as_metrics_and_as_a_table() {
        let status = json!({ "containers": document(Some(&example())) });
        let mut text = String::new();
        push(&status, &mut text);
        for line in ["serow_containers_connected 1", "serow_containers_servers 2", "serow_containers_refused 1"] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        let expected = "
containers
  containers' API   state      servers  hosts  routes  changes  errors
  /run/docker.sock  connected        2      1       1        3       0
  refused: container a: serow.app: labels\\nmay not set this key
";
        assert_eq!(table(&status), expected);
        assert_eq!(table(&json!({ "containers": document(None) })), "");
    }
}
