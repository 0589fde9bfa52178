//! Bodies that an application has chunked itself (RFC 9112 §7.1), as its Transfer-Encoding shows. The server decides
//! how a body is sent: it may well be HTTP/2.

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
        Some(coding) if coding.eq_ignore_ascii_case("chunked") => Body::stream(Unchunked { body, place: Place::START }),
        _ => body,
    }
}

struct Unchunked {
    body: Body,
    place: Place,
}

/// Where in the chunks it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a size, of which there are these digits so far.
    Size(Option<u64>),
    /// After a size.
    Line(u64),
    /// In data, of which this many bytes follow.
    Data(u64),
    /// After data.
    Gap,
    /// After the last chunk. Trailers are ignored.
    End,
}

impl Place {
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
                *self = if left > 0 { Self::Data(left) } else { Self::Gap };
            } else {
                *self = self.step(*byte).ok_or("the body is not chunked, though its Transfer-Encoding says so")?;
                rest = behind;
            }
        }
        Ok(data.into())
    }

    /// The state after this byte, which is not data.
    fn step(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Size(Some(size)) | Self::Line(size), b'\n') => {
                Some(if size > 0 { Self::Data(size) } else { Self::End })
            }
            (Self::Line(size), _) => Some(Self::Line(size)),
            (Self::Size(Some(size)), b'\r' | b';' | b' ') => Some(Self::Line(size)),
            (Self::Size(size), digit) => {
                let digit = char::from(digit).to_digit(16)?;
                Some(Self::Size(Some(size.unwrap_or(0).checked_mul(16)?.checked_add(digit.into())?)))
            }
            (Self::Gap, b'\r') => Some(Self::Gap),
            (Self::Gap, b'\n') => Some(Self::START),
            (Self::End, _) => Some(Self::End),
            (Self::Gap | Self::Data(_), _) => None,
        }
    }
}

impl http_body::Body for Unchunked {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match ready!(self.body.poll_next(context)) {
            Some(Ok(frame)) => frame,
            None if self.place != Place::End => return Poll::Ready(Some(Err("the last chunk is missing".into()))),
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
            let mut place = Place::START;
            let data: Vec<u8> = chunked.chunks(length).flat_map(|piece| place.take(piece).unwrap()).collect();
            assert_eq!((&data[..], place), (&b"abc0123456789\n"[..], Place::End), "pieces of {length}");
        }
    }

    #[test]
    fn malformed_chunked_bodies_are_refused() {
        for wrong in ["Hello", "\r\n", "3\r\nabcd", "-1\r\n", "11111111111111111\r\n"] {
            let mut place = Place::START;
            assert!(place.take(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
