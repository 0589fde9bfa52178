//! Containers that were made and do not run yet: Podman reads its events from a file only four times per second, so that the event
//! of a start comes later than the first requests.

use std::{collections::BTreeMap, time::Duration};

/// Containers that are expected to start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    /// Since when each is expected, by its id.
    since: BTreeMap<String, Duration>,
    /// When they were looked at.
    looked: Duration,
}

impl Pending {
    /// A container was made, and does not run yet.
    pub(crate) fn add(&mut self, now: Duration, id: &str) {
        if self.since.len() < MAX_PENDING {
            self.since.entry(id.to_owned()).or_insert(now);
        }
    }

    /// A container runs, or has gone.
    pub(crate) fn remove(&mut self, id: &str) {
        self.since.remove(id);
    }

    /// When they are looked at next, if there are any.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let last = self.since.values().max()?;
        let pause = if self.looked < *last + OFTEN { SHORT_PAUSE } else { LONG_PAUSE };
        Some(self.looked + pause)
    }

    /// Those to look at now, if it is time.
    pub(crate) fn due(&mut self, now: Duration) -> Vec<String> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Vec::new();
        }
        self.looked = now;
        self.since.retain(|_, since| now < *since + EXPECTED);
        self.since.keys().cloned().collect()
    }
}

/// Containers that are looked at again and again.
const MAX_PENDING: usize = 20;

/// How long they are looked at often, and how long at all: then their events are waited for.
const OFTEN: Duration = Duration::from_secs(2);
const EXPECTED: Duration = Duration::from_secs(15);

/// The pauses between two looks, each of which takes the service some 3 ms for a container.
const SHORT_PAUSE: Duration = Duration::from_millis(10);
const LONG_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_that_were_made_are_looked_at_often_then_seldom_then_never() {
        let milliseconds = Duration::from_millis;
        let mut pending = Pending::default();
        assert_eq!(pending.deadline(), None);
        pending.add(milliseconds(1000), "a");
        pending.add(milliseconds(1000), "b");
        assert_eq!(pending.due(milliseconds(1000)), ["a", "b"]);
        assert_eq!(pending.deadline(), Some(milliseconds(1010)));
        assert!(pending.due(milliseconds(1009)).is_empty());
        pending.remove("b");
        assert_eq!(pending.due(milliseconds(3000)), ["a"]);
        assert_eq!(pending.deadline(), Some(milliseconds(3100)));
        // Another event does not make it newer.
        pending.add(milliseconds(3000), "a");
        assert_eq!(pending.due(milliseconds(15_999)), ["a"]);
        assert!(pending.due(milliseconds(16_100)).is_empty() && pending.deadline().is_none());
    }
}
