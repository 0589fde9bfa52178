//! Conversions into a response, for the values that handlers return.
//!
//! ```
//! use serow_message::{Request, Response, StatusCode};
//!
//! async fn greet(request: Request) -> Result<String, (StatusCode, &'static str)> {
//!     match request.target.query() {
//!         Some(name) => Ok(format!("Hello, {name}!")),
//!         None => Err((StatusCode::BAD_REQUEST, "Who are you?")),
//!     }
//! }
//! # fn is_handler(_: impl serow_message::Handler) {}
//! # is_handler(greet);
//! ```

use core::convert::Infallible;
use std::{string::String, vec::Vec};

use bytes::Bytes;

use crate::{Body, KnownHeader, Response, StatusCode};

/// A short text that names the status.
impl From<StatusCode> for Response {
    fn from(status: StatusCode) -> Self {
        Self::plain_status(status)
    }
}

/// A 200 without content.
impl From<()> for Response {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<&'static str> for Response {
    fn from(text: &'static str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Response {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// A 200 with `application/octet-stream`.
impl From<Bytes> for Response {
    fn from(bytes: Bytes) -> Self {
        Self::default().with(KnownHeader::ContentType, "application/octet-stream").body(bytes)
    }
}

/// A 200 with `application/octet-stream`.
impl From<Vec<u8>> for Response {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

/// A 200 without a content type.
impl From<Body> for Response {
    fn from(body: Body) -> Self {
        Self::default().body(body)
    }
}

/// A response with another status.
impl<T: Into<Response>> From<(StatusCode, T)> for Response {
    fn from((status, response): (StatusCode, T)) -> Self {
        response.into().status(status)
    }
}

/// Both what a handler wants to send and its errors are responses.
impl<T: Into<Response>, E: Into<Response>> From<Result<T, E>> for Response {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(response) => response.into(),
            Err(error) => error.into(),
        }
    }
}

/// For functions that cannot fail, and return a `Result` as hyper's and tower's services do.
impl From<Infallible> for Response {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// JSON, with `application/json`: cargo feature `json`. A value that cannot be written, for instance a map whose keys are
/// not strings, becomes a 500.
///
/// ```
/// use serow_message::{Json, Request};
///
/// async fn numbers(_: Request) -> Json<[u32; 3]> {
///     Json([1, 2, 3])
/// }
/// # fn is_handler(_: impl serow_message::Handler) {}
/// # is_handler(numbers);
/// ```
#[cfg(feature = "json")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

#[cfg(feature = "json")]
impl<T: serde::Serialize> From<Json<T>> for Response {
    fn from(Json(value): Json<T>) -> Self {
        match serde_json::to_vec(&value) {
            Ok(text) => Self::default().with(KnownHeader::ContentType, "application/json").body(text),
            Err(error) => {
                tracing::error!(%error, "a response cannot be written as JSON");
                Self::plain_status(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}
