//! How large the windows of received data should be: as large as what the link holds, and no larger.
//!
//! A sender fills a link when it may have as much in flight as the link takes in one round trip. So while a long body
//! comes in, a PING is sent with the next data behind the answer to the last one, and the bytes that come in until its
//! answer are counted. Where they come near what a window allows, the window may be what holds the sender back, and is
//! doubled: eight such round trips lead from the first window to the largest. Windows are only opened as far as data
//! have been used, so a reader that is slower than the link never makes the counts that would grow them, and a sender
//! that nobody reads from finds them closed.

/// Measures one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// What the window of a stream shall be.
    stream: u32,
    /// The largest for a stream.
    largest: u32,
    /// The largest for the connection.
    most: u32,
    /// Bytes received since the PING that is on its way.
    counted: Option<u32>,
    /// Whether the next data begin a measurement.
    armed: bool,
}

impl Growth {
    pub(crate) fn new(stream: u32, largest: u32, most: u32) -> Self {
        let most = most.min(crate::window::MOST);
        Self { stream, largest: largest.min(most / 3 * 2), most, counted: None, armed: false }
    }

    /// What the window of a stream shall be.
    #[inline]
    pub(crate) fn stream(&self) -> u32 {
        self.stream
    }

    /// What the window of the connection shall be: larger by half, so that one stream that nobody reads from leaves
    /// something to the others, and never less than a few new streams need. Where streams have grown as far as they
    /// may, it is the largest.
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
        let begins = core::mem::take(&mut self.armed);
        if begins {
            self.counted = Some(bytes);
        } else if let Some(counted) = &mut self.counted {
            *counted = counted.saturating_add(bytes);
        }
        begins
    }

    /// Half a window was used: there is a body that is long enough to measure the link by.
    pub(crate) fn note_used(&mut self) {
        self.armed = self.counted.is_none() && self.can_grow();
    }

    /// The answer is there; says whether the windows have grown.
    pub(crate) fn end(&mut self) -> bool {
        let Some(counted) = self.counted.take() else { return false };
        let grows = counted >= self.stream / 3 * 2 && self.can_grow();
        if grows {
            self.stream = self.stream.saturating_mul(2).min(self.largest);
        }
        self.armed = counted > 0 && self.can_grow();
        grows
    }

    fn can_grow(&self) -> bool {
        self.stream < self.largest
    }
}

/// 256 KiB: four new streams that are not read from, or what a link of 100 Mbit/s takes in 20 ms.
const LEAST_CONNECTION: u32 = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_while_the_window_is_what_holds_the_sender_back() {
        let mut growth = Growth::new(65_535, u32::MAX, 16 << 20);
        assert_eq!((growth.stream(), growth.connection()), (65_535, 256 * 1024));
        assert!(!growth.note_received(100_000) && !growth.end(), "nothing was measured");
        growth.note_used();
        assert!(growth.note_received(3_000) && !growth.note_received(40_000));
        growth.note_used();
        assert!(!growth.note_received(600) && !growth.end(), "less than two thirds of the window in a round trip");
        assert!(growth.note_received(4_000) && !growth.note_received(40_000));
        assert!(growth.end());
        assert_eq!(growth.stream(), 131_070);
        assert!(!growth.end(), "an answer to nothing");
        while growth.note_received(u32::MAX) {
            assert!(growth.end());
        }
        assert!(growth.connection() <= 16 << 20 && growth.stream() > 10 << 20);
        growth.note_used();
        assert!(!growth.note_received(1), "nothing is measured where nothing can grow");
    }

    #[test]
    fn a_stream_that_may_not_grow_leaves_the_rest_to_others() {
        let mut growth = Growth::new(100_000, 100_000, 16 << 20);
        assert_eq!((growth.stream(), growth.connection()), (100_000, 16 << 20));
        growth.note_used();
        assert!(!growth.note_received(100_000) && !growth.end());
    }
}
