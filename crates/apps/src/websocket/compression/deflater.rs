//! The application's messages, compressed.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};

use super::{Agreement, TAIL};

/// Compresses the messages to one client.
#[derive(Debug)]
pub(crate) struct Deflater {
    agreement: Agreement,
    /// Exists within a message, and afterwards for as long as messages refer to earlier ones.
    compressor: Option<Compressor>,
    /// Whether the message that has begun is compressed.
    compresses: bool,
}

impl Deflater {
    pub(crate) fn new(agreement: Agreement) -> Self {
        Self { agreement, compressor: None, compresses: false }
    }

    /// Compresses a piece of a message; returns it, and whether its frame has to say that the message is compressed,
    /// which its first one does. Short messages become no shorter, and stay as they are.
    pub(crate) fn compress(&mut self, piece: Bytes, is_first: bool, is_last: bool) -> (Bytes, bool) {
        if is_first {
            self.compresses = !is_last || piece.len() >= SHORTEST;
        }
        if !self.compresses {
            return (piece, false);
        }
        let bits = self.agreement.server_bits;
        let compressor = self.compressor.get_or_insert_with(|| Compressor::take(bits));
        let Some(compressed) = compressor.run(&piece, is_last) else {
            // Deflate has no errors in compressing; if it had, the client would see that the message is invalid.
            self.compressor = None;
            return (Bytes::new(), is_first);
        };
        if is_last && (self.agreement.server_forgets || !compressor.keep()) {
            self.forget();
        }
        (compressed, is_first)
    }

    /// Gives up what later messages could refer to, unless a message has begun: a client that is silent costs little.
    /// Clients notice nothing of it, since the next message refers to itself only.
    pub(crate) fn rest(&mut self, within_message: bool) {
        if !within_message {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.compressor = None;
    }
}

/// A compressor, which goes back to those that are idle.
struct Compressor {
    /// There until it is dropped.
    compress: Option<Compress>,
    bits: u8,
    is_kept: bool,
}

impl Compressor {
    fn take(bits: u8) -> Self {
        let idle = IDLE.with_borrow_mut(|idle| {
            let place = idle.iter().rposition(|(others, _)| *others == bits)?;
            Some(idle.swap_remove(place).1)
        });
        let compress = idle.unwrap_or_else(|| Compress::new_with_window_bits(Compression::new(LEVEL), false, bits));
        Self { compress: Some(compress), bits, is_kept: false }
    }

    fn run(&mut self, piece: &[u8], is_last: bool) -> Option<Bytes> {
        let compress = self.compress.as_mut()?;
        let mut output = Vec::with_capacity(piece.len() / 2 + ROOM);
        let mut rest = piece;
        while !rest.is_empty() {
            output.reserve(ROOM);
            let before = compress.total_in();
            compress.compress_vec(rest, &mut output, FlushCompress::None).ok()?;
            rest = rest.get(usize::try_from(compress.total_in() - before).ok()?..)?;
        }
        if is_last {
            loop {
                output.reserve(ROOM);
                compress.compress_vec(&[], &mut output, FlushCompress::Sync).ok()?;
                // All came out where room is left.
                if output.len() < output.capacity() {
                    break;
                }
            }
            match output.ends_with(&TAIL) {
                true => output.truncate(output.len() - TAIL.len()),
                // There was nothing to put out since the last flush: an empty block without its tail (§7.2.3.6).
                false => output.push(0),
            }
        }
        Some(output.into())
    }

    /// Asks to be kept until the next message; returns whether it may.
    fn keep(&mut self) -> bool {
        if !self.is_kept && KEPT.get() < MAX_KEPT {
            KEPT.set(KEPT.get() + 1);
            self.is_kept = true;
        }
        self.is_kept
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        if self.is_kept {
            KEPT.set(KEPT.get().saturating_sub(1));
        }
        if let Some(mut compress) = self.compress.take() {
            // A thread that ends has none.
            let _ = IDLE.try_with(|idle| {
                if let Ok(mut idle) = idle.try_borrow_mut()
                    && idle.len() < MAX_IDLE
                {
                    compress.reset();
                    idle.push((self.bits, compress));
                }
            });
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Compressor").field("bits", &self.bits).finish_non_exhaustive()
    }
}

thread_local! {
    /// Compressors of this thread that nobody uses, with the logarithms of their windows.
    static IDLE: RefCell<Vec<(u8, Compress)>> = const { RefCell::new(Vec::new()) };
    /// How many compressors of this thread are kept between messages.
    static KEPT: Cell<usize> = const { Cell::new(0) };
}

/// zlib's own level, as in Python's websockets.
const LEVEL: u32 = 6;

/// Where a block of deflate has its own overhead.
const SHORTEST: usize = 32;

/// How much room there is at least when the compressor runs.
const ROOM: usize = 256;

/// Compressors that one thread keeps between messages: about 0.35 MB each, measured with 1,000 connections. Further
/// connections compress each message on its own, so that many connections cannot take the memory.
const MAX_KEPT: usize = 64;

/// Compressors without a connection; as many messages as are usually begun and not ended.
const MAX_IDLE: usize = 4;

#[cfg(test)]
mod tests {
    use flate2::{Decompress, FlushDecompress};

    use super::*;

    fn agreement(offer: &str) -> Agreement {
        Agreement::of([offer.as_bytes()].into_iter()).unwrap()
    }

    /// A client's side: each message decompressed, with or without what came before.
    struct Inflater(Decompress, bool);

    impl Inflater {
        fn new(bits: u8, forgets: bool) -> Self {
            Self(Decompress::new_with_window_bits(false, bits), forgets)
        }

        fn message(&mut self, compressed: &[u8]) -> Vec<u8> {
            let input = [compressed, &TAIL].concat();
            let mut output = Vec::with_capacity(1 << 20);
            self.0.decompress_vec(&input, &mut output, FlushDecompress::Sync).unwrap();
            if self.1 {
                self.0.reset(false);
            }
            output
        }
    }

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|place| b"0123456789abcdef"[(place.wrapping_mul(2_654_435_761) >> 20) % 16]).collect()
    }

    #[test]
    fn messages_come_back_with_each_window() {
        for (offer, bits, forgets) in [
            ("permessage-deflate", 12, false),
            ("permessage-deflate; server_max_window_bits=9", 9, false),
            ("permessage-deflate; server_max_window_bits=10; server_no_context_takeover", 10, true),
        ] {
            let (mut deflater, mut inflater) = (Deflater::new(agreement(offer)), Inflater::new(bits, forgets));
            for length in [0, 31, 32, 33, 300, 300, 65_536, 300_000] {
                let body = text(length);
                let (compressed, is_compressed) = deflater.compress(body.clone().into(), true, true);
                assert_eq!(is_compressed, length >= SHORTEST);
                match is_compressed {
                    true => assert!(inflater.message(&compressed) == body, "{offer} {length}"),
                    false => assert_eq!(compressed, body),
                }
            }
        }
    }

    #[test]
    fn pieces_of_a_message_are_one_stream() {
        let mut deflater = Deflater::new(agreement("permessage-deflate"));
        let mut inflater = Inflater::new(12, false);
        for sizes in [&[100, 0, 70_000, 5][..], &[0, 0], &[1, 1, 1], &[40, 0]] {
            let (mut body, mut compressed) = (Vec::new(), Vec::new());
            for (number, &size) in sizes.iter().enumerate() {
                let piece = text(size);
                body.extend_from_slice(&piece);
                let is_last = number + 1 == sizes.len();
                let (piece, says_so) = deflater.compress(piece.into(), number == 0, is_last);
                assert_eq!(says_so, number == 0);
                compressed.extend_from_slice(&piece);
                deflater.rest(!is_last);
            }
            assert!(inflater.message(&compressed) == body, "{sizes:?}");
        }
    }

    #[test]
    fn later_messages_refer_to_earlier_ones_unless_that_was_forgotten() {
        let body = Bytes::from(text(1000));
        let mut deflater = Deflater::new(agreement("permessage-deflate"));
        let first = deflater.compress(body.clone(), true, true).0.len();
        let second = deflater.compress(body.clone(), true, true).0.len();
        assert!(second < first / 4, "{second} {first}");
        deflater.rest(false);
        assert_eq!(deflater.compress(body.clone(), true, true).0.len(), first);
        let mut forgetful = Deflater::new(agreement("permessage-deflate; server_no_context_takeover"));
        for _ in 0..2 {
            assert_eq!(forgetful.compress(body.clone(), true, true).0.len(), first);
        }
    }

    #[test]
    fn only_so_many_compressors_are_kept() {
        let body = Bytes::from(text(1000));
        let mut deflaters: Vec<_> =
            (0..MAX_KEPT + 10).map(|_| Deflater::new(agreement("permessage-deflate"))).collect();
        for deflater in &mut deflaters {
            deflater.compress(body.clone(), true, true);
        }
        assert_eq!(KEPT.get(), MAX_KEPT);
        assert_eq!(deflaters.iter().filter(|deflater| deflater.compressor.is_some()).count(), MAX_KEPT);
        deflaters.truncate(1);
        assert_eq!((KEPT.get(), IDLE.with_borrow(Vec::len)), (1, MAX_IDLE));
        drop(deflaters);
        assert_eq!(KEPT.get(), 0);
    }
}
