//! Whether a client that says nothing is still there.

use std::time::{Duration, Instant};

/// Asks a client that has said nothing for a while whether it is there (RFC 6455 §5.5.2), and gives it as long to say anything.
///
/// One that has lost its network says nothing of that, and its application would keep it for as long as it sends nothing.
#[derive(Debug)]
pub(super) struct Heartbeat {
    interval: Duration,
    heard: Instant,
    asked: Option<Instant>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// Nothing until then.
    Wait(Instant),
    /// It is to be asked; then nothing until then.
    Ask(Instant),
    /// The client is gone.
    Gone,
}

impl Heartbeat {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self { interval, heard: now, asked: None }
    }

    /// The client has said something, or nobody has listened to it.
    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// The time has come that was named last.
    pub(super) fn beat(&mut self, now: Instant) -> Beat {
        let due = self.asked.unwrap_or(self.heard) + self.interval;
        if now < due {
            return Beat::Wait(due);
        }
        if self.asked.is_some() {
            return Beat::Gone;
        }
        self.asked = Some(now);
        Beat::Ask(now + self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silent_are_asked_once_and_given_up() {
        let start = Instant::now();
        let second = |seconds| start + Duration::from_secs(seconds);
        let mut heartbeat = Heartbeat::new(Duration::from_secs(20), start);
        heartbeat.hear(second(5));
        assert_eq!(heartbeat.beat(second(20)), Beat::Wait(second(25)));
        assert_eq!(heartbeat.beat(second(25)), Beat::Ask(second(45)));
        assert_eq!(heartbeat.beat(second(30)), Beat::Wait(second(45)));
        heartbeat.hear(second(31));
        assert_eq!(heartbeat.beat(second(45)), Beat::Wait(second(51)));
        assert_eq!(heartbeat.beat(second(60)), Beat::Ask(second(80)));
        assert_eq!(heartbeat.beat(second(80)), Beat::Gone);
    }
}
