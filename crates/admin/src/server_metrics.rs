//! The servers of upstreams, as metrics for Prometheus.

use std::fmt::Write;

use serde_json::Value;

use super::{metric_head::head, upstreams::label};

/// Appends the metrics of all servers, where there are any.
pub(super) fn push(status: &Value, text: &mut String) {
    let Some(upstreams) = status["upstreams"].as_array().filter(|upstreams| !upstreams.is_empty()) else { return };
    let of_upstream =
        |upstream: &Value| format!("upstream=\"{}\"", label(upstream["name"].as_str().unwrap_or_default()));
    head(text, WAITING, "gauge", "Requests that wait until a server has room.");
    for upstream in upstreams {
        let number = upstream["waiting"].as_u64().unwrap_or(0);
        // Writing to memory does not fail.
        let _ = writeln!(text, "{WAITING}{{{}}} {number}", of_upstream(upstream));
    }
    for Metric { name, kind, explanation, number } in METRICS {
        head(text, name, kind, explanation);
        for upstream in upstreams {
            for server in upstream["servers"].as_array().into_iter().flatten() {
                let Some(number) = number(server) else { continue };
                let server = label(server["name"].as_str().unwrap_or_default());
                let _ = writeln!(text, "{name}{{{},server=\"{server}\"}} {number}", of_upstream(upstream));
            }
        }
    }
}

struct Metric {
    name: &'static str,
    kind: &'static str,
    explanation: &'static str,
    number: fn(&Value) -> Option<f64>,
}

const fn metric(
    name: &'static str,
    kind: &'static str,
    explanation: &'static str,
    number: fn(&Value) -> Option<f64>,
) -> Metric {
    Metric { name, kind, explanation, number }
}

const WAITING: &str = "serow_upstream_requests_waiting";

const METRICS: [Metric; 11] = [
    metric("serow_upstream_up", "gauge", "Whether the server gets requests.", |server| {
        Some(f64::from(u8::from(server["state"] == "up")))
    }),
    metric("serow_upstream_weight", "gauge", "Its share among the others.", |server| server["weight"].as_f64()),
    metric("serow_upstream_requests_active", "gauge", "Requests that it has.", |server| server["active"].as_f64()),
    metric("serow_upstream_requests_total", "counter", "Attempts, those that failed included.", |server| {
        server["requests"].as_f64()
    }),
    metric(
        "serow_upstream_failures_total",
        "counter",
        "Attempts that failed, or were answered with 502, 503 or 504.",
        |server| server["failures"].as_f64(),
    ),
    metric(
        "serow_upstream_retries_total",
        "counter",
        "Requests that went to another server, or there once more.",
        |server| server["retries"].as_f64(),
    ),
    metric("serow_upstream_cut_total", "counter", "Responses that were cut off.", |server| server["cut"].as_f64()),
    metric(
        "serow_upstream_unsolicited_total",
        "counter",
        "Connections closed because the server sent bytes that no request asked for.",
        |server| server["unsolicited"].as_f64(),
    ),
    metric("serow_upstream_connections_total", "counter", "Connections that were opened.", |server| {
        server["connections"].as_f64()
    }),
    metric("serow_upstream_latency_seconds", "gauge", "How long responses take to begin, on average.", |server| {
        server["latency_us"].as_f64().map(|time| time / 1e6)
    }),
    metric("serow_upstream_check_up", "gauge", "Whether the checks found it good.", |server| {
        server["check"]["up"].as_bool().map(|up| f64::from(u8::from(up)))
    }),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exposition;

    #[test]
    fn servers_as_metrics() {
        let server = json!({ "name": "unix:/a\"b", "state": "up", "requests": 7, "latency_us": 1500, "check": null });
        let checked = json!({ "name": "a:1", "state": "draining", "requests": 1, "check": { "up": true } });
        let status = json!({ "upstreams": [{ "name": "app", "waiting": 2, "servers": [server, checked] }] });
        let mut text = String::new();
        push(&status, &mut text);
        for line in [
            "serow_upstream_requests_waiting{upstream=\"app\"} 2",
            "# TYPE serow_upstream_requests_total counter",
            r#"serow_upstream_requests_total{upstream="app",server="unix:/a\"b"} 7"#,
            r#"serow_upstream_latency_seconds{upstream="app",server="unix:/a\"b"} 0.0015"#,
            r#"serow_upstream_up{upstream="app",server="a:1"} 0"#,
            r#"serow_upstream_check_up{upstream="app",server="a:1"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(text.matches("serow_upstream_check_up{").count(), 1);
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
        text.clear();
        push(&json!({ "upstreams": [] }), &mut text);
        assert_eq!(text, "");
    }
}
