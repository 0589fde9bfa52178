//! Records, the unit of FastCGI: a header of eight bytes, the content, and padding (FastCGI 1.0 §3.3).

use alloc::vec::Vec;

/// The types of records (FastCGI 1.0 §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordType {
    /// Web server: a request begins (§5.1).
    BeginRequest = 1,
    /// Web server: the request is to be ended (§5.4).
    AbortRequest = 2,
    /// Application: the request has ended (§5.5).
    EndRequest = 3,
    /// Web server: name-value pairs of the request (§5.2).
    Params = 4,
    /// Web server: the body of the request (§5.3).
    Stdin = 5,
    /// Application: the response (§5.3).
    Stdout = 6,
    /// Application: error messages (§5.3).
    Stderr = 7,
    /// Web server: the file that a filter is to change (§5.3).
    Data = 8,
    /// Web server: asks for the application's variables (§4.1).
    GetValues = 9,
    /// Application: its variables (§4.1).
    GetValuesResult = 10,
    /// Application: it does not know a type of management records (§4.2).
    UnknownType = 11,
}

impl RecordType {
    /// The type with this number.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::BeginRequest,
            2 => Self::AbortRequest,
            3 => Self::EndRequest,
            4 => Self::Params,
            5 => Self::Stdin,
            6 => Self::Stdout,
            7 => Self::Stderr,
            8 => Self::Data,
            9 => Self::GetValues,
            10 => Self::GetValuesResult,
            11 => Self::UnknownType,
            _ => return None,
        })
    }
}

/// The header of a record (FastCGI 1.0 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The version of the protocol; 1 is the only one.
    pub version: u8,
    /// The number of the type, which may be unknown: see [`RecordType::of_number`].
    pub record_type: u8,
    /// The request to which the record belongs; 0 for management records.
    pub request_id: u16,
    /// Bytes of content.
    pub content_length: u16,
    /// Bytes behind the content that the receiver ignores.
    pub padding_length: u8,
}

impl RecordHeader {
    /// The header of a record without padding.
    #[must_use]
    pub const fn new(record_type: RecordType, request_id: u16, content_length: u16) -> Self {
        Self { version: VERSION, record_type: record_type as u8, request_id, content_length, padding_length: 0 }
    }

    /// The same with padding, so that the record fills whole words of eight bytes (FastCGI 1.0 §3.3 recommends it).
    #[must_use]
    pub const fn padded(mut self) -> Self {
        self.padding_length = (self.content_length.wrapping_neg() % 8) as u8;
        self
    }

    /// The bytes of the header.
    #[must_use]
    pub const fn encode(self) -> [u8; RECORD_HEADER_LENGTH] {
        let ([id_high, id_low], [high, low]) = (self.request_id.to_be_bytes(), self.content_length.to_be_bytes());
        [self.version, self.record_type, id_high, id_low, high, low, self.padding_length, 0]
    }

    /// The header in these bytes. Any value is possible; the last byte is reserved, and ignored.
    #[must_use]
    pub const fn decode(bytes: [u8; RECORD_HEADER_LENGTH]) -> Self {
        let [version, record_type, id_high, id_low, high, low, padding_length, _] = bytes;
        Self {
            version,
            record_type,
            request_id: u16::from_be_bytes([id_high, id_low]),
            content_length: u16::from_be_bytes([high, low]),
            padding_length,
        }
    }

    /// Bytes of content and padding.
    pub(crate) fn length(self) -> usize {
        usize::from(self.content_length) + usize::from(self.padding_length)
    }
}

/// Writes a record whose content is at most 65,535 bytes; padded as applications do.
pub(crate) fn write_record(record_type: RecordType, request_id: u16, content: &[u8], output: &mut Vec<u8>) {
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    let header = RecordHeader::new(record_type, request_id, length).padded();
    output.extend_from_slice(&header.encode());
    output.extend_from_slice(&content[..usize::from(length)]);
    output.extend_from_slice(&[0; 7][..usize::from(header.padding_length)]);
}

/// The length of a record's header in bytes.
pub const RECORD_HEADER_LENGTH: usize = 8;

/// The most bytes of content that this crate puts into a record: the largest multiple of eight, as php-fpm has it.
pub const MAX_PIECE_LENGTH: usize = 65_528;

/// FastCGI 1.0 §8.
pub(crate) const VERSION: u8 = 1;

/// The id of management records (FastCGI 1.0 §3.3).
pub(crate) const MANAGEMENT: u16 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_decoded_as_they_were_encoded() {
        for number in 0..=u8::MAX {
            let bytes = [1, number, 2, 3, 4, 5, number, 0];
            let header = RecordHeader::decode(bytes);
            assert_eq!(header.encode(), bytes);
            assert_eq!(RecordType::of_number(number).map_or(number, |known| known as u8), number);
            assert_eq!(RecordType::of_number(number).is_some(), (1..=11).contains(&number));
        }
        let header = RecordHeader::new(RecordType::Stdout, 1, 0x0102);
        assert_eq!(header.encode(), [1, 6, 0, 1, 1, 2, 0, 0]);
    }

    #[test]
    fn padding_fills_words_of_eight_bytes() {
        for (content, padding) in [(0, 0), (1, 7), (7, 1), (8, 0), (65_528, 0), (65_535, 1)] {
            let header = RecordHeader::new(RecordType::Stdout, 1, content).padded();
            assert_eq!(header.padding_length, padding, "{content}");
            let mut output = Vec::new();
            write_record(RecordType::Stdout, 1, &alloc::vec![b'x'; usize::from(content)], &mut output);
            assert_eq!(output.len(), RECORD_HEADER_LENGTH + header.length());
        }
    }
}
