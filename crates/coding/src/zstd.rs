//! Zstandard, by its own library.

use std::{fmt, io};

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use crate::encoder::ROOM;

/// An encoder of Zstandard.
pub(crate) struct Zstd {
    encoder: Encoder<'static>,
}

impl Zstd {
    pub(crate) fn new(level: u32, window_bits: u32) -> io::Result<Self> {
        let mut encoder = Encoder::new(i32::try_from(level).unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL))?;
        encoder.set_parameter(CParameter::WindowLog(window_bits))?;
        Ok(Self { encoder })
    }

    /// Begins another body.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        self.encoder.reinit()
    }

    pub(crate) fn write(&mut self, piece: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        let mut input = InBuffer::around(piece);
        while input.pos() < piece.len() {
            self.encoder.run(&mut input, &mut behind(output))?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        while self.encoder.flush(&mut behind(output))? > 0 {}
        Ok(())
    }

    pub(crate) fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        while self.encoder.finish(&mut behind(output), true)? > 0 {}
        Ok(())
    }
}

/// Room behind what is in the output.
fn behind(output: &mut Vec<u8>) -> OutBuffer<'_, Vec<u8>> {
    output.reserve(ROOM);
    let end = output.len();
    OutBuffer::around_pos(output, end)
}

impl fmt::Debug for Zstd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Zstd").finish_non_exhaustive()
    }
}
