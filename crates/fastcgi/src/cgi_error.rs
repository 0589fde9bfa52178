//! Errors of a script's response.

use core::{error::Error, fmt};

/// The script's response is invalid. A client receives 502, or a truncated message if the head has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgiError {
    /// This line of the header section, counted from 1, is not a header field.
    Field(usize),
    /// The first line begins as a status line, and is not one of HTTP/1.
    StatusLine,
    /// `Status` is not a number from 200 to 599, perhaps with a reason behind it.
    Status,
    /// The status is this informational one. A script has one response, and that must be final: a client would wait for
    /// another.
    InformationalStatus(u16),
    /// `Content-Length` is not a number, or is repeated.
    ContentLength,
    /// The header section is longer than [`SectionLimits::bytes`](crate::SectionLimits::bytes).
    SectionTooLong,
    /// The header section has more fields than [`SectionLimits::fields`](crate::SectionLimits::fields).
    TooManyFields,
    /// The response ended within the header section, or there was none.
    NoSection,
    /// The body ended before the length that `Content-Length` announced. The client must not take it for complete.
    Short {
        /// The announced length.
        expected: u64,
        /// The bytes that came.
        received: u64,
    },
}

impl fmt::Display for CgiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Field(line) => write!(formatter, "line {line} of the script's response is not a header field"),
            Self::StatusLine => formatter.write_str("the script's response has a malformed status line"),
            Self::Status => formatter.write_str("the script's status is not a number from 200 to 599"),
            Self::InformationalStatus(status) => {
                write!(formatter, "the script's status is {status}, which cannot be that of a response")
            }
            Self::ContentLength => formatter.write_str("the script's Content-Length is malformed or repeated"),
            Self::SectionTooLong => formatter.write_str("the script's header fields are too long"),
            Self::TooManyFields => formatter.write_str("the script sent too many header fields"),
            Self::NoSection => formatter.write_str("the script's response ended before its header fields did"),
            Self::Short { expected, received } => {
                write!(formatter, "the script announced a body of {expected} bytes and sent {received}")
            }
        }
    }
}

impl Error for CgiError {}
