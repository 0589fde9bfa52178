//! The errors of field sections, and of the encoder stream and the decoder stream.

use core::fmt;

use serow_streams::compression::CodingError;

/// A field section cannot be decoded: the connection has to end with QPACK_DECOMPRESSION_FAILED (RFC 9204 §2.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// It ends within its prefix or within a field line.
    Truncated,
    /// A number that no encoder has reason to send (RFC 9204 §4.1.1).
    Integer,
    /// Huffman code with the end-of-string symbol in it, or with wrong padding (RFC 7541 §5.2).
    Huffman,
    /// An index of no entry: the tables do not have it, not any more, or the section says that it does not need it
    /// (RFC 9204 §2.2.3).
    Index,
    /// A Required Insert Count that no encoder which obeys our settings can have (RFC 9204 §4.5.1.1).
    InsertCount,
    /// A Base below zero (RFC 9204 §4.5.1.2).
    Base,
    /// More blocked streams than we announced with SETTINGS_QPACK_BLOCKED_STREAMS (RFC 9204 §2.1.2).
    Blocked,
    /// The peer sends sections and does not let us send what acknowledges them.
    Unread,
}

impl DecodeError {
    /// QPACK_DECOMPRESSION_FAILED (RFC 9204 §6).
    pub const CODE: u64 = 0x0200;

    /// For the log, and the reason phrase of CONNECTION_CLOSE.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Truncated => "a field section ends within a field",
            Self::Integer => "a number in a field section is too large",
            Self::Huffman => "a string in a field section has a wrong Huffman code",
            Self::Index => "a field section refers to an entry that does not exist",
            Self::InsertCount => "the Required Insert Count of a field section is invalid",
            Self::Base => "the Base of a field section is negative",
            Self::Blocked => "more streams are blocked than SETTINGS_QPACK_BLOCKED_STREAMS allows",
            Self::Unread => "the peer does not read the QPACK decoder stream",
        }
    }
}

impl From<CodingError> for DecodeError {
    #[inline]
    fn from(error: CodingError) -> Self {
        match error {
            CodingError::Truncated => Self::Truncated,
            CodingError::Integer => Self::Integer,
            CodingError::Huffman => Self::Huffman,
        }
    }
}

/// An instruction of the peer's encoder stream is invalid: the connection has to end with QPACK_ENCODER_STREAM_ERROR
/// (RFC 9204 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderStreamError {
    /// A number that no encoder has reason to send (RFC 9204 §4.1.1).
    Integer,
    /// Huffman code with the end-of-string symbol in it, or with wrong padding (RFC 7541 §5.2).
    Huffman,
    /// A name or a duplicate of an entry that the tables do not have (RFC 9204 §2.2.3).
    Index,
    /// A capacity above what we announced with SETTINGS_QPACK_MAX_TABLE_CAPACITY (RFC 9204 §4.3.1).
    Capacity,
    /// An entry that is larger than the table (RFC 9204 §3.2.2).
    TooLarge,
}

impl EncoderStreamError {
    /// QPACK_ENCODER_STREAM_ERROR (RFC 9204 §6).
    pub const CODE: u64 = 0x0201;

    /// For the log, and the reason phrase of CONNECTION_CLOSE.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Integer => "a number on the QPACK encoder stream is too large",
            Self::Huffman => "a string on the QPACK encoder stream has a wrong Huffman code",
            Self::Index => "the QPACK encoder stream refers to an entry that does not exist",
            Self::Capacity => "the capacity of the dynamic table exceeds SETTINGS_QPACK_MAX_TABLE_CAPACITY",
            Self::TooLarge => "an entry on the QPACK encoder stream is larger than the dynamic table",
        }
    }
}

/// An instruction of the peer's decoder stream is invalid: the connection has to end with QPACK_DECODER_STREAM_ERROR
/// (RFC 9204 §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecoderStreamError {
    /// A number that no decoder has reason to send (RFC 9204 §4.1.1).
    Integer,
    /// An acknowledgement for a stream of which no section waits for one (RFC 9204 §4.4.1).
    Acknowledgement,
    /// An increment of zero, or beyond the entries that we have sent (RFC 9204 §4.4.3).
    Increment,
}

impl DecoderStreamError {
    /// QPACK_DECODER_STREAM_ERROR (RFC 9204 §6).
    pub const CODE: u64 = 0x0202;

    /// For the log, and the reason phrase of CONNECTION_CLOSE.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Integer => "a number on the QPACK decoder stream is too large",
            Self::Acknowledgement => "the QPACK decoder stream acknowledges a section that was not sent",
            Self::Increment => "the QPACK decoder stream acknowledges entries that were not sent, or none",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reason())
    }
}

impl fmt::Display for EncoderStreamError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reason())
    }
}

impl fmt::Display for DecoderStreamError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reason())
    }
}

impl core::error::Error for DecodeError {}
impl core::error::Error for EncoderStreamError {}
impl core::error::Error for DecoderStreamError {}
