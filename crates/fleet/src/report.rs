//! The fleet's part of the status.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{JournalCounts, ServerReport};

/// How the fleet is.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetReport {
    /// Where Redis is, without a password.
    pub place: String,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// How old the last exchange is; nothing if there was none.
    pub lag: Option<Duration>,
    /// How long Redis took to answer it.
    pub round_trip: Duration,
    /// How many servers there are as far as is known, this one included.
    pub instances: u32,
    /// The part of each limit that this server would have alone now: all of it in contact with the others.
    pub share: f64,
    /// Exchanges that succeeded.
    pub exchanges: u64,
    /// Exchanges and connections that failed.
    pub errors: u64,
    /// Why the last one failed.
    pub last_error: Option<String>,
    /// Events that this server published.
    pub events_published: u64,
    /// Events of other servers.
    pub events_received: u64,
    /// Events that were forgotten, or are not events.
    pub events_lost: u64,
    /// How the journal of commands is; `None` where another process has it.
    pub journal: Option<JournalCounts>,
    /// The servers of the fleet, the one with the latest news first.
    pub servers: Vec<ServerReport>,
}

/// State that the thread that talks to Redis shares with the others.
#[derive(Debug, Default)]
pub(crate) struct FleetState {
    is_connected: AtomicBool,
    /// When the last exchange was sent; 0 for none.
    exchanged: AtomicU64,
    /// In nanoseconds.
    round_trip: AtomicU64,
    exchanges: AtomicU64,
    errors: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl FleetState {
    pub(crate) fn note_connected(&self, is_connected: bool) {
        self.is_connected.store(is_connected, Ordering::Relaxed);
    }

    pub(crate) fn note_exchange(&self, sent: u64, now: u64) {
        self.exchanged.store(sent, Ordering::Relaxed);
        self.round_trip.store(now.saturating_sub(sent), Ordering::Relaxed);
        self.exchanges.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_error(&self, text: String) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Fills in what this knows.
    pub(crate) fn fill(&self, report: &mut FleetReport, now: u64) {
        let exchanged = self.exchanged.load(Ordering::Relaxed);
        report.is_connected = self.is_connected.load(Ordering::Relaxed);
        report.lag = (exchanged > 0).then(|| Duration::from_nanos(now.saturating_sub(exchanged)));
        report.round_trip = Duration::from_nanos(self.round_trip.load(Ordering::Relaxed));
        report.exchanges = self.exchanges.load(Ordering::Relaxed);
        report.errors = self.errors.load(Ordering::Relaxed);
        report.last_error.clone_from(&self.last_error.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
