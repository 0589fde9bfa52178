//! The report at the end of a run, word for word as wrk prints it.
//!
//! There are scripts that read these lines, so none of wrk's is changed. Lines that wrk does not have stand between the
//! responses without a success status and the rates at the end, where wrk has lines that come and go as well, and only
//! where there is something to say.

use std::time::Duration;

use http::Version;

use super::{figures::Figures, units};
use crate::Results;

/// The text that is printed when a run begins.
#[must_use]
pub fn opening(url: &str, planned: Option<Duration>, threads: usize, connections: usize) -> String {
    let length = planned.map(|planned| units::planned(planned) + " ").unwrap_or_default();
    format!("Running {length}test @ {url}\n  {threads} threads and {connections} connections\n")
}

/// The text that is printed when it has ended, below [`opening`]; `latency` adds the percentiles.
#[must_use]
pub fn text(results: &Results, latency: bool) -> String {
    let mut lines = statistics(results);
    if latency {
        lines.extend(percentiles(results));
    }
    let elapsed = units::duration(results.elapsed);
    let bytes = units::bytes(results.bytes as f64);
    lines.push(format!("  {} requests in {elapsed}, {bytes}B read", results.requests));
    lines.extend(errors(results));
    lines.extend(circumstances(results));
    lines.push(format!("Requests/sec: {:9.2}", results.requests_per_second()));
    lines.push(format!("Transfer/sec: {:>10}B", units::bytes(results.bytes_per_second())));
    lines.join("\n") + "\n"
}

fn statistics(results: &Results) -> Vec<String> {
    vec![
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev".into(),
        row("Latency", &Figures::of(&results.latencies), units::nanoseconds),
        row("Req/Sec", &Figures::of(&results.thread_rates), units::count),
    ]
}

/// Of no values wrk writes "-nan%" at the end, which nobody can want: here it is 0.
fn row(name: &str, figures: &Figures, write: fn(f64) -> String) -> String {
    let mean = units::column(&write(figures.mean), 8);
    let deviation = units::column(&write(figures.deviation), 10);
    let most = units::column(&write(figures.most), 9);
    format!("    {name:<10}{mean}{deviation}{most}{:8.2}%", figures.within * 100.0)
}

/// wrk's four percentiles; with a planned rate more of them, as wrk2 has it, since only then the rare ones mean
/// something.
fn percentiles(results: &Results) -> Vec<String> {
    let rare: &[f64] = if results.planned_rate.is_some() { &[99.9, 99.99, 99.999, 100.0] } else { &[] };
    let line = |percent: &f64| {
        let latency = units::nanoseconds(results.latencies.percentile(*percent) as f64);
        format!("{percent:>7}%{}", units::column(&latency, 10))
    };
    let heading = "  Latency Distribution".into();
    [heading].into_iter().chain([50.0, 75.0, 90.0, 99.0].iter().chain(rare).map(line)).collect()
}

fn errors(results: &Results) -> Vec<String> {
    let errors = &results.errors;
    let mut lines = Vec::new();
    if errors.connect + errors.read + errors.write + errors.timeout > 0 {
        lines.push(format!(
            "  Socket errors: connect {}, read {}, write {}, timeout {}",
            errors.connect, errors.read, errors.write, errors.timeout
        ));
    }
    if errors.status > 0 {
        lines.push(format!("  Non-2xx or 3xx responses: {}", errors.status));
    }
    if errors.protocol > 0 {
        lines.push(format!("  Protocol errors: {}", errors.protocol));
    }
    lines
}

/// The lines that wrk does not have.
fn circumstances(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    if results.statuses.keys().any(|status| *status != 200) {
        let statuses: Vec<_> = results.statuses.iter().map(|(status, count)| format!("{status} ({count})")).collect();
        lines.push(format!("  Statuses: {}", statuses.join(", ")));
    }
    // Each of them is kept, so there are more only where the server or the caller ends them.
    if results.connections_made > results.connections as u64 {
        let time = |percent| units::nanoseconds(results.connect_times.percentile(percent) as f64);
        let times = format!(", 50% in {}, 99% in {}", time(50.0), time(99.0));
        let times = if results.connect_times.count() > 0 { &times } else { "" };
        lines.push(format!("  Connections made: {}{times}", results.connections_made));
    }
    if results.sent_again > 0 {
        lines.push(format!("  Refused and sent again: {}", results.sent_again));
    }
    if let Some(rate) = results.planned_rate {
        lines.push(format!("  Planned rate: {rate:.2} each second, {} requests not sent", results.unsent));
    }
    lines.extend(protocol(results));
    if let Some(socket) = &results.socket {
        lines.push(format!("  Socket: {socket}"));
    }
    if results.interrupted {
        lines.push("  Interrupted before its end".into());
    }
    lines
}

/// The version of HTTP, that of TLS and the streams, unless it was HTTP/1.1 in the clear, one request at a time.
fn protocol(results: &Results) -> Option<String> {
    if results.version == Version::HTTP_11 && results.encryption.is_none() && results.streams <= 1 {
        return None;
    }
    let mut words = vec![super::version(results.version).to_owned()];
    words.extend(results.encryption.clone());
    if results.streams > 1 {
        words.push(format!("{} requests at a time on each connection", results.streams));
    }
    Some(format!("  Protocol: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of wrk 4.1's, with the figures they are of: times in microseconds, and the share in per cent.
    #[test]
    fn statistics_as_wrk_writes_them() {
        let mut lines = include_str!("../../tests/report/statistics.txt").lines().filter(|line| !line.starts_with('#'));
        let mut cases = 0;
        while let (Some(figures), Some(expected)) = (lines.next(), lines.next()) {
            let figures: Vec<f64> = figures.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
            let [mean, deviation, most, within] = figures[..] else { panic!("four figures: {figures:?}") };
            let within = within / 100.0;
            let found = if expected.contains("Latency") {
                let [mean, deviation, most] = [mean, deviation, most].map(|microseconds| microseconds * 1e3);
                row("Latency", &Figures { mean, deviation, most, within }, units::nanoseconds)
            } else {
                row("Req/Sec", &Figures { mean, deviation, most, within }, units::count)
            };
            assert_eq!(found, expected);
            cases += 1;
        }
        assert!(cases > 8);
    }

    #[test]
    fn beginnings() {
        for (planned, expected) in [
            (Some(Duration::from_secs(10)), "Running 10s test @ http://[::1]/\n  2 threads and 10 connections\n"),
            (Some(Duration::from_secs(3600)), "Running 60m test @ http://[::1]/\n  2 threads and 10 connections\n"),
            (None, "Running test @ http://[::1]/\n  2 threads and 10 connections\n"),
        ] {
            assert_eq!(opening("http://[::1]/", planned, 2, 10), expected);
        }
    }
}
