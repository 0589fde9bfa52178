//! One client for both versions of HTTP: the same request must come to the same end.

use std::{io, net::SocketAddr, time::Duration};

use serow::Headers;
use serow_http2::{BodyLength, ErrorCode, StreamId};

use super::{
    Running,
    answer::Answer,
    multiplexed::{Ended, Multiplexed, Opening},
    sequential::{self, Sequential},
};

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
}

/// Those that a test goes through.
#[cfg(feature = "http2")]
pub(crate) const BOTH: [Spoken; 2] = [Spoken::Http1, Spoken::Http2];

/// The one that the server speaks.
#[cfg(not(feature = "http2"))]
pub(crate) const BOTH: [Spoken; 1] = [Spoken::Http1];

/// A connection of either version, with one exchange at a time.
pub(crate) enum Either {
    Http1(Sequential),
    /// With the stream of the exchange.
    Http2(Box<Multiplexed>, Option<StreamId>),
}

/// A request, whichever version carries it.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) fields: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) says_length: bool,
}

impl<'a> Asked<'a> {
    pub(crate) fn get(target: &'a str) -> Self {
        Self { method: "GET", target, fields: &[], body: None, says_length: true }
    }

    pub(crate) fn post(target: &'a str, body: &'a [u8]) -> Self {
        Self { method: "POST", target, fields: &[], body: Some(body), says_length: true }
    }

    /// The same without a word on the length: in chunks, over HTTP/1.
    pub(crate) fn chunked(self) -> Self {
        Self { says_length: false, ..self }
    }

    /// Its bytes over HTTP/1.
    pub(crate) fn http1(&self) -> Vec<u8> {
        let mut bytes = sequential::head(self.method, self.target, &self.opening()).into_bytes();
        bytes.extend(self.http1_body());
        bytes
    }

    fn http1_body(&self) -> Vec<u8> {
        match self.body {
            None => Vec::new(),
            Some(body) if self.says_length => body.to_vec(),
            Some(body) => sequential::in_chunks(body),
        }
    }

    fn opening(&self) -> Opening<'a> {
        let length = self.body.map(|body| match self.says_length {
            true => BodyLength::Known(body.len() as u64),
            false => BodyLength::Unknown,
        });
        Opening { fields: self.fields.to_vec(), length, protocol: None }
    }
}

impl Running {
    /// Connects as a client of this version.
    pub(crate) fn connect_with(&self, spoken: Spoken) -> Either {
        match spoken {
            Spoken::Http1 => Either::Http1(Sequential::new(self.connect())),
            Spoken::Http2 => Either::Http2(Box::new(self.connect_http2()), None),
        }
    }

    pub(crate) fn connect_http2(&self) -> Multiplexed {
        Multiplexed::new(self.address())
    }
}

impl Either {
    /// A whole exchange.
    #[track_caller]
    pub(crate) fn ask(&mut self, asked: &Asked<'_>) -> Answer {
        self.begin(asked);
        self.answer()
    }

    /// `GET target`, and its answer.
    #[track_caller]
    pub(crate) fn get(&mut self, target: &str) -> Answer {
        self.ask(&Asked::get(target))
    }

    /// Sends a whole request.
    #[track_caller]
    pub(crate) fn begin(&mut self, asked: &Asked<'_>) {
        let opening = asked.opening();
        if let Self::Http1(client) = self {
            return client.open(asked.method, asked.target, &opening, &asked.http1_body());
        }
        self.open(asked.method, asked.target, &opening);
        if let Some(body) = asked.body
            && opening.length != Some(BodyLength::Known(0))
        {
            self.send(body);
            self.finish(&[]);
        }
    }

    /// Sends a head; the body is to follow.
    #[track_caller]
    pub(crate) fn open(&mut self, method: &str, target: &str, opening: &Opening<'_>) {
        match self {
            Self::Http1(client) => client.open(method, target, opening, &[]),
            Self::Http2(client, stream) => *stream = Some(client.open(method, target, opening)),
        }
    }

    /// Sends a piece of the body.
    pub(crate) fn send(&mut self, piece: &[u8]) {
        match self {
            Self::Http1(client) => client.send(piece),
            Self::Http2(client, stream) => client.send(current(*stream), piece.to_vec()),
        }
    }

    /// Ends the body.
    pub(crate) fn finish(&mut self, trailers: &[(&str, &str)]) {
        match self {
            Self::Http1(client) => client.finish(trailers),
            Self::Http2(client, stream) => {
                let mut headers = Headers::new();
                for (name, value) in trailers {
                    headers.append(*name, value).unwrap();
                }
                client.finish(current(*stream), (!trailers.is_empty()).then_some(headers));
            }
        }
    }

    /// The next informational answer.
    #[track_caller]
    pub(crate) fn informational(&mut self) -> Answer {
        match self {
            Self::Http1(client) => client.informational(),
            Self::Http2(client, stream) => client.informational(current(*stream)),
        }
    }

    /// Waits for the head of the answer; its status.
    #[track_caller]
    pub(crate) fn head(&mut self) -> u16 {
        match self {
            Self::Http1(client) => client.wait_for_head().unwrap().status,
            Self::Http2(client, stream) => client.head(current(*stream)),
        }
    }

    /// Waits until so much of the answer's body, which is a stream, has come; what has come of it altogether.
    #[track_caller]
    pub(crate) fn body(&mut self, length: usize) -> &[u8] {
        match self {
            Self::Http1(client) => client.wait_for_body(length),
            Self::Http2(client, stream) => {
                let stream = current(*stream);
                client.wait("so much of the body has come", |client| client.body(stream).len() >= length);
                client.body(stream)
            }
        }
    }

    /// The whole answer, and no informational one before it.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer().unwrap()
    }

    /// The answer; an error where the client can tell that it is not whole. The reset of a stream with INTERNAL_ERROR
    /// over HTTP/2 means the same as that of a connection over HTTP/1.
    #[track_caller]
    pub(crate) fn try_answer(&mut self) -> io::Result<Answer> {
        match self {
            Self::Http1(client) => client.try_answer(),
            Self::Http2(client, stream) => {
                let stream = current(*stream);
                client.wait("the stream ends", |client| client.ended(stream).is_some());
                assert!(!client.has_informational(stream), "not asked for: {}", client.informational(stream).head);
                match client.outcome(stream) {
                    (Some(answer), Ended::Whole) => Ok(answer),
                    (_, Ended::Reset(ErrorCode::INTERNAL_ERROR)) => Err(io::ErrorKind::ConnectionReset.into()),
                    (_, ended) => Err(io::Error::other(format!("{ended:?}"))),
                }
            }
        }
    }

    /// Asserts that the answer is broken off for the client to see.
    #[track_caller]
    pub(crate) fn is_cut(&mut self) {
        let outcome = self.try_answer().map(|answer| answer.body.len());
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }

    /// Whether the answer has begun to come.
    pub(crate) fn has_answer(&self) -> bool {
        match self {
            Self::Http1(client) => client.has_answer(),
            Self::Http2(client, stream) => client.has_answer(current(*stream)),
        }
    }

    /// Takes what comes for so long.
    pub(crate) fn go_on_for(&mut self, time: Duration) {
        match self {
            Self::Http1(client) => client.client.go_on_for(time),
            Self::Http2(client, _) => client.go_on_for(time),
        }
    }

    /// Asserts that no answer comes for a moment, not even an informational one.
    #[track_caller]
    pub(crate) fn receives_nothing_for(&mut self, time: Duration) {
        match self {
            Self::Http1(client) => client.client.receives_nothing_for(time),
            Self::Http2(client, stream) => {
                client.go_on_for(time);
                let stream = current(*stream);
                assert!(!client.has_informational(stream) && !client.has_answer(stream), "there is an answer");
            }
        }
    }

    /// Asserts that the connection ends in order: over HTTP/2, with a farewell.
    #[track_caller]
    pub(crate) fn ends(&mut self) {
        match self {
            Self::Http1(client) => client.client.ends(),
            Self::Http2(client, _) => assert_eq!(client.ends(), Some(ErrorCode::NO_ERROR)),
        }
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        match self {
            Self::Http1(client) => client.client.local_address(),
            Self::Http2(client, _) => client.socket.local_address(),
        }
    }
}

fn current(stream: Option<StreamId>) -> StreamId {
    stream.expect("a request was begun")
}
