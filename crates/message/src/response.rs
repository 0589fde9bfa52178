//! Responses.

use http::{Extensions, StatusCode};
use std::{string::String, sync::LazyLock};

use crate::{Body, FieldName, Headers, InvalidHeader, KnownHeader};

/// A response, as a [`Handler`](crate::Handler) returns it.
///
/// The server adds `Date` if it is missing, and the fields of the connection: the framing (`Content-Length`,
/// `Transfer-Encoding`) and `Connection`. It uses a handler's values of these only if they agree with the body.
#[derive(Debug, Default)]
pub struct Response {
    /// 200, 404, …
    pub status: StatusCode,
    /// The header fields.
    pub headers: Headers,
    /// The body.
    pub body: Body,
    /// Values for the middleware around the handler. The server drops them when the response is sent, or cannot be sent
    /// any more.
    pub extensions: Extensions,
}

impl Response {
    /// A response with this status, without header fields or a body.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self { status, headers: Headers::new(), body: Body::empty(), extensions: Extensions::new() }
    }

    /// A 200 with `text/plain; charset=utf-8`.
    #[must_use]
    pub fn text(text: impl Into<Text>) -> Self {
        static HEADERS: LazyLock<Headers> = LazyLock::new(|| content_type("text/plain; charset=utf-8"));
        Self { headers: HEADERS.clone(), body: text.into().0, ..Self::default() }
    }

    /// A 200 with `text/html; charset=utf-8`.
    #[must_use]
    pub fn html(text: impl Into<Text>) -> Self {
        static HEADERS: LazyLock<Headers> = LazyLock::new(|| content_type("text/html; charset=utf-8"));
        Self { headers: HEADERS.clone(), body: text.into().0, ..Self::default() }
    }

    /// A response with a short text that names the status: `404 Not Found`.
    #[must_use]
    pub fn plain_status(status: StatusCode) -> Self {
        let mut text = String::with_capacity(40);
        text.push_str(status.as_str());
        text.push(' ');
        text.push_str(status.canonical_reason().unwrap_or("Unknown"));
        text.push('\n');
        Self { status, ..Self::text(text) }
    }

    /// Adds a header field with trusted text. For untrusted text, use [`Self::try_with`].
    ///
    /// # Panics
    ///
    /// If the name is not a token or the value contains a control character.
    #[must_use]
    #[track_caller]
    pub fn with(mut self, name: impl FieldName, value: impl AsRef<[u8]>) -> Self {
        if let Err(error) = self.headers.append(name, value) {
            panic!("{error}");
        }
        self
    }

    /// Adds a header field.
    ///
    /// # Errors
    ///
    /// If the name is not a token or the value contains a control character.
    pub fn try_with(mut self, name: impl FieldName, value: impl AsRef<[u8]>) -> Result<Self, InvalidHeader> {
        self.headers.append(name, value)?;
        Ok(self)
    }

    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }
}

/// Header fields that are built once; their clones share the memory.
fn content_type(value: &str) -> Headers {
    let mut headers = Headers::new();
    // A constant of this file is a valid value.
    let _ = headers.append(KnownHeader::ContentType, value);
    headers
}

/// Text for [`Response::text`]: static or owned.
#[derive(Debug)]
pub struct Text(Body);

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}
