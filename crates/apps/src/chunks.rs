//! Bodies that an application of Rack has chunked itself (RFC 9112 §7.1), as its Transfer-Encoding shows. The server
//! decides how a body is sent: it may well be HTTP/2.
//!
//! Only exactly chunked bodies are decoded: a body that is not chunked must not lose bytes because it looks similar.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::Frame;
use serow_message::{Body, BoxError, Headers, KnownHeader};

/// The decoded body, if these headers say that it is chunked.
pub(crate) fn unchunked(body: Body, headers: &Headers) -> Body {
    match headers.get_str(KnownHeader::TransferEncoding) {
        Some(coding) if coding.eq_ignore_ascii_case("chunked") => {
            Body::stream(Unchunked { body, place: ChunkPosition::START })
        }
        _ => body,
    }
}

struct Unchunked {
    body: Body,
    place: ChunkPosition,
}

/// Where in the chunks it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkPosition {
    /// In a size, of which there are these digits so far.
    Size(Option<u64>),
    /// In the extensions of a chunk of this size.
    Extension(u64),
    /// In the line break behind a size.
    SizeEnd(u64),
    /// In data, of which this many bytes follow.
    Data(u64),
    /// Behind data.
    DataEnd(LineBreak),
    /// In the line of a trailer, which is ignored, and whether it has a colon.
    Trailer { has_colon: bool },
    /// In the line break behind a trailer.
    TrailerEnd,
    /// At the beginning of a line behind the last chunk.
    Trailers,
    /// In the last line break.
    LastLine,
    /// Behind the last byte.
    End,
}

/// The next byte of a line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineBreak {
    Return,
    Feed,
}

impl ChunkPosition {
    const START: Self = Self::Size(None);

    /// The data in a piece.
    fn take(&mut self, piece: &[u8]) -> Result<Bytes, BoxError> {
        let mut data = Vec::with_capacity(piece.len());
        let mut rest = piece;
        while let Some((byte, behind)) = rest.split_first() {
            if let Self::Data(left) = *self {
                let length = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                data.extend_from_slice(&rest[..length]);
                rest = &rest[length..];
                let left = left - length as u64;
                *self = if left > 0 { Self::Data(left) } else { Self::DataEnd(LineBreak::Return) };
            } else {
                *self = self.step(*byte).ok_or("the body is not chunked, though its Transfer-Encoding says so")?;
                rest = behind;
            }
        }
        Ok(data.into())
    }

    /// The state after this byte, which is not data.
    fn step(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Size(Some(size)) | Self::Extension(size), b'\r') => Self::SizeEnd(size),
            (Self::Size(Some(size)), b';' | b' ' | b'\t') => Self::Extension(size),
            (Self::Size(size), digit) => {
                let digit = char::from(digit).to_digit(16)?;
                Self::Size(Some(size.unwrap_or(0).checked_mul(16)?.checked_add(digit.into())?))
            }
            (Self::Extension(size), byte) if byte != b'\n' => Self::Extension(size),
            (Self::SizeEnd(0), b'\n') | (Self::TrailerEnd, b'\n') => Self::Trailers,
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::DataEnd(LineBreak::Return), b'\r') => Self::DataEnd(LineBreak::Feed),
            (Self::DataEnd(LineBreak::Feed), b'\n') => Self::START,
            (Self::Trailers, b'\r') => Self::LastLine,
            (Self::Trailers, byte) => Self::Trailer { has_colon: false }.step(byte)?,
            (Self::Trailer { has_colon: true }, b'\r') => Self::TrailerEnd,
            (Self::Trailer { .. }, b'\r' | b'\n') => return None,
            (Self::Trailer { has_colon }, byte) => Self::Trailer { has_colon: has_colon || byte == b':' },
            (Self::LastLine, b'\n') => Self::End,
            _ => return None,
        })
    }
}

impl http_body::Body for Unchunked {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match ready!(self.body.poll_next(context)) {
            Some(Ok(frame)) => frame,
            None if self.place != ChunkPosition::End => {
                return Poll::Ready(Some(Err("the last chunk is missing".into())));
            }
            other => return Poll::Ready(other),
        };
        Poll::Ready(Some(match frame.into_data() {
            Ok(piece) => self.place.take(&piece).map(Frame::data),
            Err(trailers) => Ok(trailers),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_bodies_are_decoded_at_every_split() {
        let chunked = b"3\r\nabc\r\n00a;x=y\r\n0123456789\r\n1 \r\n\n\r\n0\r\nX: y\r\n\r\n";
        for length in 1..=chunked.len() {
            let mut place = ChunkPosition::START;
            let data: Vec<u8> = chunked.chunks(length).flat_map(|piece| place.take(piece).unwrap()).collect();
            assert_eq!((&data[..], place), (&b"abc0123456789\n"[..], ChunkPosition::End), "pieces of {length}");
        }
    }

    #[test]
    fn malformed_chunked_bodies_are_refused() {
        let broken = ["Hello", "\r\n", "3\r\nabcd", "-1\r\n", "11111111111111111\r\n", "0\n1\n2\n", "3\nabc\n0\n\n"];
        let unfinished = ["0\r\n1\r\n2\r\n", "0\r\n\r\n0\r\n\r\n", "0\r\n\r\nmore", "3\r\nabc\n", "0;a\nb\r\n\r\n"];
        for wrong in broken.iter().chain(&unfinished) {
            let mut place = ChunkPosition::START;
            assert!(place.take(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
