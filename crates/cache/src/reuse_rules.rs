//! Rules of a stored response about its reuse.

use std::time::Duration;

use crate::response_control::{ResponseControl, Restriction};

/// Rules of a stored response about its reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReuseRules {
    /// When it has to be validated before it is reused.
    pub validation: ValidationRule,
    /// It does not change while it is fresh (RFC 8246).
    pub is_immutable: bool,
    /// For how long it may be sent stale while it is validated (RFC 5861 §3).
    pub stale_while_revalidate: StaleSpan,
    /// For how long it may be sent stale in place of an error (RFC 5861 §4).
    pub stale_if_error: StaleSpan,
}

/// When a stored response has to be validated before it is reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValidationRule {
    /// When it is stale, unless something allows to send it stale.
    #[default]
    Usually,
    /// Whenever it is stale.
    IfStale,
    /// Always (`no-cache`).
    Always,
}

/// For how long a response may be sent stale, if it says that: in an eighth of the bytes of an `Option`. Up to four hours, it is
/// exact; beyond, it is up to a minute shorter, then up to an hour, then up to a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleSpan(u16);

impl ReuseRules {
    pub(crate) fn of(control: &ResponseControl) -> Self {
        Self {
            validation: match control.no_cache == Restriction::All {
                true => ValidationRule::Always,
                false if control.forbids_stale() => ValidationRule::IfStale,
                false => ValidationRule::Usually,
            },
            is_immutable: control.immutable,
            stale_while_revalidate: control.stale_while_revalidate.span().into(),
            stale_if_error: control.stale_if_error.span().into(),
        }
    }
}

impl StaleSpan {
    const NONE: Self = Self(u16::MAX);

    /// The span; `None` if the response does not say it.
    #[must_use]
    pub fn get(self) -> Option<Duration> {
        let (unit, count) = (UNITS[usize::from(self.0 / COUNTS)], u64::from(self.0 % COUNTS));
        (self != Self::NONE).then(|| Duration::from_secs(count * unit))
    }
}

impl Default for StaleSpan {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<Option<Duration>> for StaleSpan {
    fn from(span: Option<Duration>) -> Self {
        let Some(span) = span else { return Self::NONE };
        let in_unit = |(number, unit): (u16, u64)| {
            let count = u16::try_from(span.as_secs() / unit).ok().filter(|count| *count < COUNTS)?;
            Some(number * COUNTS + count)
        };
        let number = (0..).zip(UNITS).find_map(in_unit).unwrap_or(u16::MAX);
        Self(number.min(u16::MAX - 1))
    }
}

/// A second, a minute, an hour and a day: 14 bits count them.
const UNITS: [u64; 4] = [1, 60, 3600, 86_400];
const COUNTS: u16 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_stale_use_are_never_longer_than_the_response_says() {
        let (hour, day) = (3600, 86_400);
        for (seconds, expected) in [
            (0, 0),
            (16_383, 16_383),
            (16_384, 16_380),
            (7 * day, 7 * day),
            (30 * day + 61, 30 * day),
            (5 * hour + 59, 5 * hour),
            (1000 * day + 1, 1000 * day),
            (1 << 31, 16_382 * day),
            (u64::MAX, 16_382 * day),
        ] {
            let span = StaleSpan::from(Some(Duration::from_secs(seconds)));
            assert_eq!(span.get(), Some(Duration::from_secs(expected)), "{seconds}");
            assert_eq!(StaleSpan::from(span.get()).get(), span.get(), "{seconds}");
        }
        assert_eq!((StaleSpan::from(None).get(), StaleSpan::default().get()), (None, None));
    }
}
