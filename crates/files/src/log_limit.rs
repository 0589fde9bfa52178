//! A limit on lines of the log: who asks for a file a thousand times that cannot be sent does not fill the disk.

use std::sync::atomic::{AtomicU64, Ordering};

/// Lines that are written in each second; the others are counted.
#[derive(Debug)]
pub(crate) struct LogLimit {
    lines: u64,
    /// The second, and how many lines were written in it.
    window: AtomicU64,
    /// Lines that were left out since.
    left_out: AtomicU64,
}

impl LogLimit {
    /// At most so many lines a second, 255 at most.
    pub(crate) const fn new(lines: u8) -> Self {
        Self { lines: lines as u64, window: AtomicU64::new(0), left_out: AtomicU64::new(0) }
    }

    /// Whether there may be a line in this second; how many were left out before it.
    pub(crate) fn admit(&self, second: u64) -> Option<u64> {
        let window = second << COUNT_BITS;
        let take = |known: u64| match known & !COUNT == window {
            true if known & COUNT >= self.lines => None,
            true => Some(known + 1),
            false => Some(window + 1),
        };
        match self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Some(self.left_out.swap(0, Ordering::Relaxed)),
            Err(_) => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }
}

const COUNT_BITS: u32 = 8;

const COUNT: u64 = (1 << COUNT_BITS) - 1;

#[cfg(test)]
mod tests {
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
}
