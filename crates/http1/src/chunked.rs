//! The chunked transfer coding (RFC 9112 §7.1), receiving side.
//!
//! ```text
//!            size line            data               CRLF
//!   ┌─► Size ──────────► Data ──────────► DataEnd ──────────┐
//!   └───────────────────────────────────────────────────────┘
//!        │ size 0
//!        └─► Trailers ──────────► (end)
//! ```

use bytes::{Bytes, BytesMut};
use serow_message::{Headers, content::NO_TRAILERS};

use crate::{
    Limits, ProtocolError, chunk_extension,
    head::{HeadProgress, receive_trailers},
};

/// Where in the coding the next byte stands.
#[derive(Debug, Default)]
pub(crate) struct Chunked {
    state: State,
    extensions: usize,
    trailers: HeadProgress,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailers,
}

/// A decoded piece of the coding.
pub(crate) enum Piece {
    Data(Bytes),
    End(Option<Headers>),
}

impl Chunked {
    /// Takes the next piece from the front of the input; a chunk longer than `room` is refused before its data.
    pub(crate) fn receive(
        &mut self,
        input: &mut BytesMut,
        room: u64,
        limits: &Limits,
    ) -> Result<Option<Piece>, ProtocolError> {
        loop {
            match self.state {
                State::Size => match self.receive_size(input, limits)? {
                    None => return Ok(None),
                    Some(0) => self.state = State::Trailers,
                    Some(size) if size > room => return Err(ProtocolError::BodyTooLarge),
                    Some(size) => self.state = State::Data(size),
                },
                State::Data(_) if input.is_empty() => return Ok(None),
                State::Data(left) => {
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                    let left = left - count as u64;
                    self.state = if left == 0 { State::DataEnd } else { State::Data(left) };
                    return Ok(Some(Piece::Data(input.split_to(count).freeze())));
                }
                State::DataEnd => match &input[..] {
                    [b'\r', b'\n', ..] => {
                        let _ = input.split_to(2);
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => return Ok(None),
                    _ => return Err(ProtocolError::Chunk),
                },
                State::Trailers => {
                    return Ok(receive_trailers(&mut self.trailers, input, limits)?.map(|mut trailers| {
                        // RFC 9110 §6.5.1: fields that frame or route a message have no meaning behind it.
                        for name in NO_TRAILERS {
                            trailers.remove(name);
                        }
                        Piece::End((!trailers.is_empty()).then_some(trailers))
                    }));
                }
            }
        }
    }

    /// Takes a size line: 1*HEXDIG [ chunk-ext ] CRLF.
    fn receive_size(&mut self, input: &mut BytesMut, limits: &Limits) -> Result<Option<u64>, ProtocolError> {
        let mut size = 0u64;
        let mut digits = 0;
        while let Some(digit) = input.get(digits).and_then(|byte| char::from(*byte).to_digit(16)) {
            digits += 1;
            if digits > MAX_DIGITS {
                return Err(ProtocolError::Chunk);
            }
            size = size << 4 | u64::from(digit);
        }
        if digits == 0 && !input.is_empty() {
            return Err(ProtocolError::Chunk);
        }
        let Some(extension) = chunk_extension::length(&input[digits..], limits.chunk_extensions - self.extensions)?
        else {
            return Ok(None);
        };
        self.extensions += extension;
        let _ = input.split_to(digits + extension + 2);
        Ok(Some(size))
    }
}

/// A size of more digits would not fit 64 bits, or hides behind zeros.
const MAX_DIGITS: usize = 16;
