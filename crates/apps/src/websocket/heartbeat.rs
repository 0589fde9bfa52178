//! Pings that detect dead clients.

use std::time::Duration;

use tokio::time::Instant;

/// Sends a ping to a client that has been silent for a while (RFC 6455 §5.5.2), and waits as long again for any
/// message.
///
/// A client that has lost its network cannot report it, and the application would keep the connection until it sends
/// something.
#[derive(Debug)]
pub(super) struct Heartbeat {
    interval: Duration,
    last_activity: Instant,
    asked: Option<Instant>,
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeartbeatAction {
    /// Nothing until then.
    Wait(Instant),
    /// Send a ping, then wait until this time.
    Ask(Instant),
    /// The client is gone.
    Gone,
}

impl Heartbeat {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self { interval, last_activity: now, asked: None }
    }

    /// The client has sent something, or was not read from.
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
    fn silent_clients_get_one_ping_before_they_time_out() {
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
