//! When a process is started again.

use std::time::Duration;

use tokio::time::Instant;

/// When a process is restarted: not at once after failed starts, and with growing delays while they go on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    until: Option<Instant>,
    /// In a row.
    failures: u32,
    /// In a row, of processes younger than [`RESTART`], and when the last of them was.
    early_deaths: u32,
    last_early_death: Option<Instant>,
}

impl Backoff {
    /// Nothing is started before this time has passed.
    pub fn wait(&mut self, time: Duration, now: Instant) {
        self.until = Some(now + time);
    }

    /// A start failed.
    pub fn fail(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.wait(RESTART.saturating_mul(self.failures).min(LONGEST), now);
    }

    /// A process has exited before it was [`RESTART`] old. It may have been killed together with all others, so as many
    /// as there are processes are restarted at once; if that goes on, pauses begin short and double.
    pub fn note_early_death(&mut self, processes: usize, now: Instant) {
        let is_in_row = self.last_early_death.is_some_and(|last| now.duration_since(last) < CALM);
        self.early_deaths = if is_in_row { self.early_deaths.saturating_add(1) } else { 1 };
        self.last_early_death = Some(now);
        let processes = u32::try_from(processes).unwrap_or(u32::MAX);
        if let Some(beyond) = self.early_deaths.checked_sub(processes.saturating_add(1)) {
            let pause = SHORTEST.saturating_mul(1_u32.checked_shl(beyond).unwrap_or(u32::MAX));
            // A failed start may have asked for a longer one.
            self.until = self.until.max(Some(now + pause.min(RESTART)));
        }
    }

    /// A process runs well.
    pub fn succeed(&mut self) {
        self.failures = 0;
    }

    /// Whether nothing is started yet.
    pub fn is_on(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until > now)
    }
}

/// The delay after a failure: an application that crashes at its start would otherwise occupy a processor. A process
/// that has run for longer is restarted at once.
pub const RESTART: Duration = Duration::from_secs(1);

/// The first pause where processes die soon after their start: a fork is a matter of milliseconds.
const SHORTEST: Duration = Duration::from_millis(10);

/// After this time without an early exit, the count starts over. Longer than a pause and the short life after it.
const CALM: Duration = Duration::from_secs(10);

/// How long at most, when it fails again and again.
const LONGEST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_reset_after_success() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let pause = |backoff: &Backoff| {
            let is_on = |second: &u64| backoff.is_on(now + Duration::from_secs(*second));
            (0..20).take_while(is_on).count()
        };
        assert_eq!(pause(&backoff), 0);
        let pauses: Vec<_> = (0..12)
            .map(|_| {
                backoff.fail(now);
                pause(&backoff)
            })
            .collect();
        assert_eq!(pauses, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]);
        backoff.succeed();
        backoff.fail(now);
        assert_eq!(pause(&backoff), 1);
        backoff.wait(Duration::from_secs(3), now);
        assert_eq!(pause(&backoff), 3);
    }

    #[test]
    fn killed_processes_restart_at_once_and_crash_loops_are_delayed() {
        let (mut backoff, mut now) = (Backoff::default(), Instant::now());
        let mut pauses = |backoff: &mut Backoff, deaths: u32| -> Vec<u128> {
            let pause = |_| {
                backoff.note_early_death(4, now);
                let pause = backoff.until.map_or(0, |until| until.saturating_duration_since(now).as_millis());
                now += Duration::from_millis(100);
                pause
            };
            (0..deaths).map(pause).collect()
        };
        assert_eq!(pauses(&mut backoff, 8), [0, 0, 0, 0, 10, 20, 40, 80]);
        assert_eq!(pauses(&mut backoff, 40)[..5], [160, 320, 640, 1000, 1000]);
        backoff.last_early_death = backoff.last_early_death.map(|last| last.checked_sub(CALM).unwrap_or(last));
        backoff.until = None;
        assert_eq!(pauses(&mut backoff, 5), [0, 0, 0, 0, 10]);
    }
}
