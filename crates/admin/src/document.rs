//! The numbers as JSON. The fields are explained in `fields.rs`; they keep their names and their meaning.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use serow::{ConnectionCounts, ConnectionError, DelayCounts, RequestCounts, StatusReport, StreamCounts};
use serow_access_log::LineCounts;
use serow_acme::CertificateReport;
use serow_apps::{ApplicationReport, RunningRequest};
use serow_proxy::{CheckReport, ServerReport, UpstreamReport};

/// The document.
pub(crate) fn value(
    report: &StatusReport,
    log: LineCounts,
    sandbox: &str,
    maintenance: bool,
    applications: &[ApplicationReport],
    upstreams: &[UpstreamReport],
    certificates: &[CertificateReport],
) -> Value {
    let started = report.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    json!({
        "version": report.version,
        "started": started.as_secs(),
        "uptime_seconds": report.uptime.as_secs(),
        "workers": report.workers,
        "sandbox": sandbox,
        "maintenance": maintenance,
        "connections": connections(&report.connections),
        "requests": requests(&report.requests),
        "http2": streams(&report.http2),
        "http3": streams(&report.http3),
        "pacing": {
            "connections_waiting": report.pacing.connections_waiting,
            "queue_delay": delays(&report.pacing.queue_delay),
        },
        "access_log": {
            "lines": log.lines,
            "waiting": log.waiting,
            "lost": log.lost,
        },
        "applications": applications.iter().map(application).collect::<Vec<_>>(),
        "upstreams": self::upstreams(upstreams),
        "certificates": certificates.iter().map(certificate).collect::<Vec<_>>(),
    })
}

fn connections(counts: &ConnectionCounts) -> Value {
    json!({
        "accepted": counts.accepted,
        "open": counts.open,
        "open_http1": counts.open_http1,
        "open_http2": counts.open_http2,
        "open_http3": counts.open_http3,
        "plain": counts.plain,
        "tls": counts.tls,
        "quic": counts.quic,
        "http1": counts.http1,
        "http2": counts.http2,
        "http3": counts.http3,
        "handshakes_failed": counts.handshakes_failed,
        "refused": counts.refused,
        "refused_banned": counts.refused_banned,
        "refused_per_client": counts.refused_per_client,
    })
}

fn requests(counts: &RequestCounts) -> Value {
    json!({
        "total": counts.total,
        "http1": counts.http1,
        "http2": counts.http2,
        "http3": counts.http3,
        "in_progress": counts.in_progress,
        "status_1xx": counts.status_1xx,
        "status_2xx": counts.status_2xx,
        "status_3xx": counts.status_3xx,
        "status_4xx": counts.status_4xx,
        "status_5xx": counts.status_5xx,
        "status_499": counts.status_499,
        "status_other": counts.status_other,
        "body_bytes_received": counts.body_bytes_received,
        "body_bytes_sent": counts.body_bytes_sent,
    })
}

fn streams(counts: &StreamCounts) -> Value {
    let errors = counts.connection_errors.iter().map(|(error, count)| {
        let name = match error {
            ConnectionError::Code(name) => name.to_ascii_lowercase(),
            ConnectionError::Other => "other".to_owned(),
        };
        (name, Value::from(*count))
    });
    json!({
        "streams_opened": counts.streams_opened,
        "streams_active": counts.streams_active,
        "streams_reset_by_peer": counts.streams_reset_by_peer,
        "streams_reset_by_us": counts.streams_reset_by_us,
        "streams_refused": counts.streams_refused,
        "connection_errors": errors.collect::<Map<_, _>>(),
    })
}

fn delays(counts: &DelayCounts) -> Value {
    json!({
        "count": counts.count,
        "p50_us": counts.p50.map(microseconds),
        "p90_us": counts.p90.map(microseconds),
        "p99_us": counts.p99.map(microseconds),
        "max_us": counts.max.map(microseconds),
        "buckets": buckets(&counts.buckets),
    })
}

/// The classes of a histogram.
fn buckets(classes: &[(Duration, u64)]) -> Vec<Value> {
    classes.iter().map(|(limit, count)| json!({ "up_to_us": microseconds(*limit), "count": count })).collect()
}

fn application(report: &ApplicationReport) -> Value {
    json!({
        "name": report.name,
        "wanted": report.wanted,
        "workers": report.counts.workers,
        "busy": report.counts.busy,
        "waiting": report.counts.queued,
        "requests": report.requests,
        "replaced": report.replaced,
        "deaths": report.deaths,
        "queue_times": buckets(&report.queue_times),
        "work_times": buckets(&report.work_times),
        "running": report.running.iter().map(running).collect::<Vec<_>>(),
    })
}

fn running(request: &RunningRequest) -> Value {
    json!({
        "worker": request.worker,
        "pid": request.pid,
        "took_us": microseconds(request.took),
        "method": request.method.as_str(),
        "path": request.path,
    })
}

fn certificate(report: &CertificateReport) -> Value {
    let since_1970 = |time: &SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = |time: &SystemTime| since_1970(time).as_secs();
    let milliseconds = |time: &SystemTime| u64::try_from(since_1970(time).as_millis()).unwrap_or(u64::MAX);
    json!({
        "names": report.names.join(","),
        "issuer": report.issuer,
        "expires": report.expires.as_ref().map(seconds),
        "next_order": report.next_order.as_ref().map(seconds),
        "failures": report.failures,
        "last_error": report.last_error,
        "last_order_failed": report.last_order_failed,
        "last_order_end": report.last_order_end.as_ref().map(milliseconds),
        "on_demand": report.is_on_demand,
    })
}

/// Upstreams and their servers.
pub(super) fn upstreams(upstreams: &[UpstreamReport]) -> Vec<Value> {
    upstreams.iter().map(upstream).collect()
}

fn upstream(report: &UpstreamReport) -> Value {
    json!({
        "name": report.name,
        "generation": report.generation,
        "waiting": report.waiting,
        "servers": report.servers.iter().map(server).collect::<Vec<_>>(),
    })
}

fn server(report: &ServerReport) -> Value {
    let check = |check: &CheckReport| {
        let CheckReport { kind, port, up, rise, fall } = check;
        json!({ "kind": kind, "port": port, "up": up, "rise": rise, "fall": fall })
    };
    json!({
        "name": report.name,
        "id": report.id,
        "state": report.state.name(),
        "state_seconds": report.state_time.as_secs(),
        "weight": report.weight,
        "backup": report.backup,
        "active": report.active,
        "max": report.max_requests,
        "requests": report.requests,
        "failures": report.failures,
        "retries": report.retries,
        "cut": report.cut,
        "unsolicited": report.unsolicited,
        "connections": report.connections,
        "latency_us": microseconds(report.latency),
        "check": report.check.as_ref().map(check),
        "last_failure": report.last_failure,
    })
}

fn microseconds(delay: Duration) -> u64 {
    u64::try_from(delay.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serow_apps::{Application, ApplicationSettings, Interface, Interpreter, Program};
    use serow_proxy::{CheckKind, CheckSettings, ServerSettings, Upstream, UpstreamSettings};
    use serow_site::MirrorReport;
    use serow_supervisor::master::{GenerationReport, Report};

    use super::*;
    use crate::{CountedRoutes, FIELDS, access, bans, cache, containers, fleet, mirrors, subject};

    /// An upstream that checks its one server.
    fn upstreams() -> Vec<UpstreamReport> {
        let server = ServerSettings::new("127.0.0.1:9000".parse().unwrap());
        let mut settings = UpstreamSettings::new("app", vec![server]);
        settings.check = Some(CheckSettings::new(CheckKind::Tcp));
        vec![Upstream::new(settings).report()]
    }

    fn applications() -> Vec<ApplicationReport> {
        let program = Program {
            interface: Interface::Rack,
            application: "config.ru".into(),
            interpreter: Interpreter::from_command(["ruby"]),
        };
        let mut report = Application::new(ApplicationSettings::new("app", program, "/".into()), 1).report();
        report.queue_times.push((Duration::from_micros(7), 3));
        report.work_times.push((Duration::from_micros(7), 3));
        let (took, method) = (Duration::from_micros(7), serow::Method::GET);
        report.running.push(RunningRequest { worker: 1, pid: Some(7), took, method, path: "/".to_owned() });
        vec![report]
    }

    fn certificates() -> Vec<CertificateReport> {
        vec![CertificateReport {
            names: vec!["a.example".to_owned()],
            issuer: None,
            expires: None,
            next_order: None,
            failures: 0,
            last_error: None,
            last_order_end: None,
            last_order_failed: false,
            is_on_demand: false,
        }]
    }

    /// The path of each number, with dots between; those of a list's elements with `[]`.
    fn paths(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
        let below = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| paths(value, &below(name), found)),
            Value::Array(elements) => {
                assert!(!elements.is_empty(), "the test needs one");
                paths(&elements[0], &format!("{prefix}[]"), found);
            }
            _ => assert!(found.insert(prefix.to_owned()), "{prefix} twice"),
        }
    }

    #[test]
    fn every_field_is_explained_and_nothing_else() {
        let mut report = serow::Server::new().listen("127.0.0.1:0").bind().unwrap().status().report();
        report.pacing.queue_delay.buckets.push((Duration::from_micros(7), 3));
        let mut found = BTreeSet::new();
        let mut document =
            value(&report, LineCounts::default(), "off", false, &applications(), &upstreams(), &certificates());
        let banned = serow_limits::Bans::default();
        let hour = Duration::from_secs(3600);
        let client = "192.0.2.1".parse().unwrap();
        banned.add(client, hour, "a", serow_limits::BanOrigin::Limit, serow_net::monotonic()).unwrap();
        document["bans"] = bans::document(&banned);
        access::tests::example().add_to(&mut document);
        document["routes"] = CountedRoutes::new(Vec::new()).document();
        document["fleet"] = fleet::document(Some(&fleet::example()));
        document["containers"] = containers::document(Some(&containers::example()));
        let (name, upstream) = ("a /*".to_owned(), "b".to_owned());
        document["mirrors"] = mirrors::document(&[MirrorReport { name, upstream, sent: 1, dropped: 2, failed: 3 }]);
        document["cache"] = cache::document(Some(&cache::example()));
        paths(&document, "", &mut found);
        assert_eq!(explained(FIELDS.split_once(OF_RUN).unwrap().0), found);
        let mut of_run = Report::default();
        let report = Some(document);
        of_run
            .remembered
            .push(json!({ "upstream": "a", "server": "b", "action": "weight", "weight": 1, "persist": true }));
        of_run.generations.push(GenerationReport { number: 1, pid: 2, stage: "serving", report, answers: true });
        let mut all = BTreeSet::new();
        paths(&subject::of_generations(&of_run), "", &mut all);
        assert_eq!(explained(FIELDS), all);
    }

    const OF_RUN: &str = "\nOf 'serow run'";

    fn explained(text: &str) -> BTreeSet<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
        lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn numbers_stand_where_they_belong() {
        let mut report = serow::Server::new().listen("127.0.0.1:0").bind().unwrap().status().report();
        report.requests.status_499 = 7;
        report.http2.connection_errors[0].1 = 9;
        report.pacing.queue_delay.p99 = Some(Duration::from_millis(3));
        let log = LineCounts { lines: 11, waiting: 3, lost: 2 };
        let read = value(&report, log, "off", false, &[], &[], &[]);
        assert_eq!(read["access_log"], json!({ "lines": 11, "waiting": 3, "lost": 2 }));
        assert_eq!(read["requests"]["status_499"], 7);
        assert_eq!(read["http2"]["connection_errors"]["protocol_error"], 9);
        assert_eq!(read["pacing"]["queue_delay"]["p99_us"], 3000);
        assert_eq!(read["pacing"]["queue_delay"]["p50_us"], Value::Null);
    }
}
