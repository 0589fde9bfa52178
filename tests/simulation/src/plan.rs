//! Plans: everything that clients and servers do in one run.

use std::{collections::BTreeSet, fmt, time::Duration};

use serow_net::simulated::Link;

use crate::{generator, settings::Settings};

/// Everything that happens in one run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) clients: Vec<ClientPlan>,
    /// When the server begins to drain, if it does while clients are there.
    pub(crate) stop: Option<Duration>,
    /// From when on, and for how long, there are no descriptors for new connections.
    pub(crate) exhaustion: Option<(Duration, Duration)>,
}

/// The parts of a plan that are carried out: all of them, or those that are left when it was made smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The requests that are left out.
    pub(crate) without: BTreeSet<Id>,
    pub(crate) without_stop: bool,
}

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

/// A request: the number of its connection, and its own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    pub(crate) client: usize,
    pub(crate) request: usize,
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

/// What no server may accept.
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

/// The answer of a server to an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) length: usize,
    pub(crate) framing: ResponseFraming,
    /// Informational responses before it.
    pub(crate) hints: usize,
    /// The time before its head.
    pub(crate) delay: Duration,
    /// A pause in the middle of its body.
    pub(crate) pause: Duration,
    /// Whether the request's body is read first.
    pub(crate) reads_body: bool,
    /// Whether the connection is kept.
    pub(crate) keeps: bool,
    /// Whether caches may keep it.
    pub(crate) is_fresh: bool,
    pub(crate) fault: Fault,
}

/// The framing of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFraming {
    Length,
    Chunked,
    UntilClose,
}

/// What goes wrong with a server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Closes when the head of the request is there.
    ClosesEarly,
    /// Closes in place of a response.
    Closes,
    /// Resets in place of a response.
    Resets,
    /// Closes within the head.
    CutsHead,
    /// Closes after so many bytes of the body.
    CutsBody(usize),
    /// Resets after so many bytes of the body.
    ResetsBody(usize),
    /// Says nothing for ever.
    Hangs,
    /// Stops within the body for ever.
    HangsInBody(usize),
    /// Sends a second response that nobody has asked for.
    SendsTwo,
    /// Sends what is not a response.
    BadHead,
    /// Says two lengths.
    TwoLengths,
}

impl Fault {
    /// Whether no response reaches the proxy.
    pub(crate) fn prevents_response(self) -> bool {
        matches!(
            self,
            Self::ClosesEarly
                | Self::Closes
                | Self::Resets
                | Self::CutsHead
                | Self::Hangs
                | Self::BadHead
                | Self::TwoLengths
        )
    }

    /// Whether the connection may end before the proxy has any of the response: a reset discards what was sent before.
    pub(crate) fn is_close(self) -> bool {
        matches!(self, Self::ClosesEarly | Self::Closes | Self::Resets | Self::ResetsBody(_))
    }

    /// How many bytes of a body arrive, if it is cut.
    pub(crate) fn cut(self) -> Option<usize> {
        match self {
            Self::CutsBody(bytes) | Self::ResetsBody(bytes) | Self::HangsInBody(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        generator::plan(seed)
    }

    /// The number of its requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.clients.iter().map(|client| client.requests.len()).sum()
    }

    /// The plan without the parts that are left out.
    #[must_use]
    pub fn kept(&self, kept: &Kept) -> Self {
        let mut plan = self.clone();
        for client in &mut plan.clients {
            client.requests.retain(|request| !kept.without.contains(&request.id));
        }
        plan.stop = plan.stop.filter(|_| !kept.without_stop);
        plan
    }

    /// The seed, and the requests that are left.
    #[must_use]
    pub fn line(&self, kept: &Kept) -> String {
        let ids = self.clients.iter().flat_map(|client| &client.requests).map(|request| request.id);
        let left: Vec<_> = ids.filter(|id| !kept.without.contains(id)).map(|id| id.to_string()).collect();
        let stop = if kept.without_stop { " without-stop" } else { "" };
        format!("{} {}{stop}", self.seed, left.join(" "))
    }

    /// The plan of a [line](Self::line), and what is left of it.
    #[must_use]
    pub fn of_line(line: &str) -> Option<(Self, Kept)> {
        let mut words = line.split_whitespace();
        let plan = Self::new(words.next()?.parse().ok()?);
        let (mut left, mut without_stop) = (BTreeSet::<Id>::new(), false);
        for word in words {
            match word {
                "without-stop" => without_stop = true,
                word => drop(left.insert(word.parse().ok()?)),
            }
        }
        let ids = plan.clients.iter().flat_map(|client| &client.requests).map(|request| request.id);
        let without = ids.filter(|id| !left.contains(id)).collect();
        Some((plan, Kept { without, without_stop }))
    }

    pub(crate) fn request(&self, id: Id) -> Option<&RequestPlan> {
        self.clients.get(id.client)?.requests.iter().find(|request| request.id == id)
    }

    /// Whether a request may fail before it reaches a server.
    pub(crate) fn may_fail_unseen(&self) -> bool {
        let Settings { refusing, server_idle, max_failures, .. } = self.settings;
        refusing || server_idle.is_some() || max_failures.is_some() || self.exhaustion.is_some()
    }

    /// Whether a server may cut a response at this place.
    pub(crate) fn is_cached_cut(&self, place: Place) -> bool {
        let requests = self.clients.iter().flat_map(|client| &client.requests).filter(|request| request.place == place);
        requests.flat_map(|request| &request.answers).any(|answer| answer.fault.cut().is_some())
    }
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

/// Bytes that belong to a request: those of another one differ.
pub(crate) fn pattern(kind: char, id: Id, length: usize) -> Vec<u8> {
    let word = format!("{kind}{id};");
    word.bytes().cycle().take(length).collect()
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.client, self.request)
    }
}

impl std::str::FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (client, request) = text.split_once('.').ok_or(())?;
        Ok(Self { client: client.parse().map_err(drop)?, request: request.parse().map_err(drop)? })
    }
}

impl fmt::Display for Plan {
    /// The settings, and a line for each request that is left.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:?}, drains at {:?}, exhausted {:?}", self.settings, self.stop, self.exhaustion)?;
        for client in self.clients.iter().filter(|client| !client.requests.is_empty()) {
            let ClientPlan { begins, version, link, stays, .. } = client;
            writeln!(formatter, "{version:?} at {begins:?} over {link:?}, stays: {stays}")?;
            for request in &client.requests {
                writeln!(formatter, "  {request:?}")?;
            }
        }
        Ok(())
    }
}
