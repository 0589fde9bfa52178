//! Flow control (RFC 9113 §5.2, §6.9).

/// How much we may send, of one stream or of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendWindow(i32);

impl SendWindow {
    pub(crate) const fn new(size: u32) -> Self {
        Self(if size > MOST { MOST as i32 } else { size as i32 })
    }

    /// Bytes that may be sent now.
    #[inline]
    pub(crate) fn available(self) -> usize {
        self.0.max(0) as usize
    }

    /// RFC 9113 §6.9: `None` where the sum passes 2^31-1.
    #[must_use]
    pub(crate) fn increased(self, by: u32) -> Option<Self> {
        let sum = i64::from(self.0) + i64::from(by);
        i32::try_from(sum).ok().map(Self)
    }

    /// RFC 9113 §6.9.2: the peer changed the initial size; the window may become negative. `None` where it overflows.
    #[must_use]
    pub(crate) fn shifted(self, before: u32, after: u32) -> Option<Self> {
        let sum = i64::from(self.0) + i64::from(after) - i64::from(before);
        i32::try_from(sum).ok().map(Self)
    }

    /// So many bytes, of those available, were sent.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.available());
        self.0 -= bytes.min(MOST as usize) as i32;
    }
}

/// How much the peer may send, of one stream or of the connection, and what became of it.
///
/// ```text
///   target = available (may still come) + held (came, and nobody has used it) + what is to be given back
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveWindow {
    /// Below zero where the window was made smaller.
    available: i32,
    held: u32,
}

impl ReceiveWindow {
    pub(crate) const fn new(size: u32) -> Self {
        Self { available: SendWindow::new(size).0, held: 0 }
    }

    /// The window was less than the peer thought, and it knows now.
    pub(crate) fn shrink(&mut self, by: u32) {
        self.available = self.available.saturating_sub_unsigned(by);
    }

    /// Bytes received that nobody has used yet.
    #[inline]
    pub(crate) fn held(self) -> u32 {
        self.held
    }

    /// Whether the peer may send nothing.
    pub(crate) fn is_shut(self) -> bool {
        self.available <= 0
    }

    /// Takes in received bytes; `None` where the peer sent more than it may.
    #[inline]
    #[must_use]
    pub(crate) fn received(self, bytes: u32) -> Option<Self> {
        let available = self.available.checked_sub_unsigned(bytes).filter(|left| *left >= 0 || bytes == 0)?;
        Some(Self { available, held: self.held + bytes })
    }

    /// So many bytes have been used. Those who used more than there are gave a wrong count; they get what there is.
    #[inline]
    pub(crate) fn release(&mut self, bytes: u32) -> u32 {
        let bytes = bytes.min(self.held);
        self.held -= bytes;
        bytes
    }

    /// The bytes to give back, once they are worth a frame: half of the target size of the window. Giving back more
    /// often would cost frames, and more rarely would let the sender stand still.
    #[inline]
    pub(crate) fn give_back(&mut self, target: u32) -> Option<u32> {
        let due = i64::from(target) - i64::from(self.available) - i64::from(self.held);
        let due = u32::try_from(due).ok().filter(|due| *due > 0 && *due >= target / 2)?.min(MOST);
        self.available = self.available.saturating_add_unsigned(due);
        Some(due)
    }
}

/// RFC 9113 §6.9.1.
pub(crate) const MOST: u32 = 0x7fff_ffff;

/// RFC 9113 §6.9.2: both windows begin so.
pub(crate) const INITIAL: u32 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_to_send_may_become_negative_and_never_too_large() {
        let window = SendWindow::new(10);
        let negative = window.shifted(10, 0).and_then(|window| window.shifted(20, 0)).unwrap();
        assert_eq!((negative.available(), negative.increased(20).unwrap().available()), (0, 0));
        assert_eq!(negative.increased(21).unwrap().available(), 1);
        assert_eq!(window.increased(MOST - 10).unwrap().available(), MOST as usize);
        assert_eq!(window.increased(MOST - 9), None);
        assert_eq!(SendWindow::new(MOST).shifted(0, 1), None);
    }

    #[test]
    fn used_bytes_are_given_back_by_halves_of_the_window() {
        let window = ReceiveWindow::new(100);
        assert_eq!(window.received(101), None);
        let mut window = window.received(60).unwrap();
        assert_eq!((window.held(), window.give_back(100)), (60, None));
        assert_eq!((window.release(49), window.give_back(100)), (49, None));
        assert_eq!((window.release(1), window.give_back(100)), (1, Some(50)));
        assert_eq!((window.release(100), window.give_back(100)), (10, None));
        assert_eq!(window.received(91), None);
        // A larger target is made up for at once.
        assert_eq!(window.give_back(200), Some(110));
        let mut window = ReceiveWindow::new(100).received(60).unwrap();
        window.shrink(90);
        assert_eq!((window.received(1), window.received(0)), (None, Some(window)));
        assert_eq!((window.release(60), window.give_back(10)), (60, Some(60)));
        assert!(window.received(10).is_some() && window.received(11).is_none());
    }
}
