//! Containers that restart in a loop: each start would change the settings, and requests would meet a server that is about to
//! crash.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// The last starts of containers.
#[derive(Clone, Debug, Default)]
pub(super) struct Damping {
    starts: BTreeMap<String, VecDeque<Duration>>,
}

impl Damping {
    /// A container has started.
    pub(super) fn note_start(&mut self, now: Duration, id: &str) {
        let starts = self.starts.entry(id.to_owned()).or_default();
        starts.push_back(now);
        if starts.len() > FREE_STARTS {
            starts.pop_front();
        }
    }

    /// Forgets what was long ago.
    pub(super) fn forget(&mut self, now: Duration) {
        self.starts.retain(|_, starts| starts.back().is_some_and(|last| now < *last + PERIOD));
    }

    /// Whether a container has started so often that it has to run for some time first.
    pub(super) fn is_held(&self, now: Duration, id: &str) -> bool {
        self.starts.get(id).and_then(held_until).is_some_and(|until| now < until)
    }

    /// Whether it is held, or would be after the next start.
    pub(super) fn is_damped(&self, id: &str) -> bool {
        self.starts.get(id).and_then(held_until).is_some()
    }

    /// When the next of them is no longer held, or forgotten.
    pub(super) fn deadline(&self, now: Duration) -> Option<Duration> {
        let held = self.starts.values().filter_map(held_until).filter(|until| *until > now);
        let forgotten = self.starts.values().filter_map(|starts| Some(*starts.back()? + PERIOD));
        held.chain(forgotten).min()
    }
}

/// Until when a container with these starts is held.
fn held_until(starts: &VecDeque<Duration>) -> Option<Duration> {
    let (first, last) = (starts.front()?, starts.back()?);
    (starts.len() == FREE_STARTS && *last < *first + PERIOD).then(|| *last + HELD)
}

/// As many starts within the period are one too many: a deployment restarts a container once or twice.
const FREE_STARTS: usize = 4;

/// Docker waits longer and longer between restarts, up to a minute.
const PERIOD: Duration = Duration::from_secs(120);

/// How long such a container has to run before it gets requests.
const HELD: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_that_restarts_often_has_to_run_for_some_time() {
        let seconds = Duration::from_secs;
        let mut damping = Damping::default();
        for second in [0, 5, 10] {
            damping.note_start(seconds(second), "a");
            assert!(!damping.is_held(seconds(second), "a"), "{second}");
        }
        damping.note_start(seconds(15), "a");
        assert!(
            damping.is_held(seconds(24), "a")
                && !damping.is_held(seconds(25), "a")
                && !damping.is_held(seconds(16), "b")
        );
        assert_eq!(damping.deadline(seconds(15)), Some(seconds(25)));
        damping.note_start(seconds(20), "a");
        assert!(damping.is_held(seconds(29), "a") && !damping.is_held(seconds(30), "a"));
        damping.forget(seconds(139));
        assert!(damping.is_damped("a"));
        damping.forget(seconds(140));
        assert!(!damping.is_damped("a") && damping.deadline(seconds(140)).is_none());
        // Few starts within the period.
        for second in [200, 260, 330, 400] {
            damping.note_start(seconds(second), "a");
            assert!(!damping.is_held(seconds(second), "a"), "{second}");
        }
    }
}
