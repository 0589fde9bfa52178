//! How long bytes waited in the socket before the kernel sent them.

use core::time::Duration;

use crate::DelayHistogram;
use crate::TcpInfo;

/// The unsent bytes of one connection, and since when they are.
///
/// Each write leaves a *mark*: the count of bytes written up to its end, and the moment. A sample tells how many bytes
/// are unsent; the marks before those have left the socket between the sample before and this one. The recorded delay
/// is the time from mark to sample, once per byte: never too short, and too long by at most the time between the two
/// samples. So sample right after a write, and every millisecond while [`is_waiting`](Self::is_waiting), to be exact to
/// a millisecond. When all marks are in use, a write is counted with the one before it, which again is too long and
/// never too short. Bytes that were sent and lost count as sent.
///
/// All bytes of the connection have to be noted, from its first on. Times are microseconds.
#[derive(Debug, Default)]
pub struct QueueDelay {
    written: u64,
    /// From the oldest on, `count` of them.
    marks: [Mark; MARKS],
    first: usize,
    count: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    end: u64,
    length: u64,
    moment: u64,
}

impl QueueDelay {
    /// Nothing written so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many bytes were handed to the kernel.
    pub fn note_sent(&mut self, bytes: usize, now: u64) {
        let length = bytes as u64;
        if length == 0 {
            return;
        }
        self.written += length;
        if self.count < MARKS {
            self.marks[(self.first + self.count) % MARKS] = Mark { end: self.written, length, moment: now };
            self.count += 1;
        } else {
            let last = &mut self.marks[(self.first + MARKS - 1) % MARKS];
            last.end = self.written;
            last.length += length;
        }
    }

    /// Whether there are bytes that were unsent when last seen.
    pub fn is_waiting(&self) -> bool {
        self.count > 0
    }

    /// Records the delays of the bytes that are no longer unsent.
    pub fn handle_sample(&mut self, info: &TcpInfo, now: u64, histogram: &DelayHistogram) {
        let sent = self.written.saturating_sub(info.unsent.into());
        while self.count > 0 {
            let mark = &mut self.marks[self.first];
            // A part of a write counts when it leaves.
            let unsent = mark.end.saturating_sub(sent).min(mark.length);
            let left = mark.length - unsent;
            if left > 0 {
                histogram.record(Duration::from_micros(now.saturating_sub(mark.moment)), left);
                mark.length = unsent;
            }
            if unsent > 0 {
                break;
            }
            self.first = (self.first + 1) % MARKS;
            self.count -= 1;
        }
    }
}

/// Writes of a few segments each come to this many only when a quarter of a megabyte is unsent.
const MARKS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(delay: &mut QueueDelay, unsent: u32, now: u64, histogram: &DelayHistogram) {
        delay.handle_sample(&TcpInfo { unsent, ..TcpInfo::default() }, now, histogram);
    }

    #[test]
    fn a_byte_is_counted_once_when_it_has_left() {
        let histogram = DelayHistogram::new();
        let mut delay = QueueDelay::new();
        delay.note_sent(1000, 100);
        delay.note_sent(1000, 200);
        delay.note_sent(0, 250);
        sample(&mut delay, 1500, 300, &histogram);
        assert_eq!((histogram.count(), histogram.longest()), (500, Duration::from_micros(200)));
        assert!(delay.is_waiting());
        sample(&mut delay, 1500, 900, &histogram);
        assert_eq!(histogram.count(), 500);
        sample(&mut delay, 1000, 1100, &histogram);
        assert_eq!((histogram.count(), histogram.longest()), (1000, Duration::from_millis(1)));
        sample(&mut delay, 0, 1200, &histogram);
        assert_eq!((histogram.count(), histogram.longest()), (2000, Duration::from_millis(1)));
        assert!(!delay.is_waiting());
        sample(&mut delay, 0, 9999, &histogram);
        assert_eq!(histogram.count(), 2000);
    }

    #[test]
    fn more_writes_than_marks_are_too_long_and_never_too_short() {
        let histogram = DelayHistogram::new();
        let mut delay = QueueDelay::new();
        for write in 0..100 {
            delay.note_sent(10, write);
        }
        sample(&mut delay, 0, 100, &histogram);
        assert_eq!((histogram.count(), histogram.longest()), (1000, Duration::from_micros(100)));
        // The 16th write was at 15; the 84 after it count with it.
        assert_eq!(histogram.quantile(500), Some(Duration::from_micros(87)));
        assert!(!delay.is_waiting());
    }

    #[test]
    fn unsent_bytes_that_were_not_noted_are_ignored() {
        let histogram = DelayHistogram::new();
        let mut delay = QueueDelay::new();
        delay.note_sent(10, 0);
        sample(&mut delay, 100, 5, &histogram);
        assert_eq!(histogram.count(), 0);
        sample(&mut delay, 0, 6, &histogram);
        assert_eq!(histogram.count(), 10);
    }
}
