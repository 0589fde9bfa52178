//! How a run went, as comma-separated values.

use std::fmt::Write;

use crate::{Interval, Results};

/// How the run went: a line with the names of the columns and a line for each interval, each ended by a line feed (RFC
/// 4180 §2 would have CR LF, which programs that plot stumble over more often). Where there was no response the
/// latencies are empty.
///
/// | column | what |
/// | --- | --- |
/// | `start_s`, `length_s` | when it began, in seconds from the beginning of the run, and how long it was |
/// | `requests`, `bytes`, `errors` | responses, bytes received, and errors, statuses of 400 and above included |
/// | `requests_per_second`, `bytes_per_second` | the same by time |
/// | `p50_us`, `p99_us`, `max_us` | the median, 99th percentile and longest of the latencies in microseconds |
#[must_use]
pub fn csv(results: &Results) -> String {
    let mut lines = String::from(COLUMNS);
    for interval in &results.time_series {
        row(interval, &mut lines);
    }
    lines
}

fn row(interval: &Interval, lines: &mut String) {
    // Writing to memory does not fail.
    let _ = write!(
        lines,
        "{},{},{},{},{},{:.3},{:.3}",
        interval.start.as_secs_f64(),
        interval.length.as_secs_f64(),
        interval.requests,
        interval.bytes,
        interval.errors,
        interval.requests_per_second(),
        interval.bytes_per_second(),
    );
    for latency in [interval.median, interval.high, interval.longest] {
        let _ = match interval.requests {
            0 => write!(lines, ","),
            _ => write!(lines, ",{:.3}", latency as f64 / 1e3),
        };
    }
    lines.push('\n');
}

const COLUMNS: &str =
    "start_s,length_s,requests,bytes,errors,requests_per_second,bytes_per_second,p50_us,p99_us,max_us\n";
