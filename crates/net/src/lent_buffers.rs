//! Buffers of one thread whose content others keep for a while.
//!
//! Large pieces that come and go make the allocator return memory to the kernel and take it back, page by page.

use std::cell::RefCell;

use bytes::Bytes;

thread_local! {
    static FREE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer whose content somebody keeps.
struct LentBuffer(Vec<u8>);

/// An empty buffer with room for [`LENT_LENGTH`] bytes, for [`lend_buffer`].
#[must_use]
pub fn take_lent_buffer() -> Vec<u8> {
    FREE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(LENT_LENGTH))
}

/// The content of a buffer. The buffer is free again when the last slice of it is dropped.
#[must_use]
pub fn lend_buffer(buffer: Vec<u8>) -> Bytes {
    Bytes::from_owner(LentBuffer(buffer))
}

/// Takes back a buffer whose content nobody needs.
pub fn return_lent_buffer(mut buffer: Vec<u8>) {
    if !(LENT_LENGTH..=2 * LENT_LENGTH).contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    // At the end of a thread there is no pool.
    let _ = FREE.try_with(|free| {
        // Nothing of this module runs while it is borrowed.
        if let Ok(mut free) = free.try_borrow_mut()
            && free.len() < MAX_FREE
        {
            free.push(buffer);
        }
    });
}

impl AsRef<[u8]> for LentBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for LentBuffer {
    fn drop(&mut self) {
        return_lent_buffer(std::mem::take(&mut self.0));
    }
}

/// Room for a frame of 16 KiB, and a head in front.
pub const LENT_LENGTH: usize = 16 * 1024 + 512;

/// Free buffers that a thread keeps: about 2 MB, as much as some fast connections have in flight.
const MAX_FREE: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_the_last_slice_is_dropped() {
        let mut buffer = take_lent_buffer();
        buffer.extend_from_slice(&[7; 1000]);
        let address = buffer.as_ptr();
        let mut content = lend_buffer(buffer);
        let rest = content.split_off(10);
        drop(content);
        assert_eq!(FREE.with_borrow(Vec::len), 0);
        drop(rest);
        let buffer = take_lent_buffer();
        assert!(buffer.as_ptr() == address && buffer.is_empty() && buffer.capacity() >= LENT_LENGTH);
    }

    #[test]
    fn buffers_of_other_sizes_and_more_than_a_few_are_not_kept() {
        return_lent_buffer(Vec::with_capacity(LENT_LENGTH / 2));
        return_lent_buffer(Vec::with_capacity(1 << 20));
        assert_eq!(FREE.with_borrow(Vec::len), 0);
        (0..2 * MAX_FREE).for_each(|_| return_lent_buffer(Vec::with_capacity(LENT_LENGTH)));
        assert_eq!(FREE.with_borrow(Vec::len), MAX_FREE);
    }
}
