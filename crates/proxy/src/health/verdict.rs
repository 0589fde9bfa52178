//! The availability of one server according to its checks. Pure: time is an argument.
//!
//! ```text
//!   CheckStart::Down                     CheckStart::Up, or no checks
//!          │                                │
//!          ▼        `rise` good in a row    ▼
//!       Starting ────────────────────────▶  Up
//!          │                               │  ▲
//!          │ `fall` failed   `fall` failed │  │ `rise` good
//!          │ in a row        in a row      ▼  │ in a row
//!          └─────────────────────────────▶ Down
//! ```

use serow_net::Moment;

use crate::settings::{CheckSettings, CheckStart};

/// The availability of one server according to its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    availability: Availability,
    /// Since when that is so.
    since: Moment,
    /// Good checks since the last failed one.
    rise: u32,
    /// Failed checks since the last good one.
    fall: u32,
}

/// How a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    /// It waits for its first good checks.
    Starting,
    /// It gets requests.
    Up,
    /// It gets no requests.
    Down,
}

/// How a check changed the availability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    CameUp,
    WentDown,
}

impl Verdict {
    pub(super) fn new(start: CheckStart, now: Moment) -> Self {
        let availability = match start {
            CheckStart::Up => Availability::Up,
            CheckStart::Down => Availability::Starting,
        };
        Self { availability, since: now, rise: 0, fall: 0 }
    }

    /// A check was good.
    pub(super) fn note_good(&mut self, settings: &CheckSettings, now: Moment) -> Option<Change> {
        self.fall = 0;
        self.rise = self.rise.saturating_add(1);
        match self.availability {
            Availability::Starting | Availability::Down if self.rise >= settings.rise => {
                self.stand(Availability::Up, now);
                Some(Change::CameUp)
            }
            Availability::Starting | Availability::Down | Availability::Up => None,
        }
    }

    /// A check failed.
    pub(super) fn note_failed(&mut self, settings: &CheckSettings, now: Moment) -> Option<Change> {
        self.rise = 0;
        self.fall = self.fall.saturating_add(1);
        match self.availability {
            Availability::Starting | Availability::Up if self.fall >= settings.fall => {
                self.stand(Availability::Down, now);
                Some(Change::WentDown)
            }
            Availability::Starting | Availability::Up | Availability::Down => None,
        }
    }

    fn stand(&mut self, availability: Availability, now: Moment) {
        (self.availability, self.since) = (availability, now);
    }

    pub(super) fn availability(&self) -> Availability {
        self.availability
    }

    pub(super) fn since(&self) -> Moment {
        self.since
    }

    pub(super) fn rise(&self) -> u32 {
        self.rise
    }

    pub(super) fn fall(&self) -> u32 {
        self.fall
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::CheckKind;

    /// Checks, one a second (`+` passed, `-` failed), and the result: the availability, both counts, and since when.
    #[test]
    fn verdicts() {
        use Availability::{Down, Starting, Up};
        let cases = [
            (CheckStart::Up, "", (Up, 0, 0, 0)),
            (CheckStart::Up, "+", (Up, 1, 0, 0)),
            (CheckStart::Up, "--", (Up, 0, 2, 0)),
            (CheckStart::Up, "--+--", (Up, 0, 2, 0)),
            (CheckStart::Up, "---", (Down, 0, 3, 3)),
            (CheckStart::Up, "-----", (Down, 0, 5, 3)),
            (CheckStart::Up, "---+", (Down, 1, 0, 3)),
            (CheckStart::Up, "---+-+", (Down, 1, 0, 3)),
            (CheckStart::Up, "---++", (Up, 2, 0, 5)),
            (CheckStart::Up, "---++++", (Up, 4, 0, 5)),
            (CheckStart::Up, "---++---", (Down, 0, 3, 8)),
            (CheckStart::Down, "", (Starting, 0, 0, 0)),
            (CheckStart::Down, "+-+", (Starting, 1, 0, 0)),
            (CheckStart::Down, "++", (Up, 2, 0, 2)),
            (CheckStart::Down, "+---", (Down, 0, 3, 4)),
            (CheckStart::Down, "---++", (Up, 2, 0, 5)),
        ];
        for (start, checks, (availability, rise, fall, since)) in cases {
            let settings = CheckSettings { start, rise: 2, fall: 3, ..CheckSettings::new(CheckKind::Tcp) };
            let mut verdict = Verdict::new(start, Moment::from_milliseconds(0));
            for (second, check) in (1..).zip(checks.chars()) {
                let (now, before) = (Moment::from_milliseconds(second * 1000), verdict.availability());
                let change = match check {
                    '+' => verdict.note_good(&settings, now),
                    _ => verdict.note_failed(&settings, now),
                };
                let expected = match (before, verdict.availability()) {
                    (Down | Starting, Up) => Some(Change::CameUp),
                    (Up | Starting, Down) => Some(Change::WentDown),
                    _ => None,
                };
                assert_eq!(change, expected, "{start:?} {checks}, second {second}");
            }
            let since = Moment::from_milliseconds(0) + Duration::from_secs(since);
            assert_eq!(verdict, Verdict { availability, since, rise, fall }, "{start:?} {checks}");
        }
    }
}
