//! Requests as they are sent, over either version of HTTP.

use std::{error::Error, fmt};

use bytes::{Bytes, BytesMut};
use serow_http1::{Event, Limits, ProtocolError, Server};
use serow_message::{Headers, KnownHeader, Method, RequestHead, Target, Version};

/// Requests that are sent in one go: one, or several that are pipelined (HTTP/1.1).
#[derive(Clone, Debug)]
pub struct Batch {
    /// As HTTP/1.1 sends them, one behind the other.
    text: Bytes,
    /// The same requests, parsed: HTTP/2 and HTTP/3 send them, and the method says how a response is framed.
    requests: Vec<Written>,
}

/// A request with its body.
#[derive(Clone, Debug)]
pub struct Written {
    /// The head. Of its fields, length, host and connection follow from the rest.
    pub head: RequestHead,
    /// The body.
    pub body: Bytes,
}

/// Why no request can be made of what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchError {
    /// The method is invalid (RFC 9110 §9.1).
    Method(String),
    /// The path is invalid (RFC 9112 §3.2).
    Path(String),
    /// The header field is invalid (RFC 9110 §5).
    Field(String),
    /// The text is not a request.
    Text(ProtocolError),
    /// The text ends within a request, or has none.
    Incomplete,
}

/// The parts of a request.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// GET, POST, …
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The value of the field `Host`, unless the headers have one.
    pub host: &'a str,
    /// Header fields, sent in this order. A length is not to be among them.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: Bytes,
    /// Whether the connection is to be closed behind the response.
    pub close: bool,
}

impl Batch {
    /// One request.
    ///
    /// # Errors
    ///
    /// When a part cannot be sent.
    pub fn new(parts: &Parts<'_>) -> Result<Self, BatchError> {
        let method =
            Method::from_bytes(parts.method.as_bytes()).map_err(|_| BatchError::Method(parts.method.to_owned()))?;
        let path = Bytes::copy_from_slice(parts.path.as_bytes());
        let target = Target::parse(path, false).map_err(|_| BatchError::Path(parts.path.to_owned()))?;
        let mut headers = Headers::new();
        let mut append = |name: &str, value: &str| {
            headers.append(name, value).map_err(|_| BatchError::Field(format!("{name}: {value}")))
        };
        if !parts.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            append("Host", parts.host)?;
        }
        for (name, value) in parts.headers {
            append(name, value)?;
        }
        let mut text = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
        headers.write_lines(&mut text, &[KnownHeader::ContentLength, KnownHeader::TransferEncoding]);
        // RFC 9110 §8.6: a length also where there is nothing, if the method foresees content.
        if !parts.body.is_empty() || matches!(method, Method::POST | Method::PUT | Method::PATCH) {
            text.extend_from_slice(format!("Content-Length: {}\r\n", parts.body.len()).as_bytes());
        }
        if parts.close && !headers.contains(KnownHeader::Connection) {
            text.extend_from_slice(b"Connection: close\r\n");
        }
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(&parts.body);
        let head = RequestHead { method, target, version: Version::HTTP_11, headers };
        Ok(Self { text: text.into(), requests: vec![Written { head, body: parts.body.clone() }] })
    }

    /// The requests that somebody wrote out, as they are.
    ///
    /// # Errors
    ///
    /// A text that is none, or not whole.
    pub fn of_text(text: Bytes) -> Result<Self, BatchError> {
        let mut input = BytesMut::from(&text[..]);
        let mut requests = Vec::new();
        // A server of this project takes no other requests; but what is tested may be one that does, so they are sent.
        let limits = Limits { head: MOST, fields: MOST, target: MOST, ..Limits::default() };
        while !input.is_empty() {
            let mut machine = Server::new(limits);
            let Some(Event::Head(request)) = machine.receive(&mut input).map_err(BatchError::Text)? else {
                return Err(BatchError::Incomplete);
            };
            let mut body = BytesMut::new();
            let mut is_whole = request.framing.length() == Some(0);
            while !is_whole {
                match machine.receive(&mut input).map_err(BatchError::Text)? {
                    Some(Event::Data(data)) => body.extend_from_slice(&data),
                    Some(Event::End(_)) => is_whole = true,
                    Some(Event::Head(_)) | None => return Err(BatchError::Incomplete),
                }
            }
            requests.push(Written { head: request.head, body: body.freeze() });
        }
        if requests.is_empty() { Err(BatchError::Incomplete) } else { Ok(Self { text, requests }) }
    }

    /// As HTTP/1.1 sends them.
    #[must_use]
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// The requests; at least one.
    #[must_use]
    pub fn requests(&self) -> &[Written] {
        &self.requests
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(text) => write!(formatter, "{text:?} is not a method; write one as in GET or POST"),
            Self::Path(text) => {
                write!(formatter, "{text:?} is not a path; percent-encode special characters, as in %20")
            }
            Self::Field(text) => write!(formatter, "{text:?} is not a header field; write one as in 'Name: value'"),
            Self::Text(error) => write!(formatter, "the text is not a request: {error}"),
            Self::Incomplete => formatter.write_str("the text is not a complete request: an empty line ends its head"),
        }
    }
}

impl Error for BatchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Text(error) => Some(error),
            Self::Method(_) | Self::Path(_) | Self::Field(_) | Self::Incomplete => None,
        }
    }
}

/// Bytes of a head that somebody wants to send: whatever fits into the memory.
const MOST: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(method: &'a str, path: &'a str, headers: &'a [(String, String)], body: &'static str) -> Parts<'a> {
        Parts { method, path, host: "a:80", headers, body: Bytes::from_static(body.as_bytes()), close: false }
    }

    #[test]
    fn requests_as_they_are_sent() {
        let fields = [("X-A".to_owned(), "1".to_owned()), ("X-B".to_owned(), "2".to_owned())];
        let host = [("host".to_owned(), "other".to_owned())];
        let cases = [
            (parts("GET", "/", &[], ""), "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n"),
            (
                Parts { close: true, ..parts("GET", "/", &[], "") },
                "GET / HTTP/1.1\r\nHost: a:80\r\nConnection: close\r\n\r\n",
            ),
            (parts("GET", "/?q", &fields, ""), "GET /?q HTTP/1.1\r\nHost: a:80\r\nX-A: 1\r\nX-B: 2\r\n\r\n"),
            (parts("GET", "/", &host, ""), "GET / HTTP/1.1\r\nhost: other\r\n\r\n"),
            (parts("POST", "/", &[], ""), "POST / HTTP/1.1\r\nHost: a:80\r\nContent-Length: 0\r\n\r\n"),
            (parts("PUT", "/", &[], "abc"), "PUT / HTTP/1.1\r\nHost: a:80\r\nContent-Length: 3\r\n\r\nabc"),
        ];
        for (parts, expected) in cases {
            let batch = Batch::new(&parts).unwrap();
            assert_eq!(batch.text(), expected.as_bytes());
            // And they are read as what they are.
            let read = Batch::of_text(batch.text().clone()).unwrap();
            assert_eq!(read.requests().len(), 1);
            assert_eq!(read.requests()[0].head.target.as_str(), parts.path);
            assert_eq!(read.requests()[0].body, parts.body);
        }
    }

    #[test]
    fn invalid_parts_are_refused() {
        let field = [("a b".to_owned(), "1".to_owned())];
        let value = [("a".to_owned(), "1\r\nb: 2".to_owned())];
        for (parts, expected) in [
            (parts("G T", "/", &[], ""), "\"G T\" is not a method; write one as in GET or POST"),
            (parts("GET", "/ a", &[], ""), "\"/ a\" is not a path; percent-encode special characters, as in %20"),
            (parts("GET", "/", &field, ""), "\"a b: 1\" is not a header field; write one as in 'Name: value'"),
            (parts("GET", "/", &value, ""), "\"a: 1\\r\\nb: 2\" is not a header field; write one as in 'Name: value'"),
        ] {
            assert_eq!(Batch::new(&parts).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn several_in_one_text() {
        let text = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxyHEAD /3 HTTP/1.1\r\nHost: a\r\n\r\n";
        let batch = Batch::of_text(text.into()).unwrap();
        let found: Vec<_> = batch.requests().iter().map(|one| (one.head.target.path(), &one.body[..])).collect();
        assert_eq!(found, [("/1", &b""[..]), ("/2", b"xy"), ("/3", b"")]);
        for end in [0, 1, 20, text.len() - 1] {
            assert_eq!(Batch::of_text(Bytes::from(&text[..end])).unwrap_err(), BatchError::Incomplete, "{end}");
        }
        assert!(matches!(Batch::of_text("nonsense\r\n\r\n".into()), Err(BatchError::Text(_))));
    }
}
