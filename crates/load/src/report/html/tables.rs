//! The figures in rows: statuses, errors, latencies, and what was run.

use http::StatusCode;

use super::{
    super::{PERCENTILES, figures::Figures, moment, version},
    escape::escaped,
    quantity,
};
use crate::{Distribution, Results};

/// All of a run.
pub(super) fn all(results: &Results) -> Vec<String> {
    vec![
        table("Statuses", &statuses(results)),
        table("Errors", &errors(results)).replacen("<div>", "<div class=\"bad\">", 1),
        table("Latencies", &latencies(&results.latencies)),
        table("Run", &run(results)),
    ]
}

/// The version of HTTP, and that of TLS: `HTTP/2 over TLS 1.3`.
pub(super) fn protocol(results: &Results) -> String {
    let encryption = results.encryption.as_ref().map(|encryption| format!(" over {encryption}")).unwrap_or_default();
    format!("{}{encryption}", version(results.version))
}

/// A row: what, and how much of it; perhaps which part of the whole.
struct Row {
    name: String,
    value: String,
    share: Option<[u64; 2]>,
}

impl Row {
    fn new(name: &str, value: &str) -> Self {
        Self { name: escaped(name), value: escaped(value), share: None }
    }

    fn counted(name: &str, part: u64, whole: u64) -> Self {
        Self { share: Some([part, whole]), ..Self::new(name, &quantity::count(part)) }
    }

    fn html(&self) -> String {
        let Some([part, whole]) = self.share else {
            return format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", self.name, self.value);
        };

        let width = quantity::trimmed((part as f64 / whole.max(1) as f64 * 1e4).round() / 100.0);
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number share\">{}</td>\
             <td class=\"bar\"><svg aria-hidden=\"true\"><rect width=\"{width}%\" height=\"100%\"/></svg></td></tr>\n",
            self.name,
            self.value,
            escaped(&quantity::share(part, whole)),
        )
    }
}

fn table(title: &str, rows: &[Row]) -> String {
    let rows: String = rows.iter().map(Row::html).collect();
    format!("<div><h2>{title}</h2>\n<table>\n{rows}</table></div>")
}

fn statuses(results: &Results) -> Vec<Row> {
    if results.statuses.is_empty() {
        return vec![Row::new("There was no response.", "")];
    }
    let whole = results.statuses.values().sum();
    let row = |(status, count): (&u16, &u64)| Row::counted(&status_name(*status), *count, whole);
    results.statuses.iter().map(row).collect()
}

fn status_name(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    format!("{status} {}", reason.unwrap_or_default()).trim_end().to_owned()
}

fn errors(results: &Results) -> Vec<Row> {
    let (errors, whole) = (&results.errors, results.requests + results.errors.unanswered());
    let kinds = [
        ("No connection", errors.connect),
        ("Not sent whole", errors.write),
        ("Response cut off", errors.read),
        ("No response in time", errors.timeout),
        ("Not as HTTP has it", errors.protocol),
        ("Status 400 or above", errors.status),
    ];
    let happened = kinds.into_iter().filter(|(_, count)| *count > 0);
    let rows: Vec<_> = happened.map(|(name, count)| Row::counted(name, count, whole)).collect();
    if rows.is_empty() { vec![Row::new("There were none.", "")] } else { rows }
}

fn latencies(latencies: &Distribution) -> Vec<Row> {
    if latencies.count() == 0 {
        return vec![Row::new("There was no response.", "")];
    }
    let figures = Figures::of(latencies);
    let time = |name: &str, nanoseconds: f64| Row::new(name, &quantity::time(nanoseconds));
    let percentiles =
        PERCENTILES.map(|percent| time(&quantity::round_percent(percent), latencies.percentile(percent) as f64));
    let mut rows = vec![
        time("Mean", figures.mean),
        time("Standard deviation", figures.deviation),
        time("Shortest", latencies.least() as f64),
    ];
    rows.extend(percentiles);
    rows.push(time("Longest", figures.most));
    rows
}

fn run(results: &Results) -> Vec<Row> {
    let mut rows = vec![Row::new("URL", &results.url)];
    let mut add = |name: &str, value: Option<String>| rows.extend(value.map(|value| Row::new(name, &value)));
    let count = |number: usize| Some(quantity::count(number as u64));
    add("Socket", results.socket.clone());
    add("Protocol", Some(version(results.version).into()));
    add("Encryption", results.encryption.clone());
    add("Threads", count(results.threads));
    add("Connections", count(results.connections));
    add("Requests at a time on each", count(results.streams).filter(|_| results.streams > 1));
    add("Planned duration", results.planned_duration.map(quantity::trimmed_time));
    add("Duration", Some(quantity::duration(results.elapsed)));
    add("Planned responses each second", results.planned_rate.map(quantity::rate));
    add("Requests not sent in time", results.planned_rate.map(|_| quantity::count(results.unsent)));
    add("Requests refused and sent again", (results.sent_again > 0).then(|| quantity::count(results.sent_again)));
    add("Connections opened", Some(quantity::count(results.connections_made)));
    let opening = |percent| quantity::time(results.connect_times.percentile(percent) as f64);
    let opened = results.connect_times.count() > 0;
    add("Time to open one", opened.then(|| format!("{}, 99\u{a0}% {}", opening(50.0), opening(99.0))));
    add("Begun", Some(moment::rfc_3339(results.began)));
    add("Interrupted", results.interrupted.then(|| "yes".into()));
    rows
}
