//! Passive health checks: a server whose requests fail is ejected for a while, then tried with one request at a time (a
//! circuit breaker). Pure: time is an argument.
//!
//! ```text
//!           failure             too many failures
//!   ┌──────┐      ┌──────────┐                 ┌─────────┐
//!   │ Calm │ ───▶ │ Watching │ ──────────────▶ │ Ejected │ ◀───────┐
//!   └──────┘ ◀─── └──────────┘                 └─────────┘         │
//!      ▲     10 s                                   │ time is over │
//!      │                                            ▼              │ failure: longer
//!      │           success                    ┌──────────┐         │ than before
//!      └───────────────────────────────────── │ HalfOpen │ ────────┤
//!      │                                      └──────────┘         │
//!      │                               a request │    ▲ it came to │
//!      │                               begins    ▼    │ nothing    │
//!      │           success                    ┌──────────┐         │
//!      └───────────────────────────────────── │  Trial   │ ────────┘
//!                                             └──────────┘
//! ```

mod failure_count;

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

use serow_net::Moment;

use self::failure_count::FailureCount;
pub(crate) use self::failure_count::{Ejection, Reason};
use crate::settings::PassiveSettings;

/// The outcome of a request, for the server's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failure,
}

/// The passive health of one server; changed by all threads. While the server is healthy, a success costs one load.
#[derive(Debug, Default)]
pub(crate) struct Outlier {
    phase: AtomicU8,
    /// When the ejection is over, in milliseconds.
    until: AtomicU64,
    count: Mutex<FailureCount>,
}

/// How a request changed the server's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EjectionChange {
    /// The server is ejected, or its ejection is extended.
    Ejected(Ejection),
    /// The server is back in rotation.
    Recovered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// No request failed lately.
    Calm,
    /// One failed: all are counted for 10 s.
    Watching,
    /// It is ejected.
    Ejected,
    /// The ejection is over; the next request is a trial.
    HalfOpen,
    /// A trial is in flight.
    Trial,
}

impl Outlier {
    /// Records the outcome of a request. The server is ejected only if `may_eject` allows it. Returns the change.
    #[inline]
    pub(crate) fn note(
        &self,
        outcome: Outcome,
        now: Moment,
        settings: &PassiveSettings,
        may_eject: impl FnOnce() -> bool,
    ) -> Option<EjectionChange> {
        if outcome == Outcome::Success && self.phase.load(Ordering::Relaxed) == Phase::Calm as u8 {
            return None;
        }
        if settings.failures == 0 {
            return None;
        }
        match outcome {
            Outcome::Success => self.note_success(now),
            Outcome::Failure => self.note_failure(now, settings, may_eject).map(EjectionChange::Ejected),
        }
    }

    /// Whether the server is ejected.
    #[inline]
    pub(crate) fn is_ejected(&self, now: Moment) -> bool {
        match self.phase() {
            Phase::Calm | Phase::Watching | Phase::HalfOpen => false,
            Phase::Trial => true,
            Phase::Ejected => {
                let over = now.milliseconds() >= self.until.load(Ordering::Relaxed);
                if over {
                    self.change(Phase::Ejected, Phase::HalfOpen);
                }
                !over
            }
        }
    }

    /// A request begins. Returns whether it is a trial, which ends with [`Self::end_trial`].
    #[inline]
    pub(crate) fn begin_trial(&self) -> bool {
        self.phase() == Phase::HalfOpen && self.change(Phase::HalfOpen, Phase::Trial)
    }

    /// A trial is over. Where it came to nothing, as when the client left, there is another.
    pub(crate) fn end_trial(&self) {
        self.change(Phase::Trial, Phase::HalfOpen);
    }

    /// Something else than a request found the server well: it is tried at once.
    pub(crate) fn shorten(&self) {
        self.change(Phase::Ejected, Phase::HalfOpen);
    }

    /// Whether it is ejected or on trial. Takes no lock.
    pub(crate) fn is_out(&self) -> bool {
        matches!(self.phase(), Phase::Ejected | Phase::HalfOpen | Phase::Trial)
    }

    /// The ejection, while the server is ejected or on trial.
    pub(crate) fn ejection(&self) -> Option<Ejection> {
        if self.is_out() { self.count().ejection } else { None }
    }

    /// When it came back into rotation, if it was ever ejected.
    pub(crate) fn recovered(&self) -> Option<Moment> {
        let count = self.count();
        count.ejection.map(|_| count.recovered)
    }

    #[cold]
    fn note_success(&self, now: Moment) -> Option<EjectionChange> {
        let mut count = self.count();
        count.note_success();
        match self.phase() {
            // Of a request from before, or one that came here since no server was left: it proves nothing.
            Phase::Calm | Phase::Ejected => None,
            Phase::Watching => {
                if count.is_over(now) {
                    self.set(Phase::Calm);
                }
                None
            }
            Phase::HalfOpen | Phase::Trial => {
                count.recovered = now;
                self.set(Phase::Calm);
                Some(EjectionChange::Recovered)
            }
        }
    }

    #[cold]
    fn note_failure(
        &self,
        now: Moment,
        settings: &PassiveSettings,
        may_eject: impl FnOnce() -> bool,
    ) -> Option<Ejection> {
        let mut count = self.count();
        let reason = match self.phase() {
            // Requests from before fail, too.
            Phase::Ejected => return None,
            Phase::HalfOpen | Phase::Trial => Reason::Trial,
            phase @ (Phase::Calm | Phase::Watching) => {
                if phase == Phase::Calm || count.is_over(now) {
                    count.begin_window(now);
                    self.set(Phase::Watching);
                }
                count.note_failure();
                count.reason(settings)?
            }
        };
        if reason != Reason::Trial && !may_eject() {
            return None;
        }
        let ejection = count.eject(reason, now, settings);
        self.until.store((now + ejection.length).milliseconds(), Ordering::Relaxed);
        self.set(Phase::Ejected);
        Some(ejection)
    }

    fn count(&self) -> MutexGuard<'_, FailureCount> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Calm,
            1 => Phase::Watching,
            2 => Phase::Ejected,
            3 => Phase::HalfOpen,
            _ => Phase::Trial,
        }
    }

    fn set(&self, phase: Phase) {
        // A thread that sees the ejection also sees its length.
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Goes on from one phase to the next, if nobody else did.
    fn change(&self, from: Phase, to: Phase) -> bool {
        self.phase.compare_exchange(from as u8, to as u8, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests;
