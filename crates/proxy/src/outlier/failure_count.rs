//! The failures of a server, and the decision when there are too many.

use std::{fmt, time::Duration};

use serow_net::Moment;

use crate::settings::PassiveSettings;

/// The reason and the length of an ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ejection {
    pub(crate) reason: Reason,
    pub(crate) since: Moment,
    pub(crate) length: Duration,
}

/// The reason for an ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// So many requests failed in a row.
    Row(u32),
    /// So many failed of so many.
    Rate(u32, u32),
    /// The trial request failed.
    Trial,
}

/// The counters of one server.
#[derive(Debug)]
pub(super) struct FailureCount {
    failures_in_a_row: u32,
    /// When the counts below begin.
    window: Moment,
    requests: u32,
    failures: u32,
    /// The latest one.
    pub(super) ejection: Option<Ejection>,
    /// When the server recovered from it.
    pub(super) recovered: Moment,
}

impl FailureCount {
    /// A request was answered.
    pub(super) fn note_success(&mut self) {
        self.failures_in_a_row = 0;
        self.requests = self.requests.saturating_add(1);
    }

    /// Requests are counted from now on.
    pub(super) fn begin_window(&mut self, now: Moment) {
        (self.window, self.requests, self.failures) = (now, 0, 0);
    }

    /// Whether it is time to count from the beginning, or not at all.
    pub(super) fn is_over(&self, now: Moment) -> bool {
        now.since(self.window) >= WINDOW
    }

    /// A request failed.
    pub(super) fn note_failure(&mut self) {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.requests = self.requests.saturating_add(1);
        self.failures = self.failures.saturating_add(1);
    }

    /// The reason to eject the server, if there is one.
    pub(super) fn reason(&self, settings: &PassiveSettings) -> Option<Reason> {
        if self.failures_in_a_row >= settings.failures {
            return Some(Reason::Row(self.failures_in_a_row));
        }
        let too_many = self.requests >= MIN_REQUESTS && self.failures >= self.requests.div_ceil(2);
        too_many.then_some(Reason::Rate(self.failures, self.requests))
    }

    /// Begins an ejection. It follows in a row where the one before did not help for as long as it was.
    pub(super) fn eject(&mut self, reason: Reason, now: Moment, settings: &PassiveSettings) -> Ejection {
        let length = match self.ejection {
            Some(before) if reason == Reason::Trial || now.since(self.recovered) < before.length => {
                before.length.saturating_mul(2).min(settings.ejection.saturating_mul(MAX_FACTOR))
            }
            _ => settings.ejection,
        };
        let since = match self.ejection {
            Some(before) if reason == Reason::Trial => before.since,
            _ => now,
        };
        let ejection = Ejection { reason, since, length };
        (self.ejection, self.failures_in_a_row) = (Some(ejection), 0);
        ejection
    }
}

impl Default for FailureCount {
    fn default() -> Self {
        let never = Moment::from_milliseconds(0);
        Self { failures_in_a_row: 0, window: never, requests: 0, failures: 0, ejection: None, recovered: never }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(1) => formatter.write_str("a request failed"),
            Self::Row(failures) => write!(formatter, "{failures} requests in a row failed"),
            Self::Rate(failures, requests) => {
                write!(formatter, "{failures} of {requests} requests failed within {} s", WINDOW.as_secs())
            }
            Self::Trial => formatter.write_str("the trial request failed"),
        }
    }
}

/// From the first failure on requests are counted for so long; Envoy's `interval` and Hystrix's rolling window are 10 s
/// as well.
const WINDOW: Duration = Duration::from_secs(10);

/// With fewer requests, a rate is meaningless; Hystrix's `requestVolumeThreshold`. (One half is its
/// `errorThresholdPercentage`.)
const MIN_REQUESTS: u32 = 20;

/// An ejection is at most so many times as long as the first; Envoy's `max_ejection_time`, 300 s, is to its
/// `base_ejection_time`, 30 s, as this is.
const MAX_FACTOR: u32 = 10;
