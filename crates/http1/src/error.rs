//! The error of a peer that violates HTTP/1.1.

use core::fmt;

use serow_message::StatusCode;

/// The peer violated the protocol. The connection has to be closed, since the start of its next message is not certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The first line is malformed (RFC 9112 §3, §4).
    StartLine,
    /// The method is longer than any in use (RFC 9112 §3: 501).
    MethodTooLong,
    /// The request target has none of the four forms (RFC 9112 §3.2).
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
    /// An HTTP/1.1 request without `Host`, with several, or with an invalid one (RFC 9112 §3.2).
    Host,
    /// `Content-Length` is not a number, or is repeated (RFC 9112 §6.3).
    ContentLength,
    /// Both `Content-Length` and `Transfer-Encoding` (RFC 9112 §6.1: request smuggling).
    BothLengths,
    /// A transfer coding that does not exist, `chunked` twice or not last, or any in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    TransferEncoding,
    /// A transfer coding that is not supported (RFC 9112 §6.1: 501).
    UnsupportedCoding,
    /// An expectation that is not `100-continue` (RFC 9110 §10.1.1: 417).
    Expectation,
    /// CONNECT with content, which it does not have (RFC 9110 §9.3.6).
    ConnectWithContent,
    /// A server switches to a protocol that was not requested (RFC 9110 §7.8).
    Upgrade,
    /// A server sends bytes while no response is due (RFC 9112 §6.3: they are not a response).
    Unsolicited,
    /// More informational responses to one request than [`Limits::informational`](crate::Limits::informational).
    TooManyInformational,
    /// The size of a chunk is not a hexadecimal number or too large, or its line or its end is malformed (RFC 9112
    /// §7.1).
    Chunk,
    /// Chunk extensions are too long (RFC 9112 §7.1.1 requires a limit).
    ChunkExtensions,
    /// The body is longer than [`Limits::body`](crate::Limits::body) (RFC 9110 §15.5.14: 413).
    BodyTooLarge,
    /// The connection ended in the middle of a message (RFC 9112 §8).
    Incomplete,
}

impl ProtocolError {
    /// The status of the response that a server sends before it closes the connection.
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
            Self::StartLine => "the first line is not an HTTP request or status line",
            Self::MethodTooLong => "the method is too long",
            Self::Target => "the request target is malformed",
            Self::TargetTooLong => "the request target is too long",
            Self::Version => "this version of HTTP is not supported",
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
            Self::Upgrade => "an upgrade that was not requested",
            Self::Unsolicited => "bytes that no request asked for",
            Self::TooManyInformational => "too many informational responses",
            Self::Chunk => "a chunk is malformed",
            Self::ChunkExtensions => "chunk extensions are too long",
            Self::BodyTooLarge => "the body is too large",
            Self::Incomplete => "the connection ended in the middle of a message",
        })
    }
}

impl core::error::Error for ProtocolError {}
