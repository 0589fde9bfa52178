//! The counters of a server.
//!
//! Each worker has its own counters ([`Counters`]), which only its thread writes, with plain loads and stores, so that
//! a request costs a few additions and no core waits for another. [`Status::report`] adds them up.

mod counter;
mod counters;
#[cfg(feature = "http2")]
mod http2_errors;
#[cfg(feature = "http3")]
mod http3_errors;
mod report;
mod stream_counters;
#[cfg(any(feature = "http2", feature = "http3"))]
mod streams;

use std::{sync::Arc, time::SystemTime};

use serow_net::time;
use serow_pacing::DelayHistogram;
use tokio::time::Instant;

#[cfg(any(feature = "http2", feature = "http3"))]
pub(crate) use self::streams::StreamCounter;
pub(crate) use self::{counter::Counter, counters::Counters, stream_counters::StreamCounters};

pub use self::report::{
    ConnectionCounts, ConnectionError, DelayCounts, PacingCounts, RequestCounts, StatusReport, StreamCounts,
};

/// The counters of a server, which any thread can read while it runs; see
/// [`BoundServer::status`](crate::BoundServer::status).
///
/// ```
/// let server = serow::Server::new().listen("127.0.0.1:0").bind()?;
/// let status = server.status();
/// std::thread::spawn(move || server.run(|_: serow::Request| async { "Hello" }));
/// assert_eq!(status.report().requests.total, 0);
/// # Ok::<(), serow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Status {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    started: SystemTime,
    clock: Instant,
    workers: Vec<Arc<Counters>>,
}

impl Status {
    /// The counters of a server with this many workers, which starts now.
    pub(crate) fn new(workers: usize) -> Self {
        let workers = (0..workers).map(|_| Arc::default()).collect();
        Self { shared: Arc::new(Shared { started: time::wall(), clock: Instant::now(), workers }) }
    }

    /// The counters of each worker.
    pub(crate) fn workers(&self) -> impl Iterator<Item = &Arc<Counters>> {
        self.shared.workers.iter()
    }

    /// The number of accepted connections.
    pub(crate) fn accepted(&self) -> u64 {
        self.shared.workers.iter().map(|counters| counters.accepted.count()).sum()
    }

    /// The current values.
    #[must_use]
    pub fn report(&self) -> StatusReport {
        let Shared { started, clock, workers } = &*self.shared;
        let mut report = StatusReport {
            version: env!("CARGO_PKG_VERSION"),
            started: *started,
            uptime: clock.elapsed(),
            workers: workers.len(),
            connections: ConnectionCounts::default(),
            requests: RequestCounts::default(),
            http2: StreamCounts::default(),
            http3: StreamCounts::default(),
            pacing: PacingCounts::default(),
        };
        let delays = DelayHistogram::new();
        let mut errors = [[0; stream_counters::ERRORS]; 2];
        for counters in workers {
            report.requests.add(counters);
            report.connections.add(counters);
            report.http2.add(&counters.streams_http2);
            report.http3.add(&counters.streams_http3);
            report.pacing.connections_waiting += counters.held_back.count();
            delays.add(&counters.queue_delay);
            for (sums, streams) in errors.iter_mut().zip([&counters.streams_http2, &counters.streams_http3]) {
                for (sum, count) in sums.iter_mut().zip(streams.connection_errors()) {
                    *sum += count;
                }
            }
        }
        #[cfg(feature = "http2")]
        report.http2.set_connection_errors(&errors[0], http2_errors::name);
        #[cfg(feature = "http3")]
        report.http3.set_connection_errors(&errors[1], http3_errors::name);
        report.pacing.queue_delay = DelayCounts::of(&delays);
        report
    }
}

impl RequestCounts {
    fn add(&mut self, counters: &Counters) {
        // Those that are over first: what begins and ends in between is not over before it began.
        let [left, informational, success, redirection, client, server, other @ ..] = counters.answered();
        let other = other.iter().sum::<u64>();
        let (http1, http2) = (counters.requests_http1.count(), counters.requests_http2.count());
        let http3 = counters.requests_http3.count();
        let over = left + informational + success + redirection + client + server + other;
        self.http1 += http1;
        self.http2 += http2;
        self.http3 += http3;
        self.total += http1 + http2 + http3;
        self.in_progress += (http1 + http2 + http3).saturating_sub(over);
        self.status_1xx += informational;
        self.status_2xx += success;
        self.status_3xx += redirection;
        self.status_4xx += client;
        self.status_5xx += server;
        self.status_499 += left;
        self.status_other += other;
        self.body_bytes_received += counters.body_bytes_received.count();
        self.body_bytes_sent += counters.body_bytes_sent.count();
    }
}

impl ConnectionCounts {
    fn add(&mut self, counters: &Counters) {
        let (accepted, tls) = (counters.accepted.count(), counters.accepted_tls.count());
        let quic = counters.accepted_quic.count();
        self.accepted += accepted;
        self.tls += tls;
        self.quic += quic;
        self.plain += accepted.saturating_sub(tls + quic);
        self.open += counters.connections.count() as u64;
        self.open_http1 += counters.open_http1.count();
        self.open_http2 += counters.open_http2.count();
        self.open_http3 += counters.open_http3.count();
        self.http1 += counters.begun_http1.count();
        self.http2 += counters.begun_http2.count();
        self.http3 += counters.begun_http3.count();
        self.handshakes_failed += counters.handshakes_failed.count();
        self.refused += counters.refused.count();
        let [banned, crowded] = counters.refused_clients();
        self.refused_banned += banned;
        self.refused_per_client += crowded;
    }
}

impl StreamCounts {
    fn add(&mut self, counters: &StreamCounters) {
        self.streams_opened += counters.opened.count();
        self.streams_active += counters.active.count();
        self.streams_reset_by_peer += counters.reset_by_peer.count();
        self.streams_reset_by_us += counters.reset_by_us.count();
        self.streams_refused += counters.refused.count();
    }
}

impl DelayCounts {
    fn of(delays: &DelayHistogram) -> Self {
        Self {
            count: delays.count(),
            p50: delays.quantile(500),
            p90: delays.quantile(900),
            p99: delays.quantile(990),
            max: delays.quantile(1000),
            buckets: delays.classes().collect(),
        }
    }
}
