//! The numbers for people: a line for each subject.

use serde_json::Value;
use serow_config::printable::on_one_line;

use super::{
    access, application_table, cache, certificate_table, containers, fleet, mirrors, running_table, server_table,
    units::{bytes, count, long_time, short_time},
};

/// Returns the JSON as lines for people; nothing where it is not the status of a server.
pub(crate) fn of(json: &str) -> Option<String> {
    let status: Value = serde_json::from_str(json).ok()?;
    let lines = lines(&Numbers(&status))?;
    let width = lines.iter().map(|(name, _)| name.len()).max()?;
    let lines: String = lines.iter().map(|(name, text)| format!("{name:width$}  {text}\n")).collect();
    let tables = [
        access::table,
        application_table::of,
        running_table::of,
        mirrors::table,
        fleet::table,
        containers::table,
        certificate_table::of,
        server_table::of,
    ];
    Some(tables.iter().fold(lines, |lines, table| lines + &table(&status)))
}

fn lines(status: &Numbers<'_>) -> Option<Vec<(&'static str, String)>> {
    let number = |path| status.number(path).map(count);
    let size = |path| status.number(path).map(bytes);
    let mut lines = vec![
        ("serow", format!("{}, {}", status.at("/version")?.as_str()?, workers(status.number("/workers")?))),
        ("running for", long_time(status.number("/uptime_seconds")?)),
        // A generation of an older version does not report it.
        ("sandbox", status.at("/sandbox").and_then(Value::as_str).map_or("unknown".to_owned(), on_one_line)),
        (
            "connections",
            format!(
                "{} open: {} HTTP/1, {} HTTP/2",
                number("/connections/open")?,
                number("/connections/open_http1")?,
                number("/connections/open_http2")?
            ),
        ),
        (
            "  accepted",
            format!(
                "{}: {} plain, {} TLS",
                number("/connections/accepted")?,
                number("/connections/plain")?,
                number("/connections/tls")?
            ),
        ),
        (
            "  ended early",
            format!(
                "{} handshakes failed, {} refused",
                number("/connections/handshakes_failed")?,
                number("/connections/refused")?
            ),
        ),
        ("requests", format!("{} in progress", number("/requests/in_progress")?)),
        (
            "  total",
            format!(
                "{}: {} HTTP/1, {} HTTP/2",
                number("/requests/total")?,
                number("/requests/http1")?,
                number("/requests/http2")?
            ),
        ),
        ("  answered", answered(status)?),
        (
            "  bodies",
            format!("{} sent, {} received", size("/requests/body_bytes_sent")?, size("/requests/body_bytes_received")?),
        ),
    ];
    if let Some(banned) = status.number("/bans/banned").filter(|banned| *banned > 0) {
        lines.push(("bans", format!("{} clients are banned: see 'serow ban list'", count(banned))));
    }
    if status.at("/maintenance") == Some(&Value::Bool(true)) {
        lines.insert(2, ("maintenance", "on: clients receive 503".to_owned()));
    }
    lines.extend(cache::lines(status.0));
    lines.extend(http2(status)?);
    lines.push(("access log", access_log(status)?));
    lines.extend(generations(status));
    Some(lines)
}

fn access_log(status: &Numbers<'_>) -> Option<String> {
    let number = |path| status.number(path).map(count);
    let mut text = format!("{} lines, {} lost", number("/access_log/lines")?, number("/access_log/lost")?);
    // Lines wait for milliseconds, unless they cannot be written.
    if let Some(waiting) = number("/access_log/waiting").filter(|waiting| waiting != "0") {
        text = format!("{text}, {waiting} waiting");
    }
    Some(text)
}

fn http2(status: &Numbers<'_>) -> Option<[(&'static str, String); 5]> {
    let number = |path| status.number(path).map(count);
    Some([
        (
            "streams",
            format!("{} active, {} opened", number("/http2/streams_active")?, number("/http2/streams_opened")?),
        ),
        (
            "  cut off",
            format!(
                "{} by clients, {} by the server, of those {} refused",
                number("/http2/streams_reset_by_peer")?,
                number("/http2/streams_reset_by_us")?,
                number("/http2/streams_refused")?
            ),
        ),
        ("  errors", errors(status)?),
        ("pacing", format!("{} connections waiting to send", number("/pacing/connections_waiting")?)),
        ("  queue delay", delay(status)?),
    ])
}

/// The processes of `serow run`; nothing where there is one process only.
fn generations(status: &Numbers<'_>) -> Vec<(&'static str, String)> {
    let Some(generations) = status.at("/generations").and_then(Value::as_array) else { return Vec::new() };
    let number = |path| count(status.number(path).unwrap_or(0));
    let adopted = status.number("/reloads/adopted").filter(|adopted| *adopted > 0);
    let adopted = adopted.map_or_else(String::new, |adopted| format!("; {} in the same process", count(adopted)));
    let mut lines = vec![(
        "reloads",
        format!(
            "{} done, {} failed, {} crashes{adopted}",
            number("/reloads/done"),
            number("/reloads/failed"),
            number("/reloads/crashes")
        ),
    )];
    if let Some(failure) = status.at("/reloads/last_failure").and_then(Value::as_str) {
        lines.push(("  last failure", on_one_line(failure.lines().next().unwrap_or_default())));
    }
    lines.extend(generations.iter().map(|generation| ("generation", of_generation(generation))));
    lines
}

fn of_generation(generation: &Value) -> String {
    let number = |name: &str| generation[name].as_u64().unwrap_or(0);
    let stage = generation["stage"].as_str().unwrap_or_default();
    let beginning = format!("{}, {stage}, process {}", number("number"), number("process"));
    match generation["answers"] {
        Value::Bool(true) => format!(
            "{beginning}, {} connections, {} requests in progress",
            count(number("connections_open")),
            count(number("requests_in_progress"))
        ),
        _ => format!("{beginning}, does not answer"),
    }
}

fn workers(number: u64) -> String {
    if number == 1 { "1 worker".to_owned() } else { format!("{} workers", count(number)) }
}

/// The classes of statuses of which there are any.
fn answered(status: &Numbers<'_>) -> Option<String> {
    let classes = [
        ("1xx", "status_1xx"),
        ("2xx", "status_2xx"),
        ("3xx", "status_3xx"),
        ("4xx", "status_4xx"),
        ("5xx", "status_5xx"),
        ("left before (499)", "status_499"),
        ("other", "status_other"),
    ];
    let mut parts = Vec::new();
    for (name, field) in classes {
        parts.push((name.to_owned(), status.number(&format!("/requests/{field}"))?));
    }
    Some(those_there_are(parts))
}

/// Connections that were ended for an error, by the code.
fn errors(status: &Numbers<'_>) -> Option<String> {
    let codes = status.at("/http2/connection_errors")?.as_object()?;
    let parts = codes.iter().map(|(code, number)| Some((code.to_ascii_uppercase(), number.as_u64()?)));
    Some(those_there_are(parts.collect::<Option<_>>()?))
}

fn those_there_are(parts: Vec<(String, u64)>) -> String {
    let parts = parts.into_iter().filter(|(_, number)| *number > 0);
    let parts: Vec<_> = parts.map(|(name, number)| format!("{} {name}", count(number))).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn delay(status: &Numbers<'_>) -> Option<String> {
    if status.number("/pacing/queue_delay/count")? == 0 {
        return Some("none measured".to_owned());
    }
    let time = |path| status.number(path).map(short_time);
    Some(format!(
        "p50 {}, p99 {}, max {}",
        time("/pacing/queue_delay/p50_us")?,
        time("/pacing/queue_delay/p99_us")?,
        time("/pacing/queue_delay/max_us")?
    ))
}

/// The document, as what is looked up in it.
struct Numbers<'a>(&'a Value);

impl Numbers<'_> {
    fn at(&self, path: &str) -> Option<&Value> {
        self.0.pointer(path)
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.at(path)?.as_u64()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serow_access_log::LineCounts;

    use super::*;
    use crate::document;

    #[test]
    fn a_status_in_lines() {
        let mut report = serow::Server::new().listen("127.0.0.1:0").workers(2).bind().unwrap().status().report();
        report.uptime = Duration::from_secs(3_661);
        report.requests.total = 12_345;
        report.requests.status_2xx = 12_000;
        report.requests.status_499 = 345;
        report.requests.body_bytes_sent = 5 << 20;
        report.http2.connection_errors[10].1 = 2;
        report.pacing.queue_delay.count = 1;
        report.pacing.queue_delay.p50 = Some(Duration::from_micros(120));
        report.pacing.queue_delay.p99 = Some(Duration::from_millis(14));
        report.pacing.queue_delay.max = Some(Duration::from_secs(2));
        let expected = format!(
            "serow          {}, 2 workers\n\
             running for    1 h 1 min\n\
             sandbox        off: the settings say so\n\
             connections    0 open: 0 HTTP/1, 0 HTTP/2\n  \
               accepted     0: 0 plain, 0 TLS\n  \
               ended early  0 handshakes failed, 0 refused\n\
             requests       0 in progress\n  \
               total        12,345: 0 HTTP/1, 0 HTTP/2\n  \
               answered     12,000 2xx, 345 left before (499)\n  \
               bodies       5.0 MiB sent, 0 B received\n\
             streams        0 active, 0 opened\n  \
               cut off      0 by clients, 0 by the server, of those 0 refused\n  \
               errors       2 ENHANCE_YOUR_CALM\n\
             pacing         0 connections waiting to send\n  \
               queue delay  p50 120 µs, p99 14 ms, max 2.0 s\n\
             access log     12,000 lines, 345 lost, 200 waiting\n",
            report.version
        );
        let log = LineCounts { lines: 12_000, waiting: 200, lost: 345 };
        assert_eq!(
            of(&document::value(&report, log, "off: the settings say so", false, &[], &[], &[]).to_string()).unwrap(),
            expected
        );
    }

    #[test]
    fn texts_without_the_fields_are_not_a_status() {
        for text in ["", "{}", "<html>", "[]", r#"{"version":1,"workers":2}"#] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
