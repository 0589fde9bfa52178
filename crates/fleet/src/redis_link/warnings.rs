//! Warnings of the error log: one per reason and minute.

use super::error::{FleetError, Reason};

/// When each reason was last in the error log.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    last: Vec<(Reason, u64)>,
}

impl Warnings {
    /// Whether an error is to be logged at this time, in nanoseconds.
    pub(super) fn admit(&mut self, error: &FleetError, now: u64) -> bool {
        match self.last.iter_mut().find(|(reason, _)| *reason == error.reason) {
            Some((_, last)) if now.saturating_sub(*last) < MINUTE => false,
            Some((_, last)) => {
                *last = now;
                true
            }
            None => {
                self.last.push((error.reason, now));
                true
            }
        }
    }
}

const MINUTE: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_logged_once_in_a_minute() {
        let mut warnings = Warnings::default();
        let mut admit = |reason, now| warnings.admit(&FleetError::new(reason, "why"), now);
        assert!(admit(Reason::Timeout, 1));
        assert!(!admit(Reason::Timeout, MINUTE));
        assert!(admit(Reason::Refused, MINUTE));
        assert!(admit(Reason::Timeout, MINUTE + 1));
        assert!(!admit(Reason::Refused, MINUTE + 1));
    }
}
