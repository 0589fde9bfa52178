//! Brotli.

use std::{fmt, io};

use brotli::enc::{
    InputPair, InputReferenceMut, StandardAlloc, StaticCommand,
    encode::{BrotliEncoderOperation, BrotliEncoderParameter, BrotliEncoderStateStruct},
    interface::PredictionModeContextMap,
};

/// An encoder of brotli.
///
/// Not the crate's `CompressorWriter`: that has the whole encoder compiled once for pieces and once for their ends, which takes
/// 0.3 MB of a program; and it encodes what is left when it is dropped, although nobody gets it.
pub(crate) struct Brotli {
    state: Box<BrotliEncoderStateStruct<StandardAlloc>>,
}

impl Brotli {
    pub(crate) fn new(level: u32, window_bits: u32) -> Self {
        let mut state = Box::new(BrotliEncoderStateStruct::new(StandardAlloc::default()));
        state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_QUALITY, level);
        state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_LGWIN, window_bits);
        Self { state }
    }

    pub(crate) fn write(&mut self, piece: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        self.run(BrotliEncoderOperation::BROTLI_OPERATION_PROCESS, piece, output)
    }

    pub(crate) fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.run(BrotliEncoderOperation::BROTLI_OPERATION_FLUSH, &[], output)
    }

    pub(crate) fn finish(mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.run(BrotliEncoderOperation::BROTLI_OPERATION_FINISH, &[], output)
    }

    /// Encodes a piece, until all of it is taken and, for the other operations, all of the output is there.
    fn run(&mut self, operation: BrotliEncoderOperation, piece: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        let (mut left, mut taken, mut buffer) = (piece.len(), 0, [0; OUTPUT_BUFFER]);
        loop {
            let (mut room, mut made) = (buffer.len(), 0);
            let is_right = self.state.compress_stream(
                operation,
                &mut left,
                piece,
                &mut taken,
                &mut room,
                &mut buffer,
                &mut made,
                &mut None,
                &mut ignore_metablock,
            );
            output.extend_from_slice(&buffer[..made]);
            if !is_right {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let is_done = match operation {
                BrotliEncoderOperation::BROTLI_OPERATION_FINISH => self.state.is_finished(),
                _ => left == 0 && !self.state.has_more_output(),
            };
            if is_done {
                return Ok(());
            }
        }
    }
}

/// Ignores what the encoder reports of each block. One function, so that the encoder is compiled once.
fn ignore_metablock(
    _: &mut PredictionModeContextMap<InputReferenceMut<'_>>,
    _: &mut [StaticCommand],
    _: InputPair<'_>,
    _: &mut StandardAlloc,
) {
}

impl fmt::Debug for Brotli {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Brotli").finish_non_exhaustive()
    }
}

/// The size that brotli's own programs use.
const OUTPUT_BUFFER: usize = 4096;
