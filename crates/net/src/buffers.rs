//! Buffers of one thread, lent to its busy connections; an idle connection has none.

use std::cell::RefCell;

use bytes::BytesMut;

/// Input and output buffers, reused while they are still in the processor's cache.
#[derive(Debug, Default)]
pub struct Buffers {
    input: RefCell<Vec<BytesMut>>,
    output: RefCell<Vec<Vec<u8>>>,
    large_output: RefCell<Vec<Vec<u8>>>,
}

impl Buffers {
    /// No buffers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer to receive into, with room for [`INPUT_LENGTH`] bytes.
    #[inline]
    pub fn take_input(&self) -> BytesMut {
        self.input.borrow_mut().pop().unwrap_or_else(|| BytesMut::with_capacity(INPUT_LENGTH))
    }

    /// Takes back a buffer whose content is no longer needed; one that a request still shares is dropped.
    #[inline]
    pub fn give_input(&self, mut buffer: BytesMut) {
        buffer.clear();
        // Requests that were split off take room from the buffer; it is reclaimed when half is gone, not for each
        // request.
        if buffer.capacity() >= INPUT_LENGTH / 2 || buffer.try_reclaim(INPUT_LENGTH) {
            let mut kept = self.input.borrow_mut();
            if kept.len() < MAX_KEPT && buffer.capacity() <= 2 * INPUT_LENGTH {
                kept.push(buffer);
            }
        }
    }

    /// An empty output buffer.
    #[inline]
    pub fn take_output(&self) -> Vec<u8> {
        self.output.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(OUTPUT_LENGTH))
    }

    /// An empty output buffer for large writes, as of bodies in frames or records: one that has grown before, if there
    /// is one.
    #[inline]
    pub fn take_large_output(&self) -> Vec<u8> {
        self.large_output.borrow_mut().pop().unwrap_or_else(|| self.take_output())
    }

    /// Takes back an output buffer.
    #[inline]
    pub fn give_output(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let (kept, most) = match buffer.capacity() {
            0 => return,
            capacity if capacity <= MAX_OUTPUT => (&self.output, MAX_KEPT),
            capacity if capacity <= MAX_LARGE_OUTPUT => (&self.large_output, MAX_LARGE_KEPT),
            _ => return,
        };
        let mut kept = kept.borrow_mut();
        if kept.len() < most {
            kept.push(buffer);
        }
    }
}

/// Room for several heads of a browser, and few calls for an upload: nginx's and hyper's buffers have 8 KiB each.
pub const INPUT_LENGTH: usize = 16 * 1024;

/// Room for a head and a small body.
const OUTPUT_LENGTH: usize = 8 * 1024;

/// The capacity from which an output buffer is a large one.
const MAX_OUTPUT: usize = 4 * OUTPUT_LENGTH;

/// The largest output buffer that is kept: 64 KiB in frames or records, doubled once too often.
const MAX_LARGE_OUTPUT: usize = 160 * 1024;

/// The number of large output buffers kept: for a few connections that send large bodies in turn.
const MAX_LARGE_KEPT: usize = 8;

/// The number of buffers kept, one for each busy connection; more are allocated. Without a limit a past peak would hold
/// memory for ever.
const MAX_KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_reused_unless_it_is_shared() {
        let buffers = Buffers::new();
        let head = [b'a'; INPUT_LENGTH / 2 + 1];
        let mut input = buffers.take_input();
        input.extend_from_slice(&head);
        let held = input.split_to(head.len()).freeze();
        buffers.give_input(input);
        assert_eq!(buffers.input.borrow().len(), 0);
        assert_eq!(held[..], head);
        let mut input = buffers.take_input();
        input.extend_from_slice(&head);
        drop(input.split_to(head.len()));
        let address = input.as_ptr() as usize - head.len();
        buffers.give_input(input);
        let input = buffers.take_input();
        assert_eq!(input.as_ptr() as usize, address);
        assert!(input.is_empty() && input.capacity() >= INPUT_LENGTH);
    }

    #[test]
    fn a_grown_buffer_is_not_kept() {
        let buffers = Buffers::new();
        buffers.give_output(Vec::with_capacity(1 << 20));
        buffers.give_output(Vec::new());
        assert_eq!(buffers.output.borrow().len(), 0);
    }
}
