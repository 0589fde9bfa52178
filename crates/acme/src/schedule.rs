//! When a certificate is renewed, and when a failed order is tried again. No clock: times are arguments.

use std::time::{Duration, SystemTime};

use crate::failure::FailureKind;

/// From when to when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub not_before: SystemTime,
    /// The last moment.
    pub not_after: SystemTime,
}

/// The time in which the authority suggests to renew a certificate (RFC 9773 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RenewalWindow {
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
}

/// The order that a certificate came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastOrder {
    /// When it succeeded, by the clock of the machine that ordered.
    pub(crate) at: SystemTime,
    /// How many in a row, this one among them, came early in the life of the certificate before.
    pub(crate) early: u32,
}

impl LastOrder {
    /// The order that has succeeded now, after this one, with a certificate that is valid so long.
    pub(crate) fn following(previous: Option<Self>, now: SystemTime, validity: Validity) -> Self {
        let is_early = |order: &Self| order.is_credible(now) && now < order.at + validity.lifetime() / 3;
        Self { at: now, early: previous.filter(is_early).map_or(0, |order| order.early.saturating_add(1)) }
    }

    /// Before this time, the certificate is not ordered again, though its renewal be due: a clock that is wrong, or an
    /// authority that always suggests to renew, must not lead to one order after another. The time grows with each order
    /// that comes early. Let's Encrypt issues five certificates for the same names a week.
    pub(crate) fn next(&self, validity: Validity) -> SystemTime {
        let lifetime = validity.lifetime();
        let first = if lifetime < SHORTEST_LIFETIME { (lifetime / 3).max(MIN_INTERVAL) } else { ORDER_INTERVAL };
        let doubled = first.saturating_mul(1_u32.checked_shl(self.early).unwrap_or(u32::MAX));
        self.at + doubled.min((lifetime / 4).min(MAX_ORDER_INTERVAL).max(first))
    }

    /// Whether its time can be right: a clock that was ahead must not stop orders for years.
    pub(crate) fn is_credible(&self, now: SystemTime) -> bool {
        self.at <= now + ORDER_INTERVAL
    }
}

impl RenewalWindow {
    /// Whether it can be for a certificate that begins at this time: one that has ended before is not.
    pub(crate) fn is_after(&self, not_before: SystemTime) -> bool {
        not_before < self.end
    }
}

impl Validity {
    /// How long the certificate lives.
    pub(crate) fn lifetime(&self) -> Duration {
        self.not_after.duration_since(self.not_before).unwrap_or_default()
    }

    /// Whether it is valid at this time.
    pub(crate) fn contains(&self, now: SystemTime) -> bool {
        self.not_before <= now && now < self.not_after
    }
}

/// From when on a certificate that could not be renewed must not wait for the first authority alone: half of the time
/// between its renewal and its end has passed.
pub(crate) fn urgency(validity: Validity, window: Option<RenewalWindow>, spread: f64) -> SystemTime {
    let reserve = validity.not_after.duration_since(renewal(validity, window, spread)).unwrap_or_default();
    validity.not_after - reserve / 2
}

/// Whether a window that the authority has just changed announces that the certificate is to be revoked (RFC 9773 §1): it
/// has passed although the certificate has more time left than is necessary for its renewal.
pub(crate) fn announces_revocation(validity: Validity, window: RenewalWindow, now: SystemTime) -> bool {
    window.start <= window.end && window.end <= now && now < renewal(validity, None, 0.0)
}

/// When to renew a certificate: at a moment of the authority's window (RFC 9773 §4.2), otherwise when a third of its
/// life is left, or a half of a short one. `spread`, at least 0 and less than 1, differs from certificate to
/// certificate: those that were ordered together are not renewed together.
pub(crate) fn renewal(validity: Validity, window: Option<RenewalWindow>, spread: f64) -> SystemTime {
    if let Some(RenewalWindow { start, end }) = window
        && let Ok(length) = end.duration_since(start)
        // An authority that suggests a time after the end is mistaken.
        && start < validity.not_after
    {
        return (start + length.mul_f64(spread)).min(validity.not_after);
    }
    let lifetime = validity.lifetime();
    let left = if lifetime < SHORT_LIFETIME { lifetime / 2 } else { lifetime / 3 };
    validity.not_after - left + lifetime.mul_f64(spread * SPREAD)
}

/// How long to wait after so many failures in a row, at least 1, of which the last was of this kind. The authority may
/// have named a time itself.
pub(crate) fn retry_delay(kind: FailureKind, failures: u32, retry_after: Option<Duration>, spread: f64) -> Duration {
    let (first, longest) = match kind {
        // An outage ends at any time, and a request costs the authority little.
        FailureKind::Unreachable => (Duration::from_secs(30), Duration::from_secs(3600)),
        // Let's Encrypt allows five failed validations per account, name and hour: these are five.
        FailureKind::Refused => (Duration::from_secs(2 * 60), Duration::from_secs(12 * 3600)),
        FailureKind::Unusable => (Duration::from_secs(5 * 60), Duration::from_secs(12 * 3600)),
        FailureKind::RateLimited => (Duration::from_secs(3600), Duration::from_secs(24 * 3600)),
        FailureKind::Local | FailureKind::Interrupted => (Duration::from_secs(60), Duration::from_secs(3600)),
    };
    let doubled = first.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let delay = doubled.min(longest);
    // A quarter more at most, so that many names do not come back together.
    let delay = delay + delay.mul_f64(spread / 4.0);
    delay.max(retry_after.unwrap_or_default().min(MAX_RETRY_AFTER))
}

/// Between two orders of a certificate that succeed.
const ORDER_INTERVAL: Duration = Duration::from_secs(3600);

/// The same, however often the renewal is due early.
const MAX_ORDER_INTERVAL: Duration = Duration::from_secs(7 * 24 * 3600);

/// Certificates with a shorter life are ordered more often than once an hour.
const SHORTEST_LIFETIME: Duration = Duration::from_secs(3 * 3600);

/// The least time between two orders, however short the life is.
const MIN_INTERVAL: Duration = Duration::from_secs(60);

/// Lifetimes below are short: six days, of which a third is too little for an outage of a weekend.
const SHORT_LIFETIME: Duration = Duration::from_secs(10 * 24 * 3600);

/// The part of a lifetime over which renewals are spread: 4.8 hours of six days, 3 days of 90.
const SPREAD: f64 = 1.0 / 30.0;

/// After this time an order is tried again, whatever the authority has stated.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;
    const DAY: u64 = 24 * HOUR;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_certificate_is_renewed_when_the_authority_says_or_a_third_or_half_of_its_life_is_left() {
        let window = |start, end| Some(RenewalWindow { start: at(start), end: at(end) });
        for (lifetime, window, spread, expected) in [
            (90 * DAY, None, 0.0, 60 * DAY),
            (90 * DAY, None, 0.5, 60 * DAY + 90 * DAY / 60),
            (45 * DAY, None, 0.0, 30 * DAY),
            (6 * DAY, None, 0.0, 3 * DAY),
            (6 * DAY, None, 0.5, 3 * DAY + 6 * DAY / 60),
            (10 * DAY, None, 0.0, 10 * DAY - 10 * DAY / 3),
            (90 * DAY, window(50 * DAY, 52 * DAY), 0.5, 51 * DAY),
            // A revocation is announced: the window has passed.
            (90 * DAY, window(0, HOUR), 0.25, HOUR / 4),
            // The end before the start, and a window after the certificate's life: as if there were none.
            (90 * DAY, window(52 * DAY, 50 * DAY), 0.0, 60 * DAY),
            (90 * DAY, window(91 * DAY, 92 * DAY), 0.0, 60 * DAY),
            (90 * DAY, window(80 * DAY, 200 * DAY), 0.5, 90 * DAY),
        ] {
            let validity = Validity { not_before: at(0), not_after: at(lifetime) };
            assert_eq!(renewal(validity, window, spread), at(expected), "{lifetime} {window:?} {spread}");
        }
    }

    #[test]
    fn a_certificate_is_not_ordered_again_within_an_hour_and_later_with_each_early_order() {
        for (lifetime, early, expected) in [
            (90 * DAY, 0, HOUR),
            (90 * DAY, 1, 2 * HOUR),
            (90 * DAY, 5, 32 * HOUR),
            (90 * DAY, u32::MAX, 7 * DAY),
            (6 * DAY, 0, HOUR),
            (6 * DAY, 40, 36 * HOUR),
            (3 * HOUR, 9, HOUR),
            (HOUR, 0, 20 * 60),
            (60, 0, 60),
            (0, 3, 60),
        ] {
            let validity = Validity { not_before: at(0), not_after: at(lifetime) };
            let order = LastOrder { at: at(DAY), early };
            assert_eq!(order.next(validity), at(DAY + expected), "{lifetime} {early}");
        }
    }

    #[test]
    fn an_order_is_early_in_the_first_third_of_a_life() {
        let validity = Validity { not_before: at(0), not_after: at(8 * DAY) };
        for (previous, now, expected) in [
            (None, DAY, 0),
            (Some((DAY, 0)), DAY + HOUR, 1),
            (Some((DAY, 7)), 3 * DAY - 1, 8),
            (Some((DAY, u32::MAX)), DAY, u32::MAX),
            (Some((DAY, 7)), 4 * DAY, 0),
            // The clock was ahead.
            (Some((3 * DAY, 7)), 2 * DAY, 0),
        ] {
            let previous = previous.map(|(time, early)| LastOrder { at: at(time), early });
            let found = LastOrder::following(previous, at(now), validity);
            assert_eq!(found, LastOrder { at: at(now), early: expected }, "{previous:?} {now}");
        }
    }

    #[test]
    fn a_certificate_is_urgent_when_half_of_its_reserve_has_passed() {
        let window = |start, end| Some(RenewalWindow { start: at(start), end: at(end) });
        for (lifetime, window, spread, expected) in [
            (90 * DAY, None, 0.0, 75 * DAY),
            (90 * DAY, None, 0.5, 75 * DAY + 90 * DAY / 120),
            (6 * DAY, None, 0.0, 4 * DAY + DAY / 2),
            (90 * DAY, window(59 * DAY, 61 * DAY), 0.5, 75 * DAY),
            (90 * DAY, window(80 * DAY, 82 * DAY), 0.0, 85 * DAY),
            (90 * DAY, window(40 * DAY, 42 * DAY), 0.0, 65 * DAY),
            // The end before the start: as if there were none.
            (90 * DAY, window(6 * DAY, 5 * DAY), 0.0, 75 * DAY),
        ] {
            let validity = Validity { not_before: at(0), not_after: at(lifetime) };
            assert_eq!(urgency(validity, window, spread), at(expected), "{lifetime} {window:?} {spread}");
        }
    }

    #[test]
    fn a_window_that_has_passed_long_before_the_renewal_announces_a_revocation() {
        let validity = Validity { not_before: at(0), not_after: at(90 * DAY) };
        for (start, end, now, expected) in [
            (10 * DAY - 7200, 10 * DAY - 3600, 10 * DAY, true),
            (10 * DAY, 11 * DAY, 10 * DAY, false),
            (59 * DAY, 61 * DAY, 62 * DAY, false),
            (5 * DAY, 4 * DAY, 10 * DAY, false),
        ] {
            let window = RenewalWindow { start: at(start), end: at(end) };
            assert_eq!(announces_revocation(validity, window, at(now)), expected, "{start} {end} {now}");
        }
    }

    #[test]
    fn delays_grow_up_to_a_limit_and_respect_the_authority() {
        use FailureKind::{Local, RateLimited, Refused, Unreachable, Unusable};
        for (kind, failures, retry_after, expected) in [
            (Unreachable, 1, None, 30),
            (Unreachable, 2, None, 60),
            (Unreachable, 8, None, HOUR),
            (Unreachable, u32::MAX, None, HOUR),
            (Refused, 1, None, 120),
            (Refused, 3, None, 480),
            (Unusable, 3, None, 1200),
            (Refused, 40, None, 12 * HOUR),
            (RateLimited, 1, None, HOUR),
            (RateLimited, 1, Some(30 * HOUR), 30 * HOUR),
            (RateLimited, 1, Some(5), HOUR),
            (RateLimited, 1, Some(365 * DAY), 7 * DAY),
            (Local, 1, None, 60),
        ] {
            let delay = retry_delay(kind, failures, retry_after.map(Duration::from_secs), 0.0);
            assert_eq!(delay, Duration::from_secs(expected), "{kind:?} {failures} {retry_after:?}");
        }
        assert_eq!(retry_delay(Local, 1, None, 1.0), Duration::from_secs(75));
        // At most five failed validations of a name in an hour.
        let mut time = 0;
        let attempts = (1..).take_while(|failures| {
            time += retry_delay(Refused, *failures, None, 0.0).as_secs();
            time < HOUR
        });
        assert!(attempts.count() < 5);
    }
}
