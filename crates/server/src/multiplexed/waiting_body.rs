//! The part of a request's body that was received and that its reader has not taken yet.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// The pieces of a body that wait for their reader, as much as the windows allow.
///
/// A piece is a slice of the buffer that it was received in, and keeps the whole buffer in memory. A frame of 16 KiB does
/// not fit into a buffer of 16 KiB, which grows for it: pieces took twice the memory of their bytes. So while little
/// waits, pieces are taken as they are; a reader that is slower gets copies, which are as large as their bytes.
#[derive(Debug, Default)]
pub(crate) struct WaitingBody {
    pieces: VecDeque<Bytes>,
    /// The last bytes that came, behind the pieces, as far as they were copied. Boxed, since most readers keep up.
    last: Option<Box<BytesMut>>,
    /// Bytes of the pieces.
    length: usize,
}

impl WaitingBody {
    /// Adds the piece that was received next.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if self.last.is_none() && self.length < MAX_SHARED {
            self.length += piece.len();
            return self.pieces.push_back(piece);
        }
        let mut rest = &piece[..];
        while !rest.is_empty() {
            let last = self.last.get_or_insert_with(|| Box::new(BytesMut::with_capacity(COPIED)));
            let (fits, behind) = rest.split_at(rest.len().min(last.capacity() - last.len()));
            last.extend_from_slice(fits);
            rest = behind;
            if last.len() == last.capacity() {
                self.end_copy();
            }
        }
    }

    /// Takes the first piece.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        if self.pieces.is_empty() {
            self.end_copy();
        }
        let piece = self.pieces.pop_front()?;
        self.length -= piece.len();
        Some(piece)
    }

    /// Puts back the rest of a piece that was taken.
    pub(crate) fn put_back(&mut self, piece: Bytes) {
        self.length += piece.len();
        self.pieces.push_front(piece);
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.last.is_none()
    }

    /// How many pieces there are.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len() + usize::from(self.last.is_some())
    }

    /// Forgets all of it.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Makes a piece of the bytes that were copied.
    fn end_copy(&mut self) {
        if let Some(last) = self.last.take() {
            self.length += last.len();
            self.pieces.push_back(last.freeze());
        }
    }
}

/// Bytes from which a reader counts as slow: one that keeps up leaves as many waiting while a connection has its turn.
const MAX_SHARED: usize = 64 * 1024;

/// Bytes of one copy: a multiple of what allocators reserve anyway.
const COPIED: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_came_in() {
        for piece in [1, 1000, 16_384, 100_000] {
            let mut waiting = WaitingBody::default();
            let bytes: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
            bytes.chunks(piece).for_each(|piece| waiting.push(Bytes::copy_from_slice(piece)));
            let mut found = Vec::new();
            while let Some(mut piece) = waiting.pop() {
                if piece.len() > 10 {
                    let rest = piece.split_off(10);
                    waiting.put_back(rest);
                }
                found.extend_from_slice(&piece);
            }
            assert!(found == bytes && waiting.is_empty() && waiting.length == 0, "{piece}");
        }
    }

    #[test]
    fn a_slow_reader_does_not_keep_buffers_in_memory() {
        let mut waiting = WaitingBody::default();
        // Kept here, so that no copy gets the address of one.
        let mut received = Vec::new();
        for _ in 0..100 {
            let mut buffer = BytesMut::zeroed(2 * 16_384);
            let piece = buffer.split_to(16_384).freeze();
            received.push(piece.clone());
            waiting.push(piece);
        }
        assert_eq!(waiting.pieces(), MAX_SHARED / 16_384 + (100 * 16_384 - MAX_SHARED) / COPIED);
        let is_shared = |piece: &Bytes| received.iter().any(|received| received.as_ptr() == piece.as_ptr());
        let shared = std::iter::from_fn(|| waiting.pop()).filter(is_shared);
        assert_eq!(shared.count(), MAX_SHARED / 16_384);
    }
}
