//! Responses.

use http::{Extensions, StatusCode};
use std::{string::String, thread::LocalKey, thread_local};

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
        thread_local!(static HEADERS: Headers = content_type(PLAIN));
        Self { headers: of_thread(&HEADERS, PLAIN), body: text.into().0, ..Self::default() }
    }

    /// A 200 with `text/html; charset=utf-8`.
    #[must_use]
    pub fn html(text: impl Into<Text>) -> Self {
        thread_local!(static HEADERS: Headers = content_type(HTML));
        Self { headers: of_thread(&HEADERS, HTML), body: text.into().0, ..Self::default() }
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

const PLAIN: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// The fields that this thread has built once. Their clones share the memory, and each changes the number of references:
/// if the threads shared them, each response of one worker would wait for those of the others.
fn of_thread(headers: &'static LocalKey<Headers>, media_type: &str) -> Headers {
    // A thread that ends may have dropped them.
    headers.try_with(Clone::clone).unwrap_or_else(|_| content_type(media_type))
}

/// Header fields that are built once.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_no_memory_of_their_responses() {
        let responses: [fn(&'static str) -> Response; 2] = [|text| Response::text(text), |text| Response::html(text)];
        for respond in responses {
            let place = |response: &Response| response.headers.get(KnownHeader::ContentType).unwrap().as_ptr() as usize;
            let (first, second) = (respond("a"), respond("b"));
            assert_eq!(place(&first), place(&second));
            let other = std::thread::spawn(move || place(&respond("c"))).join().unwrap();
            assert_ne!(place(&first), other);
        }
    }
}
