//! Taking records from the front of the input, wherever the bytes are split.

use bytes::{Buf, Bytes, BytesMut};

use crate::{
    ProtocolError,
    record::{RECORD_HEADER_LENGTH, RecordHeader, VERSION},
};

/// Takes records from the input.
#[derive(Debug, Default)]
pub(crate) enum RecordReader {
    /// At the beginning of a record, or within one that is taken whole.
    #[default]
    Between,
    /// Within the content of a stream's record: so many bytes are to come, and padding behind them.
    Content { header: RecordHeader, left: u16 },
    /// So many bytes of padding are to come.
    Padding(u8),
}

/// Whether the content of a record is taken in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As it comes; a record without content ends the stream.
    Stream,
    /// Whole, with its padding.
    Whole,
}

impl RecordReader {
    /// Takes a whole record, or a piece of a stream's record. The header is passed to `judge` as soon as it is complete,
    /// which may be more than once.
    pub(crate) fn receive(
        &mut self,
        input: &mut BytesMut,
        judge: impl Fn(RecordHeader) -> Result<Shape, ProtocolError>,
    ) -> Result<Option<(RecordHeader, Bytes)>, ProtocolError> {
        loop {
            match *self {
                Self::Padding(left) => {
                    let skipped = input.len().min(usize::from(left));
                    input.advance(skipped);
                    if skipped < usize::from(left) {
                        *self = Self::Padding(left - skipped as u8);
                        return Ok(None);
                    }
                    *self = Self::Between;
                }
                Self::Content { header, left } => {
                    let taken = input.len().min(usize::from(left));
                    if taken == 0 {
                        return Ok(None);
                    }
                    *self = match left - taken as u16 {
                        0 => Self::Padding(header.padding_length),
                        left => Self::Content { header, left },
                    };
                    return Ok(Some((header, input.split_to(taken).freeze())));
                }
                Self::Between => {
                    let Some(bytes) = input.first_chunk::<RECORD_HEADER_LENGTH>() else { return Ok(None) };
                    let header = RecordHeader::decode(*bytes);
                    if header.version != VERSION {
                        return Err(ProtocolError::Version(header.version));
                    }
                    match judge(header)? {
                        Shape::Whole => return Ok(take_whole(input, header)),
                        Shape::Stream => input.advance(RECORD_HEADER_LENGTH),
                    }
                    if header.content_length == 0 {
                        *self = Self::Padding(header.padding_length);
                        return Ok(Some((header, Bytes::new())));
                    }
                    *self = Self::Content { header, left: header.content_length };
                }
            }
        }
    }
}

fn take_whole(input: &mut BytesMut, header: RecordHeader) -> Option<(RecordHeader, Bytes)> {
    if input.len() < RECORD_HEADER_LENGTH + header.length() {
        return None;
    }
    input.advance(RECORD_HEADER_LENGTH);
    let mut content = input.split_to(header.length()).freeze();
    content.truncate(usize::from(header.content_length));
    Some((header, content))
}
