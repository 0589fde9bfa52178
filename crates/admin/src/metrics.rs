//! The numbers in Prometheus' text format (version 0.0.4, which every collector reads).

use std::fmt::Write;

use serde_json::Value;

use super::{
    access, application_metrics, bans, cache, certificate_metrics, containers, fleet, histogram, metric_head::head,
    mirrors, route_metrics, server_metrics,
};

/// The media type of the format.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the status as metrics.
pub(super) fn text(status: &Value) -> String {
    let mut text = String::new();
    for Metric { name, kind, explanation, samples } in METRICS {
        let samples: Vec<_> =
            samples.iter().filter_map(|(labels, path)| Some((labels, status.pointer(path)?.as_u64()?))).collect();
        if samples.is_empty() {
            continue;
        }
        head(&mut text, name, kind, explanation);
        for (labels, number) in samples {
            // Writing to memory does not fail.
            let _ = writeln!(text, "{name}{labels} {number}");
        }
    }
    for (version, rfc) in [("2", "RFC 9113, section 7"), ("3", "RFC 9114, section 8.1")] {
        connection_errors(version, rfc, status, &mut text);
    }
    queue_delay(status, &mut text);
    route_metrics::push(status, &mut text);
    application_metrics::push(status, &mut text);
    access::push(status, &mut text);
    bans::push(status, &mut text);
    mirrors::push(status, &mut text);
    cache::push(status, &mut text);
    fleet::push(status, &mut text);
    containers::push(status, &mut text);
    certificate_metrics::push(status, &mut text);
    server_metrics::push(status, &mut text);
    generations(status, &mut text);
    text
}

fn connection_errors(version: &str, rfc: &str, status: &Value, text: &mut String) {
    let codes = status.pointer(&format!("/http{version}/connection_errors"));
    let Some(codes) = codes.and_then(Value::as_object) else { return };
    let name = &*format!("serow_http{version}_connection_errors_total");
    let help = format!("HTTP/{version} connections that the server ended for an error, by its code ({rfc}).");
    head(text, name, "counter", &help);
    // Whatever a generation calls a code: nothing else fits into the format.
    let is_plain =
        |code: &str| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    for (code, number) in codes.iter().filter_map(|(code, number)| Some((code, number.as_u64()?))) {
        if !is_plain(code) {
            continue;
        }
        let _ = writeln!(text, "{name}{{code=\"{code}\"}} {number}");
    }
}

/// A histogram in seconds; its classes are those of the status, added up.
fn queue_delay(status: &Value, text: &mut String) {
    let Some(classes) = status.pointer("/pacing/queue_delay/buckets").and_then(Value::as_array) else { return };
    let name = "serow_http2_queue_delay_seconds";
    // Without `_sum`, which nobody counts; quantiles and rates need the buckets only.
    head(
        text,
        name,
        "histogram",
        "How long bytes of HTTP/2 waited in a socket before they were sent, where they wait at all; counted in bytes.",
    );
    histogram::push(name, "", classes, text);
}

fn generations(status: &Value, text: &mut String) {
    let Some(generations) = status["generations"].as_array() else { return };
    let name = "serow_generations";
    head(text, name, "gauge", "Processes of this server, by how far they are.");
    for stage in ["starting", "serving", "leaving"] {
        let number = generations.iter().filter(|generation| generation["stage"] == stage).count();
        let _ = writeln!(text, "{name}{{stage=\"{stage}\"}} {number}");
    }
}

struct Metric {
    name: &'static str,
    kind: &'static str,
    explanation: &'static str,
    /// Labels, and where the number stands in the status.
    samples: &'static [(&'static str, &'static str)],
}

const fn counter(
    name: &'static str,
    explanation: &'static str,
    samples: &'static [(&'static str, &'static str)],
) -> Metric {
    Metric { name, kind: "counter", explanation, samples }
}

const fn gauge(
    name: &'static str,
    explanation: &'static str,
    samples: &'static [(&'static str, &'static str)],
) -> Metric {
    Metric { name, kind: "gauge", explanation, samples }
}

const METRICS: &[Metric] = &[
    gauge("serow_start_time_seconds", "When the server began to listen, since 1970.", &[("", "/started")]),
    gauge("serow_workers", "Threads that serve.", &[("", "/workers")]),
    counter(
        "serow_connections_accepted_total",
        "Connections that were accepted.",
        &[
            ("{tls=\"no\"}", "/connections/plain"),
            ("{tls=\"yes\"}", "/connections/tls"),
            ("{tls=\"quic\"}", "/connections/quic"),
        ],
    ),
    counter(
        "serow_connections_total",
        "Connections by the version of HTTP that they turned out to speak.",
        &[
            ("{http=\"1\"}", "/connections/http1"),
            ("{http=\"2\"}", "/connections/http2"),
            ("{http=\"3\"}", "/connections/http3"),
        ],
    ),
    gauge("serow_connections_open", "Connections that are open, tunnels included.", &[("", "/connections/open")]),
    gauge(
        "serow_connections_open_by_version",
        "Connections that are open, by the version of HTTP that they speak.",
        &[
            ("{http=\"1\"}", "/connections/open_http1"),
            ("{http=\"2\"}", "/connections/open_http2"),
            ("{http=\"3\"}", "/connections/open_http3"),
        ],
    ),
    counter(
        "serow_connections_failed_total",
        "Connections that ended before HTTP began: no TLS agreed upon, no PROXY header, or a client that is refused.",
        &[
            ("{at=\"tls\"}", "/connections/handshakes_failed"),
            ("{at=\"proxy_header\"}", "/connections/refused"),
            ("{at=\"ban\"}", "/connections/refused_banned"),
            ("{at=\"client_limit\"}", "/connections/refused_per_client"),
        ],
    ),
    counter(
        "serow_requests_total",
        "Requests, malformed ones included.",
        &[
            ("{http=\"1\"}", "/requests/http1"),
            ("{http=\"2\"}", "/requests/http2"),
            ("{http=\"3\"}", "/requests/http3"),
        ],
    ),
    gauge(
        "serow_requests_in_progress",
        "Requests that are not answered to the end yet.",
        &[("", "/requests/in_progress")],
    ),
    counter(
        "serow_responses_total",
        "Requests that are over, by the class of the status; 499 where the client left before.",
        &[
            ("{status=\"1xx\"}", "/requests/status_1xx"),
            ("{status=\"2xx\"}", "/requests/status_2xx"),
            ("{status=\"3xx\"}", "/requests/status_3xx"),
            ("{status=\"4xx\"}", "/requests/status_4xx"),
            ("{status=\"5xx\"}", "/requests/status_5xx"),
            ("{status=\"499\"}", "/requests/status_499"),
            ("{status=\"other\"}", "/requests/status_other"),
        ],
    ),
    counter("serow_received_body_bytes_total", "Bytes of requests' bodies.", &[("", "/requests/body_bytes_received")]),
    counter("serow_sent_body_bytes_total", "Bytes of responses' bodies.", &[("", "/requests/body_bytes_sent")]),
    counter("serow_http2_streams_total", "Streams of HTTP/2 that clients opened.", &[("", "/http2/streams_opened")]),
    gauge("serow_http2_streams_active", "Streams of HTTP/2 that are open.", &[("", "/http2/streams_active")]),
    counter(
        "serow_http2_streams_reset_total",
        "Streams of HTTP/2 that were cut off.",
        &[("{by=\"client\"}", "/http2/streams_reset_by_peer"), ("{by=\"server\"}", "/http2/streams_reset_by_us")],
    ),
    counter("serow_http3_streams_total", "Streams of HTTP/3 that clients opened.", &[("", "/http3/streams_opened")]),
    gauge("serow_http3_streams_active", "Streams of HTTP/3 that are open.", &[("", "/http3/streams_active")]),
    counter(
        "serow_http3_streams_reset_total",
        "Streams of HTTP/3 that were cut off.",
        &[("{by=\"client\"}", "/http3/streams_reset_by_peer"), ("{by=\"server\"}", "/http3/streams_reset_by_us")],
    ),
    gauge(
        "serow_http2_connections_waiting",
        "HTTP/2 and HTTP/3 connections that have more to send than goes out.",
        &[("", "/pacing/connections_waiting")],
    ),
    counter(
        "serow_access_log_lines_total",
        "Lines of the access log.",
        &[("{fate=\"written\"}", "/access_log/lines"), ("{fate=\"lost\"}", "/access_log/lost")],
    ),
    gauge(
        "serow_access_log_lines_waiting",
        "Lines of the access log in memory that wait to be written.",
        &[("", "/access_log/waiting")],
    ),
    counter(
        "serow_reloads_total",
        "Reloads of the settings.",
        &[("{outcome=\"done\"}", "/reloads/done"), ("{outcome=\"failed\"}", "/reloads/failed")],
    ),
    counter(
        "serow_reloads_adopted_total",
        "Successful reloads whose settings the running process took over, without a new one.",
        &[("", "/reloads/adopted")],
    ),
    counter("serow_crashes_total", "Generations that ended unexpectedly.", &[("", "/reloads/crashes")]),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use serow_access_log::LineCounts;

    use super::*;
    use crate::{document, exposition, total::MOMENTARY};

    fn example() -> Value {
        let server = serow::Server::new().listen("127.0.0.1:0").bind().unwrap();
        document::value(&server.status().report(), LineCounts::default(), "off", false, &[], &[], &[])
    }

    #[test]
    fn a_status_as_metrics() {
        let mut status = example();
        status["requests"]["status_499"] = 7.into();
        status["pacing"]["queue_delay"]["buckets"] =
            json!([{ "up_to_us": 10, "count": 2 }, { "up_to_us": 1500, "count": 3 }]);
        status["generations"] = json!([{ "stage": "serving" }, { "stage": "leaving" }, { "stage": "leaving" }]);
        let text = text(&status);
        for line in [
            "# TYPE serow_responses_total counter",
            "serow_responses_total{status=\"499\"} 7",
            "serow_http2_connection_errors_total{code=\"protocol_error\"} 0",
            "serow_http2_queue_delay_seconds_bucket{le=\"0.00001\"} 2",
            "serow_http2_queue_delay_seconds_bucket{le=\"0.0015\"} 5",
            "serow_http2_queue_delay_seconds_bucket{le=\"+Inf\"} 5",
            "serow_generations{stage=\"leaving\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(exposition::faults(&text), Vec::<String>::new());
    }

    #[test]
    fn momentary_numbers_end_with_a_generation() {
        let gauges = METRICS.iter().filter(|metric| metric.kind == "gauge").flat_map(|metric| metric.samples);
        let momentary: HashSet<_> = gauges.map(|(_, path)| *path).collect();
        let expected = MOMENTARY.into_iter().chain(["/started", "/workers"]).collect();
        assert_eq!(momentary, expected);
    }

    #[test]
    fn every_number_stands_where_the_status_has_it() {
        let mut status = example();
        status["reloads"] = json!({ "done": 0, "adopted": 0, "failed": 0, "crashes": 0 });
        for (_, path) in METRICS.iter().flat_map(|metric| metric.samples) {
            assert!(status.pointer(path).is_some_and(Value::is_u64), "{path}");
        }
    }
}
