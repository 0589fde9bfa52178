//! Whether a client that says nothing is still there.

use std::time::{Duration, Instant};

/// Asks a client that has said nothing for a while whether it is there (RFC 6455 §5.5.2), and gives it as long to say anything.
///
/// One that has lost its network says nothing of that, and its application would keep it for as long as it sends nothing.
#[derive(Debug)]
pub(super) struct Heartbeat {
    interval: Duration,
    last_activity: Instant,
    asked: Option<Instant>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeartbeatAction {
    /// Nothing until then.
    Wait(Instant),
    /// It is to be asked; then nothing until then.
    Ask(Instant),
    /// The client is gone.
    Gone,
}

impl Heartbeat {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self { interval, last_activity: now, asked: None }
    }

    /// The client has said something, or nobody has listened to it.
    pub(super) fn note_activity(&mut self, now: Instant) {
        self.last_activity = now;
        self.asked = None;
    }

    /// The time has come that was named last.
    pub(super) fn beat(&mut self, now: Instant) -> HeartbeatAction {
        let due = self.asked.unwrap_or(self.last_activity) + self.interval;
        if now < due {
            return HeartbeatAction::Wait(due);
        }
        if self.asked.is_some() {
            return HeartbeatAction::Gone;
        }
        self.asked = Some(now);
        HeartbeatAction::Ask(now + self.interval)
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
        heartbeat.note_activity(second(5));
        assert_eq!(heartbeat.beat(second(20)), HeartbeatAction::Wait(second(25)));
        assert_eq!(heartbeat.beat(second(25)), HeartbeatAction::Ask(second(45)));
        assert_eq!(heartbeat.beat(second(30)), HeartbeatAction::Wait(second(45)));
        heartbeat.note_activity(second(31));
        assert_eq!(heartbeat.beat(second(45)), HeartbeatAction::Wait(second(51)));
        assert_eq!(heartbeat.beat(second(60)), HeartbeatAction::Ask(second(80)));
        assert_eq!(heartbeat.beat(second(80)), HeartbeatAction::Gone);
    }
}
