//! A limit on log lines about one subject: a client that asks a thousand times for a file that cannot be sent does not
//! fill the disk.

use std::sync::atomic::{AtomicU64, Ordering};

/// Lines of one kind that are written in each second; the others are counted. Shared by threads, without a lock.
#[derive(Debug)]
pub struct LogLimit {
    lines: u64,
    /// The second, modulo 2³², and how many lines were written in it.
    window: AtomicU64,
    suppressed: AtomicU64,
}

impl LogLimit {
    /// At most so many lines a second.
    #[must_use]
    pub const fn new(lines: u32) -> Self {
        Self { lines: lines as u64, window: AtomicU64::new(0), suppressed: AtomicU64::new(0) }
    }

    /// Whether a line may be written in this second; reports how many lines were suppressed before it.
    pub fn admit(&self, second: u64) -> Option<u64> {
        let second = second & COUNT;
        let take = |window: u64| match window >> 32 == second {
            true if window & COUNT >= self.lines => None,
            true => Some(window + 1),
            false => Some((second << 32) | 1),
        };
        match self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Some(self.suppressed.swap(0, Ordering::Relaxed)),
            Err(_) => {
                self.suppressed.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// The number of suppressed lines, once their second is over.
    pub fn take_suppressed(&self, second: u64) -> Option<u64> {
        if self.suppressed.load(Ordering::Relaxed) == 0 || self.window.load(Ordering::Relaxed) >> 32 == second & COUNT {
            return None;
        }
        Some(self.suppressed.swap(0, Ordering::Relaxed)).filter(|suppressed| *suppressed > 0)
    }
}

const COUNT: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn there_are_so_many_lines_a_second_and_they_count_those_left_out() {
        for (lines, expected) in [
            (1, [Some(0), None, None, Some(2), None, Some(1), Some(0)]),
            (2, [Some(0), Some(0), None, Some(1), Some(0), Some(0), Some(0)]),
        ] {
            let limit = LogLimit::new(lines);
            let admitted: Vec<_> = [0, 0, 0, 1, 1, 5, 6].into_iter().map(|second| limit.admit(second)).collect();
            assert_eq!(admitted, expected, "{lines}");
        }
    }

    #[test]
    fn suppressed_lines_are_reported_once_their_second_is_over() {
        let limit = LogLimit::new(1);
        assert_eq!([limit.admit(5), limit.admit(5)], [Some(0), None]);
        assert_eq!([5, 6, 6].map(|second| limit.take_suppressed(second)), [None, Some(1), None]);
    }
}
