//! The error of a field block.

use core::fmt;

use serow_streams::compression::CodingError;

/// A field block cannot be decoded; the connection has to end, since the tables of both sides differ now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// It ends within a field.
    Truncated,
    /// A number that no encoder has reason to send (RFC 7541 §5.1).
    Integer,
    /// An index that no entry of the tables has (RFC 7541 §2.3.3).
    Index,
    /// Huffman code with the end-of-string symbol in it, or with wrong padding (RFC 7541 §5.2).
    Huffman,
    /// A size update behind a field, larger than the announced limit, or missing where it is required (RFC 7541 §4.2,
    /// §6.3).
    SizeUpdate,
}

impl DecodeError {
    /// For the log, and GOAWAY's debug data.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Truncated => "a field block ends within a field",
            Self::Integer => "a number in a field block is too large",
            Self::Index => "a field block refers to an entry that does not exist",
            Self::Huffman => "a string in a field block has a wrong Huffman code",
            Self::SizeUpdate => "a size update of the header table is invalid",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reason())
    }
}

impl core::error::Error for DecodeError {}

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
