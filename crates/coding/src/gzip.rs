//! Gzip, by zlib-rs.

use std::io;

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::encoder::ROOM;

/// An encoder of gzip. Its window is 32 KiB, the only one that every client knows; with its tables it keeps about
/// 300 KiB.
#[derive(Debug)]
pub(crate) struct Gzip {
    compress: Compress,
}

impl Gzip {
    pub(crate) fn new(level: u32) -> Self {
        Self { compress: Compress::new_gzip(Compression::new(level), WINDOW_BITS) }
    }

    /// Begins another body.
    pub(crate) fn reset(&mut self) {
        self.compress.reset();
    }

    pub(crate) fn write(&mut self, mut piece: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        while !piece.is_empty() {
            output.reserve(ROOM);
            let before = self.compress.total_in();
            self.compress.compress_vec(piece, output, FlushCompress::None)?;
            let read = usize::try_from(self.compress.total_in() - before).unwrap_or(piece.len());
            piece = piece.get(read..).unwrap_or_default();
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        loop {
            output.reserve(ROOM);
            self.compress.compress_vec(&[], output, FlushCompress::Sync)?;
            // All came out where room is left.
            if output.len() < output.capacity() {
                return Ok(());
            }
        }
    }

    pub(crate) fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        loop {
            output.reserve(ROOM);
            if self.compress.compress_vec(&[], output, FlushCompress::Finish)? == Status::StreamEnd {
                return Ok(());
            }
        }
    }
}

/// RFC 1951 §2: no more.
const WINDOW_BITS: u8 = 15;
