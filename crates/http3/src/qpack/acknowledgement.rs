//! The instructions of the decoder stream (RFC 9204 §4.4), as an encoder receives them.

use alloc::vec::Vec;

use serow_streams::{
    StreamId,
    compression::{CodingError, integer},
};

use super::{
    DecoderStreamError,
    instruction::{ACKNOWLEDGE, CANCEL},
};

/// An instruction of the decoder stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledgement {
    /// The oldest section of the stream that refers to the table was decoded.
    Section(StreamId),
    /// No other section of the stream will be decoded.
    Cancellation(StreamId),
    /// So many more entries were received.
    Increment(u64),
}

/// Reads the instructions of the decoder stream, in pieces of any length.
#[derive(Debug, Default)]
pub(super) struct Acknowledgements {
    /// The beginning of an instruction whose rest has not arrived: less than the ten bytes of the longest number.
    partial: Vec<u8>,
}

impl Acknowledgements {
    pub(super) const fn new() -> Self {
        Self { partial: Vec::new() }
    }

    /// Takes the next instruction from the front of the input, all of which is taken if none is whole.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> Result<Option<Acknowledgement>, DecoderStreamError> {
        if self.partial.is_empty() {
            let begin = *input;
            let whole = decode(input)?;
            if whole.is_none() {
                self.partial.extend_from_slice(begin);
            }
            return Ok(whole);
        }
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.partial.push(byte);
            if let Some(whole) = decode(&mut &self.partial[..])? {
                self.partial.clear();
                return Ok(Some(whole));
            }
        }
        Ok(None)
    }
}

fn decode(input: &mut &[u8]) -> Result<Option<Acknowledgement>, DecoderStreamError> {
    let Some(&first) = input.first() else { return Ok(None) };
    let instruction = match first {
        ACKNOWLEDGE.. => integer::decode_long::<7>(input).map(StreamId::of_quic).map(Acknowledgement::Section),
        CANCEL.. => integer::decode_long::<6>(input).map(StreamId::of_quic).map(Acknowledgement::Cancellation),
        _ => integer::decode_long::<6>(input).map(Acknowledgement::Increment),
    };
    match instruction {
        Ok(instruction) => Ok(Some(instruction)),
        Err(CodingError::Truncated) => Ok(None),
        Err(_) => Err(DecoderStreamError::Integer),
    }
}
