//! Everything a run brought, as json.

use std::{fmt::Write, time::Duration};

use serde_json::{Map, Value, json};

use super::{PERCENTILES, figures::Figures, histogram::histogram, moment};
use crate::{Distribution, Interval, Results};

/// Everything the run brought, as a json object over several lines; a row of a table is on one line. Names stay as they
/// are, others may come; `format` changes if one ever has to go.
///
/// The end of a name is its unit: `_s` seconds, `_us` microseconds, both with decimals. `null` is what there is not: a
/// limit that was not set, a latency where there was no response. Shares are from 0 to 1.
///
/// | name | what |
/// | --- | --- |
/// | `run` | what was asked for, and whether it was `interrupted` |
/// | `summary` | responses, bytes, both by time; requests that were due and not sent, and those that were refused and sent again; connections opened |
/// | `statuses` | how many responses had which status |
/// | `errors` | by kind; `status` counts statuses of 400 and above, which are responses as well |
/// | `latency` | from the request to the end of its response; from when it was due, where a rate was planned |
/// | `connect` | how long connections took to open |
/// | `thread_rate` | responses each second of a thread, sampled |
/// | `histogram` | latencies, counted in 20 ranges to a factor of ten |
/// | `course` | how it went, interval by interval |
#[must_use]
pub fn json(results: &Results) -> String {
    let value = json!({
        "format": 1,
        "run": run(results),
        "summary": summary(results),
        "statuses": statuses(results),
        "errors": errors(results),
        "latency": latency(&results.latencies),
        "connect": latency(&results.connect_times),
        "thread_rate": rate(&results.thread_rates),
        "histogram": ranges(&results.latencies),
        "course": results.time_series.iter().map(interval).collect::<Vec<_>>(),
    });
    let mut text = String::new();
    write(&value, 0, &mut text);
    text.push('\n');
    text
}

fn run(results: &Results) -> Value {
    json!({
        "url": results.url,
        "socket": results.socket,
        "version": super::version(results.version),
        "encryption": results.encryption,
        "threads": results.threads,
        "connections": results.connections,
        "streams": results.streams,
        "planned_duration_s": results.planned_duration.map(seconds),
        "planned_requests_per_second": results.planned_rate,
        "began": moment::rfc_3339(results.began),
        "interrupted": results.interrupted,
    })
}

fn summary(results: &Results) -> Value {
    json!({
        "elapsed_s": seconds(results.elapsed),
        "requests": results.requests,
        "bytes": results.bytes,
        "requests_per_second": rounded(results.requests_per_second()),
        "bytes_per_second": rounded(results.bytes_per_second()),
        "unsent": results.unsent,
        "sent_again": results.sent_again,
        "connections_made": results.connections_made,
    })
}

fn statuses(results: &Results) -> Value {
    results
        .statuses
        .iter()
        .map(|(status, count)| (status.to_string(), Value::from(*count)))
        .collect::<Map<_, _>>()
        .into()
}

fn errors(results: &Results) -> Value {
    let errors = &results.errors;
    json!({
        "connect": errors.connect,
        "read": errors.read,
        "write": errors.write,
        "timeout": errors.timeout,
        "protocol": errors.protocol,
        "status": errors.status,
    })
}

fn latency(distribution: &Distribution) -> Value {
    let some = |nanoseconds: f64| (distribution.count() > 0).then(|| microseconds(nanoseconds));
    let figures = Figures::of(distribution);
    let mut object = json!({
        "count": distribution.count(),
        "mean_us": some(figures.mean),
        "stdev_us": some(figures.deviation),
        "within_stdev": share(&figures, distribution),
        "min_us": some(distribution.least() as f64),
        "max_us": some(figures.most),
    });
    for percent in PERCENTILES {
        let name = format!("p{percent}_us").replace('.', "_");
        object[name] = some(distribution.percentile(percent) as f64).into();
    }
    object
}

fn rate(distribution: &Distribution) -> Value {
    let some = |rate: f64| (distribution.count() > 0).then(|| rounded(rate));
    let figures = Figures::of(distribution);
    json!({
        "count": distribution.count(),
        "mean": some(figures.mean),
        "stdev": some(figures.deviation),
        "within_stdev": share(&figures, distribution),
        "min": some(distribution.least() as f64),
        "max": some(figures.most),
    })
}

fn ranges(distribution: &Distribution) -> Value {
    let bins = histogram(distribution, 20);
    let row = |bin: &super::histogram::Bin| json!({ "from_us": microseconds(bin.low), "to_us": microseconds(bin.high), "count": bin.count });
    bins.iter().map(row).collect()
}

fn interval(interval: &Interval) -> Value {
    let some = |nanoseconds: u64| (interval.requests > 0).then(|| microseconds(nanoseconds as f64));
    json!({
        "start_s": seconds(interval.start),
        "length_s": seconds(interval.length),
        "requests": interval.requests,
        "bytes": interval.bytes,
        "errors": interval.errors,
        "requests_per_second": rounded(interval.requests_per_second()),
        "bytes_per_second": rounded(interval.bytes_per_second()),
        "p50_us": some(interval.median),
        "p99_us": some(interval.high),
        "max_us": some(interval.longest),
    })
}

/// Of nothing, no share is within anything.
fn share(figures: &Figures, distribution: &Distribution) -> Option<f64> {
    (distribution.count() > 0).then(|| rounded(figures.within))
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn microseconds(nanoseconds: f64) -> f64 {
    rounded(nanoseconds / 1e3)
}

/// To three decimals, which is more than is measured.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Objects over several lines, elements of a list one to a line.
fn write(value: &Value, depth: usize, text: &mut String) {
    let inner = depth + 1;
    match value {
        Value::Object(members) if !members.is_empty() && depth < 2 => {
            let lines = members.iter().map(|(name, member)| {
                let mut line = format!("{}: ", Value::from(name.as_str()));
                write(member, inner, &mut line);
                line
            });
            enclose(['{', '}'], lines, depth, text);
        }
        Value::Array(elements) if !elements.is_empty() => {
            enclose(['[', ']'], elements.iter().map(Value::to_string), depth, text);
        }
        // Writing to memory does not fail.
        other => drop(write!(text, "{other}")),
    }
}

fn enclose([open, close]: [char; 2], lines: impl Iterator<Item = String>, depth: usize, text: &mut String) {
    text.push(open);
    for (number, line) in lines.enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\n{:1$}{line}", "", 2 * (depth + 1));
    }
    let _ = write!(text, "\n{:1$}{close}", "", 2 * depth);
}
