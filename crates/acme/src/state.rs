//! The steps for one certificate, and their times: a state machine without I/O and without a clock.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, FailureKind},
    schedule::{self, LastOrder, RenewalWindow, Validity},
};

/// The state of one certificate.
#[derive(Clone, Debug)]
pub(crate) struct CertificateState {
    /// Of the certificate in use, if there is one.
    validity: Option<Validity>,
    /// The order that it came from, if that is known.
    last_order: Option<LastOrder>,
    /// When the authority suggests to renew it, and when to request that again.
    window: Option<RenewalWindow>,
    ask_at: SystemTime,
    /// At the first authority, and at the fallback.
    failures: Option<Failures>,
    fallback_failures: Option<Failures>,
    has_fallback: bool,
    /// The certificate in use has been revoked, or the authority announces that.
    is_replacement_urgent: bool,
    /// Someone wants a new certificate although this one is valid.
    is_renewal_requested: bool,
    /// This process has just started, so that failures before it with a cause of their own do not delay its first order.
    is_fresh: bool,
    /// At least 0 and less than 1; differs from certificate to certificate.
    spread: f64,
}

/// Which of the authorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthorityRole {
    /// The first one, which gets every order as long as there is time.
    First,
    /// The one for certificates that are urgent while the first one fails.
    Fallback,
}

/// The orders that have failed since the last one that did not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failures {
    pub(crate) count: u32,
    /// The last of them that were of the same kind: an outage does not lengthen the delay after a rate limit.
    pub(crate) count_of_kind: u32,
    /// The last one.
    pub(crate) text: String,
    pub(crate) kind: FailureKind,
    pub(crate) retry_at: SystemTime,
    /// Whether another authority may succeed where this one has not.
    #[serde(default)]
    pub(crate) is_of_authority: bool,
    /// Whether a restart may have removed the cause, and no authority has asked to wait.
    #[serde(default)]
    pub(crate) ends_with_restart: bool,
}

/// Why a certificate is due for renewal as soon as it was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyRenewal {
    /// By this machine's clock, much of its life has passed.
    Clock,
    /// The authority suggests it.
    Suggested,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateStep {
    /// Order a certificate there.
    Order(AuthorityRole),
    /// Ask the authority when to renew.
    AskRenewalWindow,
    /// Nothing until then.
    WaitUntil(SystemTime),
}

impl CertificateState {
    pub(crate) fn new(spread: f64) -> Self {
        Self {
            validity: None,
            last_order: None,
            window: None,
            ask_at: SystemTime::UNIX_EPOCH,
            failures: None,
            fallback_failures: None,
            has_fallback: false,
            is_replacement_urgent: false,
            is_renewal_requested: false,
            is_fresh: false,
            spread,
        }
    }

    /// There is a fallback, or not.
    pub(crate) fn with_fallback(self, has_fallback: bool) -> Self {
        Self { has_fallback, ..self }
    }

    /// The process has just started.
    pub(crate) fn of_fresh_process(self) -> Self {
        Self { is_fresh: true, ..self }
    }

    /// Returns the step that is due now, or the wait until the next one.
    pub(crate) fn next(&self, now: SystemTime) -> CertificateStep {
        let needed = match self.validity {
            _ if self.is_renewal_requested => now,
            None => now,
            Some(validity) => {
                let last = self.last_order.filter(|order| order.is_credible(now));
                self.due(validity).max(last.map_or(SystemTime::UNIX_EPOCH, |order| order.next(validity)))
            }
        };
        let first = self.failures.as_ref().map_or(needed, |failures| failures.retry_at.max(needed));
        let fallback = self.fallback_at().map(|fallback| fallback.max(needed));
        let due = fallback.map_or(first, |fallback| fallback.min(first));
        if first <= now {
            CertificateStep::Order(AuthorityRole::First)
        } else if due <= now {
            CertificateStep::Order(AuthorityRole::Fallback)
        } else if self.validity.is_some() && self.ask_at <= now {
            CertificateStep::AskRenewalWindow
        } else if self.validity.is_some() {
            CertificateStep::WaitUntil(due.min(self.ask_at))
        } else {
            CertificateStep::WaitUntil(due)
        }
    }

    /// When the certificate will be renewed, or ordered again.
    pub(crate) fn next_order(&self) -> Option<SystemTime> {
        let due = self.validity.map(|validity| self.due(validity));
        let due = due.max(self.validity.zip(self.last_order).map(|(validity, order)| order.next(validity)));
        let retry = self.failures.as_ref().map(|failures| failures.retry_at);
        let first = due.max(retry);
        let fallback = self.fallback_at().map(|fallback| due.map_or(fallback, |due| fallback.max(due)));
        first.into_iter().chain(fallback).min()
    }

    /// When the renewal is due, whenever the last order was.
    fn due(&self, validity: Validity) -> SystemTime {
        schedule::renewal(validity, self.window, self.spread)
    }

    /// Why the certificate in use has to wait for its renewal, although that is due, and how many orders in a row came
    /// early.
    pub(crate) fn early_renewal(&self) -> Option<(EarlyRenewal, u32)> {
        let (validity, order) = self.validity.zip(self.last_order)?;
        let next = order.next(validity);
        if self.due(validity) >= next {
            return None;
        }
        let is_by_life = schedule::renewal(validity, None, self.spread) < next;
        Some((if is_by_life { EarlyRenewal::Clock } else { EarlyRenewal::Suggested }, order.early.saturating_add(1)))
    }

    /// From when on the fallback may get an order, if the first authority has failed.
    fn fallback_at(&self) -> Option<SystemTime> {
        self.failures.as_ref().filter(|failures| self.has_fallback && failures.is_of_authority)?;
        let urgent = match self.validity {
            Some(validity) if !self.is_replacement_urgent => schedule::urgency(validity, self.window, self.spread),
            _ => SystemTime::UNIX_EPOCH,
        };
        Some(self.fallback_failures.as_ref().map_or(urgent, |failures| failures.retry_at.max(urgent)))
    }

    pub(crate) fn validity(&self) -> Option<Validity> {
        self.validity
    }

    /// The failures at this authority.
    pub(crate) fn failures(&self, role: AuthorityRole) -> Option<&Failures> {
        match role {
            AuthorityRole::First => self.failures.as_ref(),
            AuthorityRole::Fallback => self.fallback_failures.as_ref(),
        }
    }

    /// A certificate is in use, whoever ordered it.
    pub(crate) fn installed(&mut self, validity: Validity, last_order: Option<LastOrder>, spread: f64) {
        if self.validity != Some(validity) {
            let new = Self { validity: Some(validity), is_fresh: self.is_fresh, ..Self::new(spread) };
            *self = new.with_fallback(self.has_fallback);
        }
        self.last_order = last_order;
    }

    /// The authority has suggested when to renew, or has not; the next request is due after this time.
    pub(crate) fn asked(&mut self, now: SystemTime, answer: Option<RenewalWindow>, again: Duration) {
        // One that has ended before the certificate begins is for another one.
        let begin = self.validity.map_or(SystemTime::UNIX_EPOCH, |validity| validity.not_before);
        let answer = answer.filter(|window| window.is_after(begin));
        let changed = answer.filter(|_| answer != self.window);
        if let (Some(validity), Some(window)) = (self.validity, changed) {
            self.is_replacement_urgent |= schedule::announces_revocation(validity, window, now);
        }
        self.window = answer.or(self.window);
        self.ask_at = now + again.clamp(MIN_QUESTION_INTERVAL, MAX_QUESTION_INTERVAL);
    }

    /// The certificate in use has been revoked: it is as urgent to replace it as if there were none.
    pub(crate) fn revoked(&mut self) {
        self.is_replacement_urgent = true;
    }

    /// An order has failed at this authority.
    pub(crate) fn failed(&mut self, now: SystemTime, role: AuthorityRole, failure: &Failure) {
        let before = self.failures(role);
        let count = before.map_or(0, |failures| failures.count).saturating_add(1);
        let same = before.filter(|failures| failures.kind == failure.kind);
        let count_of_kind = same.map_or(0, |failures| failures.count_of_kind).saturating_add(1);
        let delay = schedule::retry_delay(failure.kind, count_of_kind, failure.retry_after, self.spread);
        let failures = Failures {
            count,
            count_of_kind,
            text: failure.text.clone(),
            kind: failure.kind,
            retry_at: now + delay,
            is_of_authority: failure.is_of_authority(),
            ends_with_restart: failure.ends_with_restart(),
        };
        self.is_fresh = false;
        *self.failures_mut(role) = Some(failures);
    }

    /// The failures that another process, or an earlier one, has had at this authority.
    pub(crate) fn remember(&mut self, now: SystemTime, role: AuthorityRole, failures: Option<Failures>) {
        // A clock that was ahead must not stop orders for years.
        let limit = now + schedule::retry_delay(FailureKind::RateLimited, u32::MAX, Some(Duration::MAX), 1.0);
        let mut failures = failures.filter(|failures| failures.retry_at <= limit);
        if let Some(failures) = failures.as_mut().filter(|failures| self.is_fresh && failures.ends_with_restart) {
            failures.retry_at = failures.retry_at.min(now);
        }
        *self.failures_mut(role) = failures;
    }

    fn failures_mut(&mut self, role: AuthorityRole) -> &mut Option<Failures> {
        match role {
            AuthorityRole::First => &mut self.failures,
            AuthorityRole::Fallback => &mut self.fallback_failures,
        }
    }

    /// Whether someone wants a new certificate now.
    pub(crate) fn is_renewal_requested(&self) -> bool {
        self.is_renewal_requested
    }

    /// Someone wants a new certificate now.
    pub(crate) fn request_renewal(&mut self) {
        self.is_renewal_requested = true;
        self.failures = None;
        self.fallback_failures = None;
    }
}

/// RFC 9773 §4.3: a lower limit, for an authority that states no sensible time.
const MIN_QUESTION_INTERVAL: Duration = Duration::from_secs(60);

/// A window may move because certificates have to be replaced (RFC 9773 §4.3.2: not longer than a day).
const MAX_QUESTION_INTERVAL: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use AuthorityRole::{Fallback, First};

    use super::*;
    use crate::failure::StaleState;

    const DAY: u64 = 24 * 3600;
    const ORDER: CertificateStep = CertificateStep::Order(First);

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn of_days(first: u64, last: u64) -> Validity {
        Validity { not_before: at(first * DAY), not_after: at(last * DAY) }
    }

    #[test]
    fn a_certificate_is_ordered_once_and_renewed_in_the_second_half_of_its_life() {
        let mut state = CertificateState::new(0.0);
        assert_eq!(state.next(at(0)), ORDER);
        state.installed(of_days(0, 6), None, 0.0);
        assert_eq!(state.next(at(0)), CertificateStep::AskRenewalWindow);
        state.asked(at(0), None, Duration::from_secs(6 * 3600));
        assert_eq!(state.next(at(1)), CertificateStep::WaitUntil(at(6 * 3600)));
        state.asked(at(6 * 3600), None, Duration::MAX);
        assert_eq!(state.next_order(), Some(at(3 * DAY)));
        assert_eq!(state.next(at(3 * DAY)), ORDER);
        state.installed(of_days(3, 9), None, 0.0);
        assert_eq!(state.next(at(3 * DAY)), CertificateStep::AskRenewalWindow);
    }

    #[test]
    fn a_window_that_has_passed_means_now() {
        let mut state = CertificateState::new(0.5);
        state.installed(of_days(0, 90), None, 0.5);
        state.asked(at(100), Some(RenewalWindow { start: at(0), end: at(50) }), Duration::from_secs(1));
        assert_eq!(state.next(at(100)), ORDER);
    }

    #[test]
    fn a_renewal_that_is_due_after_a_success_waits_longer_each_time() {
        // By this clock, four of six days had passed when the authority issued it.
        let (mut state, mut last, mut now) = (CertificateState::new(0.0), None, 4 * DAY);
        let mut waits = Vec::new();
        for _ in 0..8 {
            let validity = of_days(now / DAY - 4, now / DAY + 2);
            last = Some(LastOrder::following(last, at(now), validity));
            state.installed(validity, last, 0.0);
            assert_ne!(state.next(at(now)), ORDER);
            assert_eq!(state.early_renewal().unwrap().0, EarlyRenewal::Clock);
            let next = state.next_order().unwrap();
            waits.push(next.duration_since(at(now)).unwrap().as_secs() / 3600);
            now += waits.last().unwrap() * 3600;
            assert_eq!(state.next(at(now)), ORDER);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 36, 36], "a quarter of the life at most");
    }

    #[test]
    fn an_order_by_a_clock_that_was_ahead_does_not_delay_the_next() {
        let mut state = CertificateState::new(0.0);
        let last = |time| Some(LastOrder { at: at(time), early: 0 });
        state.installed(of_days(0, 6), last(4 * DAY), 0.0);
        assert_eq!(state.next(at(3 * DAY)), ORDER);
        state.installed(of_days(0, 6), last(3 * DAY), 0.0);
        assert_ne!(state.next(at(3 * DAY)), ORDER);
        // Someone wants a new one although the last is a minute old.
        state.request_renewal();
        assert_eq!(state.next(at(3 * DAY + 60)), ORDER);
    }

    #[test]
    fn a_window_before_the_life_of_the_certificate_is_ignored_and_a_suggestion_to_renew_at_once_waits() {
        let last = Some(LastOrder { at: at(90 * DAY), early: 0 });
        for (start, end, expected, early) in [
            (0, DAY, None, None),
            (90 * DAY - 7200, 90 * DAY, None, None),
            (90 * DAY, 90 * DAY + 60, Some(3600), Some(EarlyRenewal::Suggested)),
            (90 * DAY - 7200, 90 * DAY + 1, Some(3600), Some(EarlyRenewal::Suggested)),
            (90 * DAY + 7200, 90 * DAY + 7201, Some(7200), None),
        ] {
            let mut state = CertificateState::new(0.0);
            state.installed(of_days(90, 180), last, 0.0);
            state.asked(at(90 * DAY), Some(RenewalWindow { start: at(start), end: at(end) }), Duration::MAX);
            let found = state.next_order().unwrap().duration_since(at(90 * DAY)).unwrap().as_secs();
            assert_eq!(found, expected.unwrap_or(60 * DAY), "{start} {end}");
            assert_eq!(state.early_renewal().map(|(cause, _)| cause), early, "{start} {end}");
        }
    }

    #[test]
    fn failures_delay_orders_and_a_success_ends_them() {
        let mut state = CertificateState::new(0.0);
        let failure = Failure::refused("no");
        state.failed(at(0), First, &failure);
        assert_eq!(state.next(at(1)), CertificateStep::WaitUntil(at(120)));
        assert_eq!(state.next(at(120)), ORDER);
        state.failed(at(120), First, &failure);
        assert_eq!(state.next(at(121)), CertificateStep::WaitUntil(at(360)));
        assert_eq!(state.failures(First).unwrap().count, 2);
        state.installed(of_days(0, 90), None, 0.0);
        assert_eq!((state.failures(First), state.next(at(301))), (None, CertificateStep::AskRenewalWindow));
    }

    #[test]
    fn a_failure_of_another_kind_begins_with_its_shortest_delay() {
        let mut state = CertificateState::new(0.0);
        for _ in 0..8 {
            state.failed(at(0), First, &Failure::new(FailureKind::Unreachable, "no"));
        }
        state.failed(at(0), First, &Failure::new(FailureKind::RateLimited, "no"));
        assert_eq!(
            (state.next(at(0)), state.failures(First).unwrap().count),
            (CertificateStep::WaitUntil(at(3600)), 9)
        );
    }

    #[test]
    fn a_failed_renewal_still_asks_the_authority_when_to_renew() {
        let mut state = CertificateState::new(0.0);
        state.installed(of_days(0, 6), None, 0.0);
        state.asked(at(0), None, Duration::from_secs(DAY));
        state.failed(at(3 * DAY), First, &Failure::refused("no"));
        assert_eq!(state.next(at(3 * DAY + 1)), CertificateStep::AskRenewalWindow);
    }

    #[test]
    fn a_requested_renewal_is_immediate_and_happens_once() {
        let mut state = CertificateState::new(0.0);
        state.installed(of_days(0, 90), None, 0.0);
        state.failed(at(0), First, &Failure::refused("no"));
        state.request_renewal();
        assert_eq!(state.next(at(1)), ORDER);
        state.installed(of_days(0, 91), None, 0.0);
        assert_eq!(state.next(at(1)), CertificateStep::AskRenewalWindow);
    }

    #[test]
    fn failures_of_a_clock_that_was_ahead_do_not_count() {
        let mut state = CertificateState::new(0.0);
        let failures = |retry_at| Failures {
            count: 3,
            count_of_kind: 1,
            text: "no".to_owned(),
            kind: FailureKind::Refused,
            retry_at,
            is_of_authority: true,
            ends_with_restart: false,
        };
        state.remember(at(0), First, Some(failures(at(3600))));
        assert_eq!(state.next(at(0)), CertificateStep::WaitUntil(at(3600)));
        state.remember(at(0), First, Some(failures(at(400 * DAY))));
        assert_eq!(state.next(at(0)), ORDER);
    }

    #[test]
    fn the_first_order_after_a_restart_waits_only_where_the_authority_asked_for_it() {
        let unreachable = Failure::new(FailureKind::Unreachable, "no");
        let busy = Failure { retry_after: Some(Duration::from_secs(600)), ..unreachable.clone() };
        for (failure, expected) in [
            (Failure::local("no"), ORDER),
            (unreachable, ORDER),
            (busy, CertificateStep::WaitUntil(at(600))),
            (Failure::new(FailureKind::RateLimited, "no"), CertificateStep::WaitUntil(at(3600))),
            (Failure::refused("no"), CertificateStep::WaitUntil(at(120))),
        ] {
            let mut before = CertificateState::new(0.0);
            before.failed(at(0), First, &failure);
            let stored = before.failures(First).cloned();
            let mut state = CertificateState::new(0.0).of_fresh_process();
            state.remember(at(1), First, stored.clone());
            assert_eq!(state.next(at(1)), expected, "{failure}");
            // The order loads the failures again, and fails as before: then they count.
            state.remember(at(2), First, stored);
            assert_eq!(state.next(at(2)), expected, "{failure}");
            state.failed(at(2), First, &failure);
            let failures = state.failures(First).cloned();
            state.remember(at(3), First, failures);
            assert!(matches!(state.next(at(3)), CertificateStep::WaitUntil(_)), "{failure}");
        }
    }

    #[test]
    fn an_urgent_certificate_is_ordered_at_the_fallback_at_once() {
        let unreachable = Failure::new(FailureKind::Unreachable, "no");
        let account = Failure { stale: Some(StaleState::Account), ..unreachable.clone() };
        for (case, validity, time, failure, has_fallback, expected) in [
            ("missing", None, 0, &unreachable, true, CertificateStep::Order(Fallback)),
            ("no fallback", None, 0, &unreachable, false, CertificateStep::WaitUntil(at(30))),
            ("expired", Some(of_days(0, 90)), 91 * DAY, &unreachable, true, CertificateStep::Order(Fallback)),
            ("refused", None, 0, &Failure::refused("no"), true, CertificateStep::Order(Fallback)),
            ("this machine", None, 0, &Failure::local("no"), true, CertificateStep::WaitUntil(at(60))),
            ("forgotten account", None, 0, &account, true, CertificateStep::WaitUntil(at(30))),
            (
                "time is left",
                Some(of_days(0, 90)),
                60 * DAY,
                &unreachable,
                true,
                CertificateStep::WaitUntil(at(60 * DAY + 30)),
            ),
            (
                "little time is left",
                Some(of_days(0, 90)),
                75 * DAY,
                &unreachable,
                true,
                CertificateStep::Order(Fallback),
            ),
        ] {
            let mut state = CertificateState::new(0.0).with_fallback(has_fallback);
            if let Some(validity) = validity {
                state.installed(validity, None, 0.0);
                state.asked(at(time), None, Duration::MAX);
            }
            assert_eq!(state.next(at(time)), ORDER, "{case}");
            state.failed(at(time), First, failure);
            assert_eq!(state.next(at(time)), expected, "{case}");
            let next_order = state.next_order().map(|next| next <= at(time));
            assert_eq!(next_order, Some(expected == CertificateStep::Order(Fallback)), "{case}");
        }
    }

    #[test]
    fn each_authority_has_its_own_delays() {
        let limited =
            Failure { retry_after: Some(Duration::from_secs(2 * DAY)), ..Failure::new(FailureKind::RateLimited, "no") };
        let mut state = CertificateState::new(0.0).with_fallback(true);
        state.failed(at(0), First, &limited);
        state.failed(at(0), Fallback, &Failure::new(FailureKind::Unreachable, "no"));
        assert_eq!(state.next(at(0)), CertificateStep::WaitUntil(at(30)));
        assert_eq!((state.next(at(30)), state.next_order()), (CertificateStep::Order(Fallback), Some(at(30))));
        state.failed(at(30), Fallback, &limited);
        assert_eq!(state.next(at(31)), CertificateStep::WaitUntil(at(2 * DAY)));
        assert_eq!(state.next(at(2 * DAY)), ORDER);
        state.installed(of_days(2, 92), None, 0.0);
        assert_eq!((state.failures(First), state.failures(Fallback)), (None, None));
    }

    #[test]
    fn a_certificate_becomes_urgent_between_two_attempts() {
        let mut state = CertificateState::new(0.0).with_fallback(true);
        state.installed(of_days(0, 90), None, 0.0);
        let long = Duration::from_secs(7 * DAY);
        let limited = Failure { retry_after: Some(long), ..Failure::new(FailureKind::RateLimited, "no") };
        state.failed(at(70 * DAY), First, &limited);
        state.asked(at(74 * DAY + DAY / 2), None, Duration::MAX);
        assert_eq!(state.next(at(74 * DAY + DAY / 2)), CertificateStep::WaitUntil(at(75 * DAY)));
        assert_eq!(state.next(at(75 * DAY)), CertificateStep::Order(Fallback));
    }

    #[test]
    fn a_revoked_certificate_is_urgent() {
        let mut state = CertificateState::new(0.0).with_fallback(true);
        state.installed(of_days(0, 90), None, 0.0);
        state.request_renewal();
        state.revoked();
        state.failed(at(0), First, &Failure::refused("no"));
        assert_eq!(state.next(at(0)), CertificateStep::Order(Fallback));
        state.installed(of_days(0, 91), None, 0.0);
        state.asked(at(DAY), Some(RenewalWindow { start: at(0), end: at(DAY - 1) }), Duration::MAX);
        assert_eq!(state.next(at(DAY)), ORDER);
        state.failed(at(DAY), First, &Failure::refused("no"));
        assert_eq!(state.next(at(DAY)), CertificateStep::Order(Fallback), "a revocation is announced");
    }
}
