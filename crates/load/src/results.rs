//! The results of a run.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use http::Version;

use crate::Distribution;

/// The results of a run, all threads together, without the warm-up.
#[derive(Clone, Debug)]
pub struct Results {
    /// The URL, as it was written; the first of several.
    pub url: String,
    /// The socket the connections went to, where that is not what the URL says: `unix:/run/app.sock`.
    pub socket: Option<String>,
    /// The version that was spoken.
    pub version: Version,
    /// The version of TLS and the cipher suite, where there was TLS.
    pub encryption: Option<String>,
    /// Threads.
    pub threads: usize,
    /// Connections that were kept open at a time.
    pub connections: usize,
    /// Requests in flight at a time on each of them.
    pub streams: usize,
    /// How long it was to take, if there was a limit.
    pub planned_duration: Option<Duration>,
    /// Requests each second that were planned, if they were.
    pub planned_rate: Option<f64>,
    /// When the first request was due.
    pub began: SystemTime,
    /// From then to the last response.
    pub elapsed: Duration,
    /// Whether somebody stopped it before its end.
    pub interrupted: bool,
    /// Requests that were answered, whatever the status.
    pub requests: u64,
    /// Bytes received, heads included, as they were inside TLS.
    pub bytes: u64,
    /// How many responses had which status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that were not answered, or not as they should be.
    pub errors: Errors,
    /// Requests that were due and not sent before the end, where a rate was planned.
    pub unsent: u64,
    /// How often a request was sent again, since the server had refused it unseen (GOAWAY or REFUSED_STREAM of HTTP/2).
    pub sent_again: u64,
    /// Connections that were opened, TLS and all.
    pub connections_made: u64,
    /// How long each of them took to open, in nanoseconds.
    pub connect_times: Distribution,
    /// How long each request took to be answered, in nanoseconds: from the moment it was sent, or from the moment it
    /// was due, where a rate was planned.
    pub latencies: Distribution,
    /// Requests each second of each thread, sampled ten times a second.
    pub thread_rates: Distribution,
    /// How it went, from the beginning to the end, in steps of equal length but for the last.
    pub time_series: Vec<Interval>,
}

/// Requests that were not answered, or not as they should be, by what went wrong first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// No connection could be opened, TLS included.
    pub connect: u64,
    /// The connection ended or failed before the response was whole.
    pub read: u64,
    /// The request could not be sent.
    pub write: u64,
    /// There was no response in time.
    pub timeout: u64,
    /// The server violated the protocol, or reset the stream (HTTP/2).
    pub protocol: u64,
    /// The status was 400 or above. These were answered, and are counted as requests too.
    pub status: u64,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// When it began, from the beginning of the run.
    pub start: Duration,
    /// How long it was.
    pub length: Duration,
    /// Responses.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Errors, those of the status included.
    pub errors: u64,
    /// The median of the latencies, in nanoseconds.
    pub median: u64,
    /// The latency that 99 % of the requests do not exceed, in nanoseconds.
    pub high: u64,
    /// The longest latency, in nanoseconds.
    pub longest: u64,
}

impl Results {
    /// Responses each second.
    #[must_use]
    pub fn requests_per_second(&self) -> f64 {
        per_second(self.requests, self.elapsed)
    }

    /// Bytes received each second.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.elapsed)
    }
}

impl Interval {
    /// Responses each second.
    #[must_use]
    pub fn requests_per_second(&self) -> f64 {
        per_second(self.requests, self.length)
    }

    /// Bytes received each second.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.length)
    }
}

impl Errors {
    /// Requests without a whole response.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.connect + self.read + self.write + self.timeout + self.protocol
    }

    /// Everything that went wrong.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.unanswered() + self.status
    }

    /// The errors of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            connect: self.connect + other.connect,
            read: self.read + other.read,
            write: self.write + other.write,
            timeout: self.timeout + other.timeout,
            protocol: self.protocol + other.protocol,
            status: self.status + other.status,
        }
    }
}

fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}
