//! How large the windows of received data should be: as large as what the link holds, and no larger.
//!
//! A sender fills a link when it may have as much in flight as the link takes in one round trip. So while a long body
//! comes in, a PING is sent with the next data behind the answer to the last one, and the bytes that come in until its
//! answer are counted. Where they come near what a window allows, the window may be what holds the sender back, and is
//! doubled: eight such round trips lead from the first window to the largest. Windows are only opened as far as data
//! have been used, so a sender that nobody reads from finds them closed.
//!
//! A reader that is slower than the link makes the same counts: what waits for it is in flight as well, the answer to the
//! PING waits behind it, and a larger window only lets more wait. So from [`MEASURED`] on, a window is doubled again only
//! if the last doubling brought more bytes in the same time.

use core::time::Duration;

/// Measures one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// The target size of a stream's window.
    stream: u32,
    /// The largest for a stream.
    largest: u32,
    /// The largest for the connection.
    most: u32,
    round_trip: RoundTrip,
    rate: Rate,
}

/// The measurement of what comes in during a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundTrip {
    /// There is none.
    Idle,
    /// It begins with the next data.
    Armed,
    /// A PING is on its way, and so many bytes came in since.
    Counting(u32),
}

/// How fast data come in with a window, from [`MEASURED`] on.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// Since when, in milliseconds of the clock, and how many bytes have come in.
    period: Option<(u32, u32)>,
    /// The most bytes per millisecond with smaller windows.
    before: u32,
}

impl Growth {
    pub(crate) fn new(stream: u32, largest: u32, most: u32) -> Self {
        let most = most.min(crate::window::MOST);
        Self { stream, largest: largest.min(most / 3 * 2), most, round_trip: RoundTrip::Idle, rate: Rate::default() }
    }

    /// The target size of a stream's window.
    #[inline]
    pub(crate) fn stream(&self) -> u32 {
        self.stream
    }

    /// The target size of the connection's window: larger by half, so that one stream that is not read leaves something
    /// to the others, and never less than a few new streams need. Where streams have grown as far as they may, it is
    /// the largest.
    #[inline]
    pub(crate) fn connection(&self) -> u32 {
        if !self.can_grow() {
            return self.most;
        }
        (self.stream + self.stream / 2).max(LEAST_CONNECTION).min(self.most)
    }

    /// Bytes of data came in; says whether a PING is to be sent now.
    #[inline]
    #[must_use]
    pub(crate) fn note_received(&mut self, bytes: u32) -> bool {
        if let Some((_, received)) = &mut self.rate.period {
            *received = received.saturating_add(bytes);
        }
        match &mut self.round_trip {
            RoundTrip::Idle => false,
            RoundTrip::Armed => {
                self.round_trip = RoundTrip::Counting(bytes);
                true
            }
            RoundTrip::Counting(counted) => {
                *counted = counted.saturating_add(bytes);
                false
            }
        }
    }

    /// Half a window was used: there is a body that is long enough to measure the link by.
    pub(crate) fn note_used(&mut self) {
        if self.round_trip == RoundTrip::Idle && self.can_grow() {
            self.round_trip = RoundTrip::Armed;
        }
    }

    /// The answer is there; says whether the windows have grown.
    pub(crate) fn end(&mut self, now: Duration) -> bool {
        let RoundTrip::Counting(counted) = self.round_trip else { return false };
        // Windows are given back by halves, so half of one may be all that a sender is ever allowed in a round trip.
        let grows = self.can_grow()
            && match self.stream < MEASURED {
                true => counted >= self.stream / 3 * 2,
                false => counted >= self.stream / 2 && self.rate.has_risen(now),
            };
        if grows {
            self.stream = self.stream.saturating_mul(2).min(self.largest);
        }
        self.round_trip = if counted > 0 && self.can_grow() { RoundTrip::Armed } else { RoundTrip::Idle };
        grows
    }

    fn can_grow(&self) -> bool {
        self.stream < self.largest
    }
}

impl Rate {
    /// Whether data come in faster than with smaller windows. If so, the next window is measured from now on.
    fn has_risen(&mut self, now: Duration) -> bool {
        // Wraps after 49 days, as the difference does.
        let now = now.as_millis() as u32;
        let Some((begun, bytes)) = self.period else {
            self.period = Some((now, 0));
            return false;
        };
        let time = now.wrapping_sub(begun);
        if time < LEAST_PERIOD {
            return false;
        }
        let rate = bytes / time;
        // Twice as many where the window was the limit; a machine that was busy for a while makes some difference too.
        let has_risen = rate / 3 * 2 > self.before;
        if has_risen {
            self.before = rate;
        }
        self.period = Some((now, 0));
        has_risen
    }
}

/// 200 kB: what a link of 100 Mbit/s holds at 16 ms, or one of 10 Gbit/s at 0.16 ms. An upload to a slow server took 11 MB
/// when windows grew without a measurement.
const MEASURED: u32 = 200_000;

/// In milliseconds: ten times the resolution of the clock, so that rates are exact to a tenth.
const LEAST_PERIOD: u32 = 40;

/// 256 KiB: four new streams that are not read from, or what a link of 100 Mbit/s takes in 20 ms.
const LEAST_CONNECTION: u32 = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    #[test]
    fn doubles_while_the_window_is_what_holds_the_sender_back() {
        let mut growth = Growth::new(65_535, u32::MAX, 16 << 20);
        assert_eq!((growth.stream(), growth.connection()), (65_535, 256 * 1024));
        assert!(!growth.note_received(100_000) && !growth.end(NOW), "nothing was measured");
        growth.note_used();
        assert!(growth.note_received(3_000) && !growth.note_received(40_000));
        growth.note_used();
        assert!(!growth.note_received(600) && !growth.end(NOW), "less than two thirds of the window in a round trip");
        assert!(growth.note_received(4_000) && !growth.note_received(40_000));
        assert!(growth.end(NOW));
        assert_eq!(growth.stream(), 131_070);
        assert!(!growth.end(NOW), "an answer to nothing");
    }

    /// The window after a second on a link of this rate (bytes per second) and round trip, to a reader that takes so many
    /// bytes per second.
    fn after_a_second(link: u64, round_trip: Duration, reader: u64) -> u32 {
        let mut growth = Growth::new(65_535, u32::MAX, 16 << 20);
        let mut now = NOW;
        growth.note_used();
        while now < NOW + Duration::from_secs(1) {
            let window = u64::from(growth.stream());
            // A window takes a round trip, or as long as the link or the reader takes for it.
            let time = round_trip.max(Duration::from_micros(window * 1_000_000 / link.min(reader)));
            let _ = growth.note_received(window as u32);
            now += time;
            // The clock is a coarse one.
            growth.end(Duration::from_millis(now.as_millis() as u64 / 4 * 4));
            growth.note_used();
        }
        growth.stream()
    }

    #[test]
    fn grows_to_what_the_link_holds_and_no_reader_is_too_slow_for() {
        const GIGABIT: u64 = 125_000_000;
        let ms = Duration::from_millis;
        assert!(after_a_second(GIGABIT, ms(50), u64::MAX) > 6 << 20, "6.25 MB are in flight");
        assert!(after_a_second(10 * GIGABIT, ms(20), u64::MAX) > 10 << 20, "25 MB would be in flight");
        for reader in [1 << 20, 64 << 20, 200 << 20] {
            let window = after_a_second(10 * GIGABIT, Duration::from_micros(50), reader);
            assert!(window <= 512 << 10, "{window} for a reader of {reader} bytes per second");
        }
        assert!(after_a_second(GIGABIT / 10, ms(10), u64::MAX) <= 512 << 10, "125 KB are in flight");
    }

    #[test]
    fn a_stream_that_may_not_grow_leaves_the_rest_to_others() {
        let mut growth = Growth::new(100_000, 100_000, 16 << 20);
        assert_eq!((growth.stream(), growth.connection()), (100_000, 16 << 20));
        growth.note_used();
        assert!(!growth.note_received(100_000) && !growth.end(NOW));
    }
}
