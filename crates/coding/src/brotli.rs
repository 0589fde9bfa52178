//! Brotli.

use std::{fmt, io, io::Write, mem::swap};

use brotli::CompressorWriter;

/// An encoder of brotli.
pub(crate) struct Brotli {
    writer: Box<CompressorWriter<Vec<u8>>>,
}

impl Brotli {
    pub(crate) fn new(level: u32, window_bits: u32) -> Self {
        Self { writer: Box::new(CompressorWriter::new(Vec::new(), OUTPUT_BUFFER, level, window_bits)) }
    }

    pub(crate) fn write(&mut self, piece: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        self.run_with(output, |writer| writer.write_all(piece))
    }

    pub(crate) fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.run_with(output, Write::flush)
    }

    pub(crate) fn finish(mut self, output: &mut Vec<u8>) {
        swap(self.writer.get_mut(), output);
        *output = self.writer.into_inner();
    }

    /// The writer has an output of its own; here it is that of the caller.
    fn run_with(
        &mut self,
        output: &mut Vec<u8>,
        run: impl FnOnce(&mut CompressorWriter<Vec<u8>>) -> io::Result<()>,
    ) -> io::Result<()> {
        swap(self.writer.get_mut(), output);
        let outcome = run(&mut self.writer);
        swap(self.writer.get_mut(), output);
        outcome
    }
}

impl fmt::Debug for Brotli {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Brotli").finish_non_exhaustive()
    }
}

/// What brotli's own programs use.
const OUTPUT_BUFFER: usize = 4096;
