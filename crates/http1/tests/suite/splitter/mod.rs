//! Reads the same bytes whole and in pieces, and asserts that it makes no difference.
//!
//! TCP keeps the order of bytes and nothing else, so what a reader understands must not depend on where a segment
//! ended.

// Each test takes from here what it needs.
#![allow(dead_code)]

use std::fmt::Write as _;

use bytes::BytesMut;
use serow_http1::{
    BodyLength, Client, Event, Framing, Limits, Next, ProtocolError, ReceivedRequest, ReceivedResponse, Server,
};
use serow_message::{Headers, Method, RequestHead, StatusCode, Target, Version};

/// The messages that a reader saw, as lines of text; neighbouring pieces of a body are one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) lines: Vec<String>,
    pub(crate) error: Option<ProtocolError>,
    /// The bytes not consumed; not specified after an error.
    pub(crate) left: Vec<u8>,
    data: Vec<u8>,
    complete: usize,
}

/// A reader of one role, fed piece by piece.
pub(crate) trait Reader {
    /// Adds bytes and takes all events there are.
    fn feed(&mut self, piece: &[u8]);

    /// The input ended.
    fn finish(self) -> Seen;
}

/// Reads everything as one piece.
pub(crate) fn whole<R: Reader>(mut reader: R, input: &[u8]) -> Seen {
    reader.feed(input);
    reader.finish()
}

/// Reads pieces that end at these places.
pub(crate) fn split_at<R: Reader>(mut reader: R, input: &[u8], places: impl IntoIterator<Item = usize>) -> Seen {
    let mut start = 0;
    for place in places {
        let place = place.clamp(start, input.len());
        reader.feed(&input[start..place]);
        start = place;
    }
    reader.feed(&input[start..]);
    reader.finish()
}

/// Reads the input whole, byte by byte and, where it is short, in two pieces at every place; asserts that all see the
/// same, and gives it.
pub(crate) fn every_way<R: Reader>(new: impl Fn() -> R, input: &[u8]) -> Seen {
    let seen = whole(new(), input);
    assert_eq!(split_at(new(), input, 1..input.len()), seen, "byte by byte: {}", input.escape_ascii());
    if input.len() < SHORT {
        for place in 0..=input.len() {
            assert_eq!(split_at(new(), input, [place]), seen, "split at {place}: {}", input.escape_ascii());
        }
    }
    seen
}

/// Every place costs a parse.
const SHORT: usize = 1_500;

impl Seen {
    fn line(&mut self, line: impl Into<String>) {
        self.flush();
        self.lines.push(line.into());
    }

    fn flush(&mut self) {
        if !self.data.is_empty() {
            let line = format!("data {}", self.data.escape_ascii());
            self.lines.push(line);
            self.data.clear();
        }
    }

    fn fields(&mut self, headers: &Headers) {
        for (name, value) in headers {
            self.line(format!("- {}: {}", name.escape_ascii(), value.escape_ascii()));
        }
    }

    fn end(&mut self, trailers: Option<Headers>) {
        self.line("end");
        trailers.iter().for_each(|trailers| self.fields(trailers));
    }

    fn next(&mut self, next: Next) {
        self.complete += 1;
        self.line(match next {
            Next::Reuse => "reuse",
            Next::Close => "close",
            Next::Tunnel => "tunnel",
            Next::Unfinished => "unfinished",
        });
    }

    fn fail(&mut self, error: ProtocolError) {
        self.line(format!("refused {} {error:?}", error.status().as_u16()));
        self.error = Some(error);
    }

    fn finish(mut self, left: BytesMut) -> Self {
        self.flush();
        if self.error.is_none() {
            self.left = left.to_vec();
        }
        self
    }

    /// How many messages were read to their end.
    pub(crate) fn complete(&self) -> usize {
        self.complete
    }
}

fn framing(framing: Framing) -> String {
    match framing {
        Framing::None => String::new(),
        Framing::Length(length) => format!(" length {length}"),
        Framing::Chunked => " chunked".into(),
        Framing::UntilClose => " until close".into(),
    }
}

/// A server that answers every request as soon as it is whole, and agrees to every upgrade.
pub(crate) struct Requests {
    server: Server,
    input: BytesMut,
    output: Vec<u8>,
    seen: Seen,
    upgrade: bool,
    stopped: bool,
}

impl Requests {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            server: Server::new(limits),
            input: BytesMut::new(),
            output: Vec::new(),
            seen: Seen::default(),
            upgrade: false,
            stopped: false,
        }
    }

    fn handle_head(&mut self, request: &ReceivedRequest) {
        let ReceivedRequest { head, upgrade, .. } = request;
        let mut line = format!("{} {} {:?}{}", head.method, head.target, head.version, framing(request.framing));
        for (set, word) in [(*upgrade, " upgrade"), (self.server.awaits_continue(), " waits")] {
            line.push_str(if set { word } else { "" });
        }
        self.upgrade = *upgrade;
        self.seen.line(line);
        self.seen.fields(&head.headers);
    }

    fn answer(&mut self, connect: bool) {
        let status = match (self.upgrade, connect) {
            (true, false) => StatusCode::SWITCHING_PROTOCOLS,
            _ => StatusCode::OK,
        };
        let answered = self.server.send_head(status, &Headers::new(), BodyLength::Known(0), b"", &mut self.output);
        answered.expect("the response's turn");
        self.server.send_end(None, &mut self.output).expect("the end's turn");
        let next = self.server.begin_next();
        self.seen.next(next);
        self.stopped = next != Next::Reuse;
    }
}

impl Reader for Requests {
    fn feed(&mut self, piece: &[u8]) {
        self.input.extend_from_slice(piece);
        let mut connect = false;
        while !self.stopped {
            match self.server.receive(&mut self.input) {
                Ok(None) => return,
                Ok(Some(Event::Head(request))) => {
                    connect = request.head.method == Method::CONNECT;
                    self.handle_head(&request);
                }
                Ok(Some(Event::Data(data))) => {
                    assert!(!data.is_empty(), "an event without bytes");
                    self.seen.data.extend_from_slice(&data);
                }
                Ok(Some(Event::End(trailers))) => self.seen.end(trailers),
                Err(error) => {
                    self.seen.fail(error);
                    self.stopped = true;
                    // A second call returns the same error, and the connection is never used again.
                    assert_eq!(self.server.receive(&mut self.input).err(), Some(error));
                    self.server.refuse(error.status(), b"", &mut self.output);
                    assert_eq!(self.server.begin_next(), Next::Close);
                }
            }
            if !self.stopped && self.server.has_received_all() {
                self.answer(connect);
            }
        }
    }

    fn finish(mut self) -> Seen {
        if !self.stopped {
            let idle = self.server.is_idle() && self.input.is_empty();
            match self.server.handle_end(&self.input) {
                Ok(()) => assert!(idle, "an end within a request was taken for one between two: {:?}", self.seen),
                Err(error) => self.seen.fail(error),
            }
        }
        self.seen.finish(self.input)
    }
}

/// A client that has asked once for each response that comes.
pub(crate) struct Responses {
    client: Client,
    request: RequestHead,
    input: BytesMut,
    output: Vec<u8>,
    seen: Seen,
    stopped: bool,
    begun: bool,
}

impl Responses {
    /// The reader of the responses to requests with this method.
    pub(crate) fn new(limits: Limits, method: &Method) -> Self {
        let connect = *method == Method::CONNECT;
        let target = Target::parse(if connect { "a:1".into() } else { "/".into() }, connect).expect("a target");
        let mut headers = Headers::new();
        headers.append("host", "a").expect("a field");
        headers.append("upgrade", "echo").expect("a field");
        let request = RequestHead { method: method.clone(), target, version: Version::HTTP_11, headers };
        let mut responses = Self {
            client: Client::new(limits),
            request,
            input: BytesMut::new(),
            output: Vec::new(),
            seen: Seen::default(),
            stopped: false,
            begun: false,
        };
        responses.ask();
        responses
    }

    /// The next request was sent ahead, so that what is behind the response is the response to it.
    fn ask_ahead(&mut self) {
        self.begun = false;
        self.client.expect(&self.request.method).expect("the request's turn");
    }

    fn ask(&mut self) {
        self.begun = false;
        let asked = self.client.send_head(&self.request, BodyLength::Known(0), &mut self.output);
        asked.expect("the request's turn");
        self.client.send_end(None, &mut self.output).expect("the end's turn");
    }

    fn handle_head(&mut self, response: &ReceivedResponse) {
        let ReceivedResponse { head, .. } = response;
        let mut line = format!("{} {:?}{}", head.status.as_u16(), head.version, framing(response.framing));
        if response.is_informational() {
            let _ = write!(line, " interim");
        }
        self.seen.line(line);
        self.seen.fields(&head.headers);
    }

    fn handle_event(&mut self, event: Event<ReceivedResponse>) {
        self.begun = true;
        match event {
            Event::Head(response) => self.handle_head(&response),
            Event::Data(data) => {
                assert!(!data.is_empty(), "an event without bytes");
                self.seen.data.extend_from_slice(&data);
            }
            Event::End(trailers) => {
                self.seen.end(trailers);
                let next = self.client.next();
                self.seen.next(next);
                match next {
                    Next::Reuse => self.ask_ahead(),
                    _ => self.stopped = true,
                }
            }
        }
    }
}

impl Reader for Responses {
    fn feed(&mut self, piece: &[u8]) {
        self.input.extend_from_slice(piece);
        while !self.stopped {
            match self.client.receive(&mut self.input) {
                Ok(None) => return,
                Ok(Some(event)) => self.handle_event(event),
                Err(error) => {
                    self.seen.fail(error);
                    self.stopped = true;
                    assert_eq!(self.client.receive(&mut self.input).err(), Some(error));
                    assert_eq!(self.client.begin_next(&self.input), Next::Close);
                }
            }
        }
    }

    fn finish(mut self) -> Seen {
        let between = !self.begun && self.input.is_empty() && self.seen.complete > 0;
        if !self.stopped && !between {
            match self.client.handle_end() {
                Ok(Some(event)) => self.handle_event(event),
                Ok(None) => {}
                Err(error) => self.seen.fail(error),
            }
        }
        self.seen.finish(self.input)
    }
}
