//! The error of a number or a string.

/// A number or a string cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingError {
    /// It ends too early.
    Truncated,
    /// A number that no encoder has reason to send (RFC 7541 §5.1).
    Integer,
    /// Huffman code with the end-of-string symbol in it, or with wrong padding (RFC 7541 §5.2).
    Huffman,
}
