//! What can be wrong with a field block.

use core::fmt;

/// A field block that cannot be decoded; what follows on the connection cannot be either, since the tables differ now.
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
    /// A size update behind a field, or larger than what was announced, or none where one was due (RFC 7541 §4.2, §6.3).
    SizeUpdate,
}

impl DecodeError {
    /// For the log, and GOAWAY's debug data.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Truncated => "a field block ends within a field",
            Self::Integer => "a number in a field block is too large",
            Self::Index => "a field block refers to an entry that is not there",
            Self::Huffman => "a string in a field block has a wrong Huffman code",
            Self::SizeUpdate => "the size of the header table changes where or as it must not",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reason())
    }
}

impl core::error::Error for DecodeError {}
