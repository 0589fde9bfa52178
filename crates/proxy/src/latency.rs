//! How quickly a server answers.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serow_net::Moment;

/// How quickly a server answers: a moving average that remembers the worst, as Finagle's `PeakEwma`; changed by all
/// threads, without a lock.
///
/// A longer time replaces the average at once; a shorter one lowers it, the more, the older the last one is. Without
/// new values the average decays, so that a slow server is tried again: after 46 s, if it was a hundred times slower
/// than the others.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    /// Average and moment in one word, so that both are changed together; 0 where nothing is known.
    word: AtomicU64,
}

/// The average at a moment.
#[derive(Clone, Copy, Debug)]
struct Average {
    /// At least 1: nothing is known where it is 0. Not a whole number: many small steps down must add up.
    microseconds: f32,
    /// In milliseconds, modulo 2³²: a server without requests for 49 days may seem as slow as before.
    at: u32,
}

impl Latency {
    /// A response began so long after its request.
    pub(crate) fn note(&self, took: Duration, now: Moment) {
        let took = (took.as_secs_f32() * 1e6).max(1.0);
        let noted = |word| {
            let microseconds = match Average::of_word(word) {
                Some(average) if average.microseconds > took => {
                    let kept = average.kept(now);
                    average.microseconds * kept + took * (1.0 - kept)
                }
                _ => took,
            };
            Some(Average { microseconds, at: milliseconds(now) }.to_word())
        };
        // Always succeeds: the closure never returns `None`.
        let _ = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, noted);
    }

    /// The average in microseconds, as it is now: it falls while nothing is noted. 0 where nothing is known.
    pub(crate) fn microseconds(&self, now: Moment) -> u64 {
        Average::of_word(self.word.load(Ordering::Relaxed))
            .map_or(0, |average| ((average.microseconds * average.kept(now)) as u64).max(1))
    }
}

impl Average {
    fn of_word(word: u64) -> Option<Self> {
        let microseconds = f32::from_bits((word >> 32) as u32);
        (microseconds > 0.0).then_some(Self { microseconds, at: word as u32 })
    }

    fn to_word(self) -> u64 {
        u64::from(self.microseconds.to_bits()) << 32 | u64::from(self.at)
    }

    /// How much of it counts now: all of it in the same millisecond, 37% after [`MEMORY`].
    fn kept(self, now: Moment) -> f32 {
        match milliseconds(now).wrapping_sub(self.at) {
            0 => 1.0,
            // Another thread's clock is a little further.
            passed if passed > u32::MAX / 2 => 1.0,
            passed => (-(passed as f32) / MEMORY.as_millis() as f32).exp(),
        }
    }
}

fn milliseconds(now: Moment) -> u32 {
    now.milliseconds() as u32
}

/// The time constant of the decay; 10 s, as in Finagle and linkerd: a server that is slow for seconds, for example
/// during a garbage collection, is avoided for about as long.
const MEMORY: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(milliseconds: u64) -> Moment {
        Moment::from_milliseconds(milliseconds)
    }

    #[test]
    fn the_average_rises_at_once_and_falls_slowly() {
        // The moment, the new value in microseconds, and the range of the average afterwards.
        let steps: [(u64, Option<u64>, std::ops::RangeInclusive<u64>); 9] = [
            (0, None, 0..=0),
            (0, Some(1_000), 1_000..=1_000),
            (0, Some(100_000), 100_000..=100_000),
            (0, Some(1_000), 100_000..=100_000),
            (10_000, Some(1_000), 37_000..=38_000),
            (20_000, None, 13_700..=13_900),
            (20_000, Some(50_000), 50_000..=50_000),
            (120_000, Some(1_000), 1_000..=1_010),
            (1_000_000, None, 1..=1),
        ];
        let latency = Latency::default();
        for (at, took, expected) in steps {
            if let Some(took) = took {
                latency.note(Duration::from_micros(took), moment(at));
            }
            let found = latency.microseconds(moment(at));
            assert!(expected.contains(&found), "{found} at {at}");
        }
    }

    #[test]
    fn many_small_steps_are_as_far_as_one_large_one() {
        let (often, once) = (Latency::default(), Latency::default());
        for latency in [&often, &once] {
            latency.note(Duration::from_millis(500), moment(0));
        }
        for at in 1..=20_000 {
            often.note(Duration::from_millis(1), moment(at));
        }
        once.note(Duration::from_millis(1), moment(20_000));
        let (often, once) = (often.microseconds(moment(20_000)), once.microseconds(moment(20_000)));
        assert!(often.abs_diff(once) < 200 && (68_000..70_000).contains(&once), "{often} {once}");
    }

    #[test]
    fn odd_moments_and_durations() {
        let cases = [
            (0, Duration::ZERO, 1),
            (u64::MAX, Duration::ZERO, 1),
            (u64::from(u32::MAX), Duration::from_micros(7), 7),
            (5, Duration::MAX, u64::MAX),
        ];
        for (at, took, expected) in cases {
            let latency = Latency::default();
            latency.note(took, moment(at));
            let found = latency.microseconds(moment(at));
            assert!(found == expected || took == Duration::MAX && found > u64::from(u32::MAX), "{found}");
        }
        // A clock that is behind by a turn of the event loop.
        let latency = Latency::default();
        latency.note(Duration::from_millis(9), moment(1_000));
        assert_eq!(latency.microseconds(moment(990)), 9_000);
        // The milliseconds wrap around after 2³².
        latency.note(Duration::from_millis(9), moment((1 << 32) - 1));
        assert!((8_900..9_000).contains(&latency.microseconds(moment((1 << 32) + 50))));
    }

    #[test]
    fn threads_note_together() {
        let latency = Latency::default();
        std::thread::scope(|scope| {
            for thread in 1..=4_u64 {
                let latency = &latency;
                scope.spawn(move || (0..1_000).for_each(|_| latency.note(Duration::from_millis(thread), moment(1))));
            }
        });
        assert_eq!(latency.microseconds(moment(1)), 4_000);
    }
}
