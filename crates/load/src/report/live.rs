//! A line that says how a run goes, while it goes.

use std::time::Duration;

use super::units;
use crate::Interval;

/// How the run goes, in at most `width` characters and without the end of the line: the time, what the last step
/// brought (responses each second, median and 99 % of the latencies), all errors so far, and a bar where there is room
/// for it. Parts that have no room are left out, the least important first.
///
/// ```text
///  3.0s of 10s  [==>       ]   12.35k/s  p50  42.00us  p99 708.00us  3 errors
/// ```
#[must_use]
pub fn live(step: &Interval, elapsed: Duration, planned: Option<Duration>, errors: u64, width: usize) -> String {
    let mut parts = vec![
        Part { rank: 0, text: time(elapsed, planned) },
        Part { rank: 1, text: format!("{:>7}/s", units::count(step.requests_per_second())) },
        Part { rank: 3, text: latency("p50", step, step.median) },
        Part { rank: 4, text: latency("p99", step, step.high) },
    ];
    if errors > 0 {
        let noun = if errors == 1 { "error" } else { "errors" };
        parts.push(Part { rank: 2, text: format!("{errors} {noun}") });
    }
    while length(&parts) > width && parts.len() > 1 {
        let last = parts.iter().map(|part| part.rank).max();
        parts.retain(|part| Some(part.rank) != last);
    }
    let room = width.saturating_sub(length(&parts) + BETWEEN.len());
    if let Some(bar) = planned.and_then(|planned| bar(share(elapsed, planned), room)) {
        parts.insert(1.min(parts.len()), Part { rank: 5, text: bar });
    }
    let line: Vec<_> = parts.into_iter().map(|part| part.text).collect();
    line.join(BETWEEN).chars().take(width).collect()
}

/// A part of the line; the one with the highest rank is left out first.
struct Part {
    rank: u8,
    text: String,
}

fn length(parts: &[Part]) -> usize {
    let between = BETWEEN.len() * parts.len().saturating_sub(1);
    parts.iter().map(|part| part.text.len()).sum::<usize>() + between
}

fn time(elapsed: Duration, planned: Option<Duration>) -> String {
    let seconds = elapsed.as_secs_f64();
    let elapsed = if seconds < 59.95 { format!("{seconds:4.1}s") } else { format!("{:>5}", clock(seconds)) };
    match planned.map(|planned| planned.as_secs_f64()) {
        Some(planned) if planned < 60.0 => format!("{elapsed} of {planned}s"),
        Some(planned) => format!("{elapsed} of {}", clock(planned)),
        None => elapsed,
    }
}

/// Minutes and seconds, and hours where there are any: `1:05`, `2:00:00`.
fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Always as wide, so that the line does not jump.
fn latency(name: &str, step: &Interval, nanoseconds: u64) -> String {
    let amount = if step.requests > 0 { units::nanoseconds(nanoseconds as f64) } else { "-".into() };
    format!("{name} {amount:>8}")
}

fn share(elapsed: Duration, planned: Duration) -> f64 {
    if planned.is_zero() { 1.0 } else { (elapsed.as_secs_f64() / planned.as_secs_f64()).min(1.0) }
}

/// A bar of at most `room` characters, unless that is too short to show anything.
fn bar(share: f64, room: usize) -> Option<String> {
    let inside = room.min(MAX_BAR_LENGTH).checked_sub(2).filter(|inside| *inside >= SHORTEST_BAR)?;
    let done = (share * inside as f64) as usize;
    let tip = if done < inside { ">" } else { "" };
    Some(format!("[{:<inside$}]", "=".repeat(done) + tip))
}

const BETWEEN: &str = "  ";

/// Shorter ones move too seldom to say more than the times beside them.
const SHORTEST_BAR: usize = 8;

/// Longer ones carry the figures out of sight.
const MAX_BAR_LENGTH: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn step(requests: u64) -> Interval {
        Interval {
            start: SECOND,
            length: SECOND,
            requests,
            bytes: requests * 100,
            errors: 0,
            median: 42_000,
            high: 708_000,
            longest: 8_100_000,
        }
    }

    #[test]
    fn parts_without_room_are_left_out() {
        for (width, expected) in [
            (100, " 3.0s of 10s  [=========>                    ]   12.35k/s  p50  42.00us  p99 708.00us  3 errors"),
            (80, " 3.0s of 10s  [====>          ]   12.35k/s  p50  42.00us  p99 708.00us  3 errors"),
            (66, " 3.0s of 10s   12.35k/s  p50  42.00us  p99 708.00us  3 errors"),
            (60, " 3.0s of 10s  [==>      ]   12.35k/s  p50  42.00us  3 errors"),
            (34, " 3.0s of 10s   12.35k/s  3 errors"),
            (30, " 3.0s of 10s   12.35k/s"),
            (20, " 3.0s of 10s"),
            (5, " 3.0s"),
            (0, ""),
        ] {
            let line = live(&step(12_345), 3 * SECOND, Some(10 * SECOND), 3, width);
            assert!(line.len() <= width, "{line:?} is longer than {width}");
            assert_eq!(line, expected, "{width}");
        }
    }

    #[test]
    fn times_and_the_bar() {
        for (elapsed, planned, expected) in [
            (0.0, Some(1.5), " 0.0s of 1.5s  [>       ]"),
            (1.5, Some(1.5), " 1.5s of 1.5s  [========]"),
            (9.0, Some(1.5), " 9.0s of 1.5s  [========]"),
            (30.0, Some(60.0), "30.0s of 1:00  [====>   ]"),
            (59.96, Some(3600.0), " 1:00 of 1:00:00  [>       ]"),
            (7265.0, None, "2:01:05"),
            (0.0, Some(0.0), " 0.0s of 0s  [========]"),
        ] {
            let planned = planned.map(Duration::from_secs_f64);
            let time = time(Duration::from_secs_f64(elapsed), planned);
            let bar = planned.and_then(|planned| bar(share(Duration::from_secs_f64(elapsed), planned), 10));
            assert_eq!([Some(time), bar].into_iter().flatten().collect::<Vec<_>>().join(BETWEEN), expected);
        }
        assert_eq!(bar(0.5, SHORTEST_BAR + 1), None);
    }

    #[test]
    fn a_step_without_responses() {
        let line = live(&step(0), SECOND, None, 1, 80);
        assert_eq!(line, " 1.0s     0.00/s  p50        -  p99        -  1 error");
    }
}
