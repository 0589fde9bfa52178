//! A client's frames, rewritten: those of compressed messages as frames of the message itself.
//!
//! Pure: bytes in, bytes out. Frames that are not compressed pass as they are, also invalid ones, which the WebSocket
//! behind this refuses; so it is the only judge of frames, and of the length of messages.

use std::{error::Error, fmt};

use flate2::{Decompress, FlushDecompress, Status};

use super::TAIL;

/// Rewrites the frames of one client.
#[derive(Debug)]
pub(super) struct ClientFrames {
    /// The maximum size of a message.
    limit: u64,
    state: InputState,
    /// The compressed message that has begun and not ended: the bytes it had so far.
    message: Option<u64>,
    /// Exists within a message only, since it takes 45 KiB.
    decompress: Option<Decompress>,
}

/// The next part of the input.
#[derive(Clone, Copy, Debug)]
enum InputState {
    /// A header, of which so many bytes are known.
    Header { bytes: [u8; MAX_HEADER], known: usize },
    /// So many bytes that pass as they are.
    Verbatim { left: u64 },
    /// So many bytes of a compressed message, and the end of the message after them.
    Compressed { left: u64, mask: [u8; 4], place: usize, is_last: bool },
    /// The end of a message, [`TAIL`], which is not sent: so many bytes of it were read.
    Tail { read: usize },
}

/// Why a compressed message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// It is not deflate, or refers to something that is not there.
    Invalid,
    /// It is longer than messages may be, even compressed.
    TooLong,
}

impl ClientFrames {
    /// For messages of at most `limit` bytes. The limit of compressed bytes is the same: a message without content could
    /// have any length.
    pub(super) fn new(limit: usize) -> Self {
        let state = InputState::Header { bytes: [0; MAX_HEADER], known: 0 };
        Self { limit: limit as u64, state, message: None, decompress: None }
    }

    /// Whether there is output that needs no further input.
    pub(super) fn has_more(&self) -> bool {
        matches!(self.state, InputState::Tail { .. })
    }

    /// Rewrites input until it ends or some kilobytes of output are there; returns how many bytes of it were read.
    ///
    /// # Errors
    ///
    /// As [`InflateError`] says; nothing that follows can be read then.
    pub(super) fn rewrite(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<usize, InflateError> {
        let mut read = 0;
        while output.len() < ENOUGH && (read < input.len() || self.has_more()) {
            read += self.step(input.get(read..).unwrap_or_default(), output)?;
        }
        Ok(read)
    }

    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<usize, InflateError> {
        match self.state {
            InputState::Header { mut bytes, known } => {
                let (Some(&byte), Some(place)) = (input.first(), bytes.get_mut(known)) else { return Ok(0) };
                *place = byte;
                let known = known + 1;
                self.state = match header_length(&bytes, known) == Some(known) {
                    true => self.begin_frame(&bytes[..known], output)?,
                    false => InputState::Header { bytes, known },
                };
                Ok(1)
            }
            InputState::Verbatim { left } => {
                let length = input.len().min(usize::try_from(left).unwrap_or(usize::MAX)).min(ENOUGH);
                output.extend_from_slice(&input[..length]);
                self.state = after_payload(left - length as u64, |left| InputState::Verbatim { left });
                Ok(length)
            }
            InputState::Compressed { left, mask, place, is_last } => {
                let mut plain = [0; PIECE];
                let length = input.len().min(usize::try_from(left).unwrap_or(usize::MAX)).min(PIECE);
                for (index, (plain, byte)) in plain.iter_mut().zip(&input[..length]).enumerate() {
                    *plain = byte ^ mask[(place + index) % 4];
                }
                let read = self.inflate(&plain[..length], output)?;
                let left = left - read as u64;
                self.state = match is_last && left == 0 {
                    true => InputState::Tail { read: 0 },
                    false => after_payload(left, |left| InputState::Compressed {
                        left,
                        mask,
                        place: (place + read) % 4,
                        is_last,
                    }),
                };
                Ok(read)
            }
            InputState::Tail { read } => {
                let before = output.len();
                let read = read + self.inflate(&TAIL[read..], output)?;
                self.state = InputState::Tail { read };
                if read == TAIL.len() && output.len() == before {
                    self.end_message(output);
                }
                Ok(0)
            }
        }
    }

    /// Decides what becomes of a frame.
    fn begin_frame(&mut self, header: &[u8], output: &mut Vec<u8>) -> Result<InputState, InflateError> {
        let (first, length) = (header[0], payload_length(header));
        let is_compressed = match (first & OPCODE, first & RESERVED, self.message) {
            (CONTINUATION, 0, Some(_)) => true,
            // §6.1: the bit belongs to the first frame of a message.
            (TEXT | BINARY, COMPRESSED, None) => true,
            _ => false,
        };
        // One that is not masked is refused by the WebSocket.
        let Some(mask) = mask(header).filter(|_| is_compressed) else {
            output.extend_from_slice(header);
            return Ok(after_payload(length, |left| InputState::Verbatim { left }));
        };
        let total = self.message.unwrap_or(0).saturating_add(length);
        if total > self.limit {
            return Err(InflateError::TooLong);
        }
        if self.message.is_none() {
            // Now and not with the first content, so that frames between those of the message find it begun.
            write_frame(first & OPCODE, &[], output);
        }
        self.message = Some(total);
        Ok(match (length, first & FINAL != 0) {
            (0, true) => InputState::Tail { read: 0 },
            (0, false) => after_payload(0, |left| InputState::Verbatim { left }),
            (left, is_last) => InputState::Compressed { left, mask, place: 0, is_last },
        })
    }

    /// Puts what a piece contains into a frame; returns how many bytes of it were read.
    fn inflate(&mut self, piece: &[u8], output: &mut Vec<u8>) -> Result<usize, InflateError> {
        let decompress = self.decompress.get_or_insert_with(|| Decompress::new(false));
        let mut content = [0; PIECE];
        let (read_before, written_before) = (decompress.total_in(), decompress.total_out());
        let status =
            decompress.decompress(piece, &mut content, FlushDecompress::Sync).map_err(|_| InflateError::Invalid)?;
        // Both are at most PIECE.
        let read = (decompress.total_in() - read_before) as usize;
        let written = (decompress.total_out() - written_before) as usize;
        match status {
            // §7.2.3.4: a sender may end the stream of deflate within a message, and begin another.
            Status::StreamEnd => decompress.reset(false),
            Status::Ok | Status::BufError => {
                if read == 0 && written == 0 && !piece.is_empty() {
                    return Err(InflateError::Invalid);
                }
            }
        }
        if written > 0 {
            write_frame(CONTINUATION, &content[..written], output);
        }
        Ok(read)
    }

    fn end_message(&mut self, output: &mut Vec<u8>) {
        write_frame(FINAL | CONTINUATION, &[], output);
        self.message = None;
        self.decompress = None;
        self.state = InputState::Header { bytes: [0; MAX_HEADER], known: 0 };
    }
}

/// The next state where so many bytes of a payload are left.
fn after_payload(left: u64, rest: impl FnOnce(u64) -> InputState) -> InputState {
    match left {
        0 => InputState::Header { bytes: [0; MAX_HEADER], known: 0 },
        left => rest(left),
    }
}

/// The length of a header, as soon as enough of it is known (RFC 6455 §5.2).
fn header_length(bytes: &[u8; MAX_HEADER], known: usize) -> Option<usize> {
    if known < 2 {
        return None;
    }
    let length = match bytes[1] & !MASKED {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    Some(2 + length + if bytes[1] & MASKED == 0 { 0 } else { 4 })
}

fn payload_length(header: &[u8]) -> u64 {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    match header[1] & !MASKED {
        126 => number(&header[2..4]),
        127 => number(&header[2..10]),
        short => short.into(),
    }
}

fn mask(header: &[u8]) -> Option<[u8; 4]> {
    match header[1] & MASKED {
        0 => None,
        _ => header.last_chunk().copied(),
    }
}

/// Writes a frame as of a client, with a mask that changes nothing.
fn write_frame(first: u8, payload: &[u8], output: &mut Vec<u8>) {
    output.push(first);
    match payload.len() {
        short @ 0..126 => output.push(MASKED | short as u8),
        // At most PIECE.
        medium => {
            output.push(MASKED | 126);
            output.extend_from_slice(&(medium as u16).to_be_bytes());
        }
    }
    output.extend_from_slice(&[0; 4]);
    output.extend_from_slice(payload);
}

impl fmt::Display for InflateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Invalid => "invalid data in a compressed message",
            Self::TooLong => "a compressed message that is too long",
        })
    }
}

impl Error for InflateError {}

/// RFC 6455 §5.2.
const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
/// RFC 7692 §6: RSV1.
const COMPRESSED: u8 = 0x40;
const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const MASKED: u8 = 0x80;
const MAX_HEADER: usize = 14;

/// Bytes that are unmasked and decompressed at a time, on the stack.
const PIECE: usize = 4096;

/// How much output is enough for one call: a small message can contain a thousand times as much.
const ENOUGH: usize = 8192;

#[cfg(test)]
#[path = "client_frames/tests.rs"]
mod tests;
