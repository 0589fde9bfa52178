//! Whether a connection is still there, and still needed.

use std::time::Duration;

use serow_net::Moment;

/// The state of the peer.
///
/// ```text
///                    nothing for SILENCE: a PING          the answer, and nothing else
///   Listening ─────────────────────────────────▶ StreamRequest ────────────────────────────────▶ Sure, until NEXT_PING
///       ▲ ▲                                       │ │                                      │
///       │ └───────────── anything more ───────────┘ └── nothing for ANSWER: it is gone     │
///       └────────────────────────────── anything ──────────────────────────────────────────┘
/// ```
#[derive(Debug)]
pub(super) struct Liveness {
    stage: LivenessStage,
    /// When the stage began.
    since: Moment,
    /// Bytes received by then.
    received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LivenessStage {
    /// No stream is open.
    Idle,
    /// Received data shows that the server is alive.
    Listening,
    /// A PING was sent.
    StreamRequest,
    /// It is there, and has nothing to say.
    Sure,
}

/// The action to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing; to be looked at again after this time, or when something comes.
    Wait(Duration),
    /// Send a PING.
    Ask,
    /// Give the connection up: the server no longer answers.
    Dead,
    /// Close the connection: no request has needed it for long.
    Idle,
}

impl Liveness {
    pub(super) fn new(now: Moment) -> Self {
        Self { stage: LivenessStage::Idle, since: now, received: 0 }
    }

    /// The action to take after this many received bytes; connections without streams are kept for this time.
    pub(super) fn judge(&mut self, received: u64, is_active: bool, keep: Duration, now: Moment) -> Verdict {
        let news = received - self.received;
        let next = match self.stage {
            LivenessStage::Idle if is_active => Some(LivenessStage::Listening),
            LivenessStage::Idle => None,
            _ if !is_active => Some(LivenessStage::Idle),
            LivenessStage::StreamRequest if news == PING_FRAME => Some(LivenessStage::Sure),
            LivenessStage::Listening | LivenessStage::StreamRequest | LivenessStage::Sure if news > 0 => {
                Some(LivenessStage::Listening)
            }
            LivenessStage::Listening | LivenessStage::StreamRequest | LivenessStage::Sure => None,
        };
        if let Some(next) = next {
            self.begin(next, received, now);
        }
        let (time, then) = match self.stage {
            LivenessStage::Idle => (keep, Verdict::Idle),
            LivenessStage::Listening => (SILENCE, Verdict::Ask),
            LivenessStage::StreamRequest => (ANSWER, Verdict::Dead),
            LivenessStage::Sure => (NEXT_PING, Verdict::Ask),
        };
        match time.checked_sub(now.since(self.since)) {
            Some(left) if !left.is_zero() => return Verdict::Wait(left),
            _ => {}
        }
        if then == Verdict::Ask {
            self.begin(LivenessStage::StreamRequest, received, now);
        }
        then
    }

    fn begin(&mut self, stage: LivenessStage, received: u64, now: Moment) {
        *self = Self { stage, since: now, received };
    }
}

/// The time until a silent connection with open streams gets a PING; 30 s: half of the default response timeout, so
/// that requests on a dead connection fail in time.
const SILENCE: Duration = Duration::from_secs(30);

/// How long the answer may take; 10 s, with lost packets and a busy server.
const ANSWER: Duration = Duration::from_secs(10);

/// The time until a silent server that has answered a PING gets another one. gRPC servers treat more than two PINGs
/// within five minutes without data as an attack.
const NEXT_PING: Duration = Duration::from_secs(330);

/// RFC 9113 §4.1, §6.7.
const PING_FRAME: u64 = 9 + 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_connections_get_pings_until_they_time_out() {
        let keep = Duration::from_secs(55);
        let wait = |seconds| Verdict::Wait(Duration::from_secs(seconds));
        // At this second, with so many bytes received, and streams open or not.
        let attempt_log = [
            (0, 0, false, wait(55)),
            (50, 100, false, wait(5)),
            (54, 100, true, wait(30)),
            (80, 200, true, wait(30)),
            (100, 200, true, wait(10)),
            (110, 200, true, Verdict::Ask),
            (111, 200, true, wait(9)),
            (112, 217, true, wait(330)),
            (200, 217, true, wait(242)),
            (442, 217, true, Verdict::Ask),
            (443, 234, true, wait(330)),
            (500, 300, true, wait(30)),
            (530, 300, true, Verdict::Ask),
            (531, 400, true, wait(30)),
            (561, 400, true, Verdict::Ask),
            (571, 400, true, Verdict::Dead),
        ];
        let mut liveness = Liveness::new(Moment::from_milliseconds(0));
        for (second, received, is_active, expected) in attempt_log {
            let now = Moment::from_milliseconds(second * 1000);
            assert_eq!(liveness.judge(received, is_active, keep, now), expected, "{second}");
        }
    }

    #[test]
    fn idle_connections_are_closed() {
        let keep = Duration::from_secs(1);
        let at = Moment::from_milliseconds;
        let mut liveness = Liveness::new(at(0));
        assert_eq!(liveness.judge(50, true, keep, at(900)), Verdict::Wait(SILENCE));
        assert_eq!(liveness.judge(50, false, keep, at(2000)), Verdict::Wait(keep));
        assert_eq!(liveness.judge(90, false, keep, at(3000)), Verdict::Idle);
    }
}
