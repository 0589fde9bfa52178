//! Plans of clients.

use std::time::Duration;

use serow_net::simulated::Link;

use super::{Answer, Id, pattern};

/// A client: one connection.
#[derive(Clone, Debug)]
pub(crate) struct ClientPlan {
    pub(crate) begins: Duration,
    pub(crate) version: Version,
    pub(crate) link: Link,
    pub(crate) requests: Vec<RequestPlan>,
    /// Whether it waits at the end until the server closes the connection.
    pub(crate) stays: bool,
}

/// The version of HTTP of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// HTTP/1.0, without persistent connections.
    Http10,
    Http1,
    Http2,
}

/// A request, with all that is done to it.
#[derive(Clone, Debug)]
pub(crate) struct RequestPlan {
    pub(crate) id: Id,
    pub(crate) place: Place,
    pub(crate) method: &'static str,
    pub(crate) body: Option<RequestBody>,
    pub(crate) conduct: Conduct,
    /// The time before it, since the event that it waits for.
    pub(crate) pause: Duration,
    /// Whether it does not wait for the response before it.
    pub(crate) is_pipelined: bool,
    /// The servers' answers to its attempts; the last one repeats.
    pub(crate) answers: Vec<Answer>,
}

/// The route of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Proxied,
    /// With `buffer-requests`.
    Buffered,
    /// With a cache in front, by the target with this number: others ask for it as well.
    Cached(usize),
    /// Answered by the router.
    Responded,
    /// Refused to this client, in front of a proxy.
    Denied,
}

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestBody {
    pub(crate) length: usize,
    /// Whether its length is not known before its end.
    pub(crate) is_chunked: bool,
    /// A pause after so many bytes.
    pub(crate) pause: Option<(usize, Duration)>,
    /// Whether the client waits for 100 Continue: HTTP/1.1.
    pub(crate) is_expected: bool,
}

/// The conduct of a client in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conduct {
    Orderly,
    /// Sends so many bytes of the head, and waits for the end of the connection.
    StallsInHead(usize),
    /// Sends so many bytes of the body, and waits for the response or the end.
    StallsInBody(usize),
    /// Reads so many bytes of the response's body, and no more.
    StopsReading(usize),
    /// Leaves at a moment.
    Leaves(Departure),
    /// Sends what no server may accept: HTTP/1.
    Malformed(Malformation),
    /// Sends a frame that no server may accept, behind the request: HTTP/2.
    Violates(Violation),
}

/// How a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) moment: Moment,
    /// Whether the connection is reset.
    pub(crate) is_reset: bool,
    /// Whether only the stream is given up: HTTP/2.
    pub(crate) is_stream: bool,
}

/// The moment at which a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// After so many bytes of the head.
    InHead(usize),
    /// After so many bytes of the body.
    InBody(usize),
    /// So long after the request.
    Waiting(Duration),
    /// After so many bytes of the response's body.
    Receiving(usize),
}

/// A malformation that no server may accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformation {
    TwoLengths,
    LengthAndChunked,
    UnknownCoding,
    ChunkedTwice,
    SpaceBeforeColon,
    Null,
    NoHost,
    TwoHosts,
    LargeHead,
    BadChunk,
    BareReturn,
}

/// A frame that ends a connection (RFC 9113).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    DataOnConnection,
    EvenStream,
    ShortSettings,
    EmptyWindowUpdate,
    LoneContinuation,
    LargeFrame,
    BadHpack,
}

impl RequestPlan {
    /// The path and query.
    pub(crate) fn target(&self) -> String {
        match self.place {
            Place::Proxied => format!("/p/{}", self.id),
            Place::Buffered => format!("/b/{}", self.id),
            Place::Cached(number) => format!("/c/{number}"),
            Place::Responded => format!("/r/{}", self.id),
            Place::Denied => format!("/d/{}", self.id),
        }
    }

    /// The answer to this attempt, from 0.
    pub(crate) fn answer(&self, attempt: usize) -> &Answer {
        &self.answers[attempt.min(self.answers.len() - 1)]
    }

    /// Whether it may be repeated without asking (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        self.method != "POST"
    }

    /// The bytes of its body.
    pub(crate) fn content(&self) -> Vec<u8> {
        pattern('u', self.id, self.body.map_or(0, |body| body.length))
    }
}
