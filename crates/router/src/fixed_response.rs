//! A response that is always the same.

use std::{error::Error, fmt};

use bytes::Bytes;
use serow_message::{Headers, InvalidHeader, KnownHeader, Response, StatusCode, Unanswered};
use serow_variables::{Form, Source, Text};

use crate::header_changes::HeaderChanges;

/// A response that is made once and given again and again; another of it costs two reference counts.
///
/// ```
/// use serow_router::FixedResponse;
///
/// let healthy = FixedResponse::new(200)?.with_body("ok\n", "text/plain")?;
/// let gone = FixedResponse::new(410)?;
/// # Ok::<(), serow_router::InvalidResponse>(())
/// ```
///
/// It answers HEAD as GET: the server leaves out the body, and Content-Length stays as it is.
#[derive(Clone, Debug)]
pub struct FixedResponse {
    status: StatusCode,
    headers: Headers,
    body: Bytes,
    /// The text that the body of each response is made from, if it has variables, and how they are escaped there.
    text: Option<Box<(Text, Form)>>,
    /// Whether the client gets none of it.
    is_unanswered: bool,
}

impl FixedResponse {
    /// A response with this status. One of an error (from 400 on) says in a line what the status means; others have no
    /// body.
    ///
    /// # Errors
    ///
    /// A status that is none of a final response: 200 to 599.
    pub fn new(status: u16) -> Result<Self, InvalidResponse> {
        let status = StatusCode::from_u16(status).ok().filter(|status| (200..600).contains(&status.as_u16()));
        Ok(Self::of(status.ok_or(InvalidResponse::Status)?))
    }

    /// No response: HTTP/1.1 closes the connection, HTTP/2 and 3 reset the stream. The access log has the status 444, as that
    /// of nginx.
    #[must_use]
    pub fn unanswered() -> Self {
        let status = StatusCode::from_u16(444).unwrap_or(StatusCode::BAD_REQUEST);
        Self { status, headers: Headers::new(), body: Bytes::new(), text: None, is_unanswered: true }
    }

    /// Gives it a body, and says in Content-Type what that is.
    ///
    /// # Errors
    ///
    /// A body where the status allows none, and a media type that cannot be in a header.
    pub fn with_body(mut self, body: impl Into<Bytes>, media_type: &str) -> Result<Self, InvalidResponse> {
        // RFC 9110 §15.3.5, §15.3.6 and §15.4.5.
        if matches!(self.status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED) {
            return Err(InvalidResponse::Body);
        }
        self.headers.insert(KnownHeader::ContentType, media_type).map_err(InvalidResponse::MediaType)?;
        self.body = body.into();
        Ok(self)
    }

    /// Gives it a body with variables. Their values are escaped as the media type demands: for HTML, or for strings of
    /// JSON.
    ///
    /// # Errors
    ///
    /// As [`Self::with_body`].
    pub fn with_text(self, text: Text, media_type: &str) -> Result<Self, InvalidResponse> {
        match text.constant() {
            Some(body) => self.with_body(body.to_owned(), media_type),
            None => {
                let response = self.with_body(Bytes::new(), media_type)?;
                Ok(Self { text: Some(Box::new((text, Form::of_media_type(media_type)))), ..response })
            }
        }
    }

    /// The same, with memory that no other one shares.
    pub(crate) fn detached(&self) -> Self {
        let (headers, body) = (self.headers.detached(), Bytes::copy_from_slice(&self.body));
        Self { headers, body, ..self.clone() }
    }

    pub(crate) fn has_variables(&self) -> bool {
        self.text.is_some()
    }

    /// Whether a variable is what the route's path matched.
    pub(crate) fn has_captures(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.0.has_captures())
    }

    /// The response to a request.
    pub(crate) fn filled(&self, source: &Source<'_>) -> Response {
        let mut response = self.response();
        if let Some(text) = &self.text {
            let mut body = Vec::new();
            text.0.append(source, text.1, &mut body);
            response.body = Bytes::from(body).into();
        }
        response
    }

    /// Changes its header.
    #[must_use]
    pub fn with_headers(mut self, changes: &HeaderChanges) -> Self {
        changes.apply(self.status, &mut self.headers);
        self
    }

    /// The response once more.
    #[must_use]
    pub fn response(&self) -> Response {
        let mut response = Response {
            status: self.status,
            headers: self.headers.clone(),
            body: self.body.clone().into(),
            ..Response::default()
        };
        if self.is_unanswered {
            response.extensions.insert(Unanswered);
        }
        response
    }

    /// The status alone, with a line that names it where it is an error's.
    pub(crate) fn of(status: StatusCode) -> Self {
        let bare = Self { status, headers: Headers::new(), body: Bytes::new(), text: None, is_unanswered: false };
        if status.as_u16() < 400 {
            return bare;
        }
        let line = Response::plain_status(status);
        match line.body.into_kind() {
            serow_message::BodyKind::Bytes(body) => Self { headers: line.headers, body, ..bare },
            _ => bare,
        }
    }
}

/// Why a response cannot be. The text says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidResponse {
    /// The status is none of a final response.
    Status,
    /// The status allows no body.
    Body,
    /// The media type cannot be in a header.
    MediaType(InvalidHeader),
}

impl fmt::Display for InvalidResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Status => "not the status of a response: write one from 200 to 599",
            Self::Body => "a response with the status 204, 205 or 304 has no body: leave it out",
            Self::MediaType(_) => "a media type must not hold control characters: write it as in text/plain",
        })
    }
}

impl Error for InvalidResponse {}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use super::*;

    fn text(response: Response) -> String {
        let body = pin!(response.body.collect(100));
        match body.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(bytes)) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_without_a_response_has_its_mark() {
        for (response, expected) in [(FixedResponse::unanswered(), true), (FixedResponse::new(404).unwrap(), false)] {
            for response in [response.clone(), response.detached()] {
                assert_eq!(response.response().extensions.get::<Unanswered>().is_some(), expected);
            }
        }
    }

    #[test]
    fn bodies_by_status() {
        let cases = [
            (200, None, Ok("")),
            (200, Some("ok\n"), Ok("ok\n")),
            (204, None, Ok("")),
            (204, Some("x"), Err(InvalidResponse::Body)),
            (205, Some("x"), Err(InvalidResponse::Body)),
            (304, Some("x"), Err(InvalidResponse::Body)),
            (404, None, Ok("404 Not Found\n")),
            (410, Some("gone"), Ok("gone")),
            (599, None, Ok("599 Unknown\n")),
            (100, None, Err(InvalidResponse::Status)),
            (199, None, Err(InvalidResponse::Status)),
            (600, None, Err(InvalidResponse::Status)),
            (0, None, Err(InvalidResponse::Status)),
        ];
        for (status, body, expected) in cases {
            let made = FixedResponse::new(status).and_then(|response| match body {
                Some(body) => response.with_body(body, "text/plain"),
                None => Ok(response),
            });
            let given = made.map(|made| {
                assert_eq!(made.response().status, status);
                text(made.response())
            });
            assert_eq!(given, expected.map(str::to_owned), "{status} {body:?}");
        }
    }

    #[test]
    fn header_fields() {
        let changes = HeaderChanges::new([("X-A", "1"), ("Content-Type", "text/css")]).unwrap();
        let response = FixedResponse::new(200).unwrap().with_body("x", "text/plain").unwrap().with_headers(&changes);
        let fields: Vec<_> = response.response().headers.iter().map(|(_, value)| value.to_vec()).collect();
        assert_eq!(fields, [b"1".to_vec(), b"text/css".to_vec()]);
        let refused = FixedResponse::new(200).unwrap().with_body("x", "a\r\nb: c");
        assert_eq!(refused.err(), Some(InvalidResponse::MediaType(InvalidHeader::Value)));
    }
}
