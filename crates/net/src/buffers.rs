//! Buffers of one thread, lent to the connections that are at work; an idle connection has none.

use std::cell::RefCell;

use bytes::BytesMut;

/// Buffers for receiving and for heads to be sent, used again while they are still in the processor's cache.
#[derive(Debug, Default)]
pub struct Buffers {
    input: RefCell<Vec<BytesMut>>,
    output: RefCell<Vec<Vec<u8>>>,
    large_output: RefCell<Vec<Vec<u8>>>,
}

impl Buffers {
    /// None so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer to receive into, with room for [`INPUT_LENGTH`] bytes.
    #[inline]
    pub fn take_input(&self) -> BytesMut {
        self.input.borrow_mut().pop().unwrap_or_else(|| BytesMut::with_capacity(INPUT_LENGTH))
    }

    /// Takes back a buffer whose content is no longer needed; one that is still shared with a request somebody holds on
    /// to is let go.
    #[inline]
    pub fn give_input(&self, mut buffer: BytesMut) {
        buffer.clear();
        // What was split off a request before is room lost; it is won back when half is gone, not for each request.
        if buffer.capacity() >= INPUT_LENGTH / 2 || buffer.try_reclaim(INPUT_LENGTH) {
            let mut kept = self.input.borrow_mut();
            if kept.len() < MAX_KEPT && buffer.capacity() <= 2 * INPUT_LENGTH {
                kept.push(buffer);
            }
        }
    }

    /// An empty buffer for what is to be sent.
    #[inline]
    pub fn take_output(&self) -> Vec<u8> {
        self.output.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(OUTPUT_LENGTH))
    }

    /// An empty buffer for much that is to be sent at once, as bodies in frames or records are: one that has grown before,
    /// if there is one.
    #[inline]
    pub fn take_large_output(&self) -> Vec<u8> {
        self.large_output.borrow_mut().pop().unwrap_or_else(|| self.take_output())
    }

    /// Takes back a buffer whose content was sent.
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

/// What an output has grown to when it is a large one.
const MAX_OUTPUT: usize = 4 * OUTPUT_LENGTH;

/// What an output has grown to at most when it is kept: 64 KiB in frames or records, doubled once too often.
const MAX_LARGE_OUTPUT: usize = 160 * 1024;

/// Large outputs kept: those of a few connections in bulk, which take turns.
const MAX_LARGE_KEPT: usize = 8;

/// Connections at work at the same moment; those beyond allocate. Keeps a past peak from holding memory for ever.
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
