//! What can be wrong, and whose fault it is.

use core::fmt;

use serow_message::StatusCode;

/// The peer broke a rule. The connection cannot go on: where its next message begins is no longer sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The first line is none (RFC 9112 §3, §4).
    StartLine,
    /// The method is longer than any in use (RFC 9112 §3: 501).
    MethodTooLong,
    /// The request target is none of the four forms (RFC 9112 §3.2).
    Target,
    /// The request target is longer than [`Limits::target`](crate::Limits::target) (RFC 9112 §3: 414).
    TargetTooLong,
    /// A major version that is not 1, or a minor one that does not exist (RFC 9110 §15.6.6: 505).
    Version,
    /// A line ends in a bare LF or holds a bare CR (RFC 9112 §2.2: a peer that takes it otherwise sees other messages).
    LineEnd,
    /// A malformed name, white space before the colon, a control character in a value, or a folded line (RFC 9112 §5).
    Field,
    /// The head or the trailers are longer than [`Limits::head`](crate::Limits::head) or have too many fields (RFC 6585
    /// §5: 431).
    HeadTooLarge,
    /// An HTTP/1.1 request without `Host`, with several, or with one that is none (RFC 9112 §3.2).
    Host,
    /// `Content-Length` is no number, or stands there more than once (RFC 9112 §6.3).
    ContentLength,
    /// Both `Content-Length` and `Transfer-Encoding` (RFC 9112 §6.1: request smuggling).
    BothLengths,
    /// A transfer coding that does not exist, `chunked` twice or not last, or any in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    TransferEncoding,
    /// A transfer coding that exists, but not here (RFC 9112 §6.1: 501).
    UnsupportedCoding,
    /// An expectation that is not `100-continue` (RFC 9110 §10.1.1: 417).
    Expectation,
    /// CONNECT with content, which it does not have (RFC 9110 §9.3.6).
    ConnectWithContent,
    /// A server switches to a protocol that nobody asked for (RFC 9110 §7.8).
    Upgrade,
    /// A server sends bytes while no response is due (RFC 9112 §6.3: they are not a response).
    Unsolicited,
    /// More informational responses to one request than [`Limits::informational`](crate::Limits::informational).
    TooManyInformational,
    /// A chunk's size is no hexadecimal number, too large, or its line or its end is malformed (RFC 9112 §7.1).
    Chunk,
    /// Chunk extensions beyond all use (RFC 9112 §7.1.1: a limit is due).
    ChunkExtensions,
    /// The body is longer than [`Limits::body`](crate::Limits::body) (RFC 9110 §15.5.14: 413).
    BodyTooLarge,
    /// The connection ended in the middle of a message (RFC 9112 §8).
    Incomplete,
}

impl ProtocolError {
    /// The status a server answers with before it closes the connection.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::MethodTooLong | Self::UnsupportedCoding => StatusCode::NOT_IMPLEMENTED,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::StartLine => "the first line is not one of HTTP",
            Self::MethodTooLong => "the method is too long",
            Self::Target => "the request target is malformed",
            Self::TargetTooLong => "the request target is too long",
            Self::Version => "this version of HTTP is not spoken here",
            Self::LineEnd => "a line does not end in CR LF",
            Self::Field => "a header field is malformed",
            Self::HeadTooLarge => "the header fields are too many or too long",
            Self::Host => "the Host field is missing, repeated or malformed",
            Self::ContentLength => "Content-Length is malformed or repeated",
            Self::BothLengths => "both Content-Length and Transfer-Encoding",
            Self::TransferEncoding => "Transfer-Encoding is malformed",
            Self::UnsupportedCoding => "this transfer coding is not supported",
            Self::Expectation => "this expectation cannot be met",
            Self::ConnectWithContent => "CONNECT has no content",
            Self::Upgrade => "a switch of protocols that nobody asked for",
            Self::Unsolicited => "bytes that no request asked for",
            Self::TooManyInformational => "too many informational responses",
            Self::Chunk => "a chunk is malformed",
            Self::ChunkExtensions => "chunk extensions are too long",
            Self::BodyTooLarge => "the body is too large",
            Self::Incomplete => "the connection ended within a message",
        })
    }
}

impl core::error::Error for ProtocolError {}
