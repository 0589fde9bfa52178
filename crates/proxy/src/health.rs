//! The health of a server according to its checks.

mod verdict;

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use serow_net::{Clock, Moment};

use self::verdict::Verdict;
pub(crate) use self::verdict::{Availability, Change};
use crate::settings::{CheckSettings, CheckStart};

/// The health of a server according to its checks; read by all threads.
#[derive(Debug)]
pub(crate) struct Health {
    up: AtomicBool,
    record: Mutex<Record>,
}

#[derive(Debug)]
struct Record {
    verdict: Verdict,
    /// Why the latest check failed that did.
    failure: Option<String>,
}

/// The health of a server, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HealthReport {
    pub(crate) availability: Availability,
    pub(crate) since: Moment,
    pub(crate) rise: u32,
    pub(crate) fall: u32,
    pub(crate) failure: Option<String>,
}

impl Health {
    pub(crate) fn new(check: Option<&CheckSettings>) -> Self {
        let start = check.map_or(CheckStart::Up, |check| check.start);
        let verdict = Verdict::new(start, Clock::new().now());
        Self { up: AtomicBool::new(start == CheckStart::Up), record: Mutex::new(Record { verdict, failure: None }) }
    }

    /// Whether the checks found it good, or there are none.
    #[inline]
    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Records the result of a check; the error is text.
    pub(crate) fn note(&self, result: Result<(), String>, settings: &CheckSettings, now: Moment) -> Option<Change> {
        let mut record = self.record();
        let change = match result {
            Ok(()) => record.verdict.note_good(settings, now),
            Err(failure) => {
                record.failure = Some(failure);
                record.verdict.note_failed(settings, now)
            }
        };
        self.up.store(record.verdict.availability() == Availability::Up, Ordering::Relaxed);
        change
    }

    pub(crate) fn report(&self) -> HealthReport {
        let record = self.record();
        let verdict = record.verdict;
        HealthReport {
            availability: verdict.availability(),
            since: verdict.since(),
            rise: verdict.rise(),
            fall: verdict.fall(),
            failure: record.failure.clone(),
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
