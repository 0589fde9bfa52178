//! Messages.

use bytes::Bytes;
use tokio_tungstenite::tungstenite::{self, Utf8Bytes, protocol::frame::coding::CloseCode as TungsteniteCode};

/// A reason for which a WebSocket is closed, as a number (RFC 6455 §7.4): see [`close_code`].
pub type CloseCode = u16;

/// A message of a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text.
    Text(Utf8Bytes),
    /// Bytes.
    Binary(Bytes),
    /// A ping; the answer is sent without the handler's help.
    Ping(Bytes),
    /// The answer to a ping.
    Pong(Bytes),
    /// The end, with its reason.
    Close(Option<CloseFrame>),
}

/// Why a WebSocket is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// The reason as a number.
    pub code: CloseCode,
    /// The reason as text, at most 123 bytes.
    pub reason: Utf8Bytes,
}

impl Message {
    /// A text message.
    pub fn text(text: impl Into<Utf8Bytes>) -> Self {
        Self::Text(text.into())
    }

    /// A message of bytes.
    pub fn binary(bytes: impl Into<Bytes>) -> Self {
        Self::Binary(bytes.into())
    }

    /// The content as bytes; that of a close is its reason.
    #[must_use]
    pub fn into_data(self) -> Bytes {
        match self {
            Self::Text(text) => text.into(),
            Self::Binary(data) | Self::Ping(data) | Self::Pong(data) => data,
            Self::Close(None) => Bytes::new(),
            Self::Close(Some(frame)) => frame.reason.into(),
        }
    }

    /// The content as text.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn into_text(self) -> Result<Utf8Bytes, axum::Error> {
        match self {
            Self::Text(text) => Ok(text),
            other => Utf8Bytes::try_from(other.into_data()).map_err(axum::Error::new),
        }
    }

    /// The content as text.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn to_text(&self) -> Result<&str, axum::Error> {
        match self {
            Self::Text(text) => Ok(text.as_str()),
            Self::Binary(data) | Self::Ping(data) | Self::Pong(data) => {
                std::str::from_utf8(data).map_err(axum::Error::new)
            }
            Self::Close(None) => Ok(""),
            Self::Close(Some(frame)) => Ok(&frame.reason),
        }
    }

    pub(super) fn into_tungstenite(self) -> tungstenite::Message {
        match self {
            Self::Text(text) => tungstenite::Message::Text(text),
            Self::Binary(data) => tungstenite::Message::Binary(data),
            Self::Ping(data) => tungstenite::Message::Ping(data),
            Self::Pong(data) => tungstenite::Message::Pong(data),
            Self::Close(frame) => tungstenite::Message::Close(frame.map(|CloseFrame { code, reason }| {
                tungstenite::protocol::CloseFrame { code: TungsteniteCode::from(code), reason }
            })),
        }
    }

    /// Nothing for a single frame, which is never received.
    pub(super) fn of_tungstenite(message: tungstenite::Message) -> Option<Self> {
        Some(match message {
            tungstenite::Message::Text(text) => Self::Text(text),
            tungstenite::Message::Binary(data) => Self::Binary(data),
            tungstenite::Message::Ping(data) => Self::Ping(data),
            tungstenite::Message::Pong(data) => Self::Pong(data),
            tungstenite::Message::Close(frame) => {
                Self::Close(frame.map(|frame| CloseFrame { code: frame.code.into(), reason: frame.reason }))
            }
            tungstenite::Message::Frame(_) => return None,
        })
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<&[u8]> for Message {
    fn from(bytes: &[u8]) -> Self {
        Self::Binary(Bytes::copy_from_slice(bytes))
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Binary(bytes.into())
    }
}

impl From<Message> for Vec<u8> {
    fn from(message: Message) -> Self {
        message.into_data().into()
    }
}

/// The numbers of RFC 6455 §7.4.1 and IANA's registry.
pub mod close_code {
    use super::CloseCode;

    /// The purpose of the connection is fulfilled.
    pub const NORMAL: CloseCode = 1000;
    /// The endpoint goes away: a server that stops, or a page that is left.
    pub const AWAY: CloseCode = 1001;
    /// The protocol was violated.
    pub const PROTOCOL: CloseCode = 1002;
    /// A kind of data that the endpoint does not accept.
    pub const UNSUPPORTED: CloseCode = 1003;
    /// No number was sent.
    pub const STATUS: CloseCode = 1005;
    /// The connection was closed without a close frame.
    pub const ABNORMAL: CloseCode = 1006;
    /// The data does not fit its kind, for instance text that is not UTF-8.
    pub const INVALID: CloseCode = 1007;
    /// A message violates the endpoint's policy.
    pub const POLICY: CloseCode = 1008;
    /// A message is too large.
    pub const SIZE: CloseCode = 1009;
    /// The client misses an extension.
    pub const EXTENSION: CloseCode = 1010;
    /// The server failed unexpectedly.
    pub const ERROR: CloseCode = 1011;
    /// The server restarts.
    pub const RESTART: CloseCode = 1012;
    /// The server is overloaded: try again.
    pub const AGAIN: CloseCode = 1013;
}
