//! Both ends with the state of each exchange.

use std::collections::BTreeMap;

use bytes::Bytes;
use serow_message::{BodyLength, Method, RequestHead, StatusCode, Target};
use serow_streams::{Follows, OpenError, ReceivedRequest, ReceivedResponse, StreamId, Turn};

use super::{Connected, Side};
use crate::machine::turns::headers;
use crate::protocol::{self, CANCELLED, ClientEvent, Endpoint, Ends, Event, Limits, NO_ERROR, REJECTED};

/// The state of an exchange on one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Half {
    /// Bytes still to be sent, and whether the end was.
    left: usize,
    ended: bool,
    trailers: bool,
    /// Bytes received, and not used.
    received: usize,
    held: usize,
    got_end: bool,
    got_head: bool,
    got_trailers: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) request: usize,
    pub(crate) response: usize,
    pub(crate) announced: bool,
    pub(crate) trailers: bool,
}

pub(crate) struct Pair {
    pub(crate) ends: Ends,
    plans: BTreeMap<StreamId, Plan>,
    pub(crate) asking: BTreeMap<StreamId, Half>,
    pub(crate) answering: BTreeMap<StreamId, Half>,
    /// Cut off, or not read, by one of the two: what comes of it is not counted.
    pub(crate) spoiled: Vec<StreamId>,
    /// Those that the server did not look at.
    pub(crate) rejected: Vec<StreamId>,
    pub(crate) go_aways: usize,
}

impl Pair {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            ends: Ends::new(limits),
            plans: BTreeMap::new(),
            asking: BTreeMap::new(),
            answering: BTreeMap::new(),
            spoiled: Vec::new(),
            rejected: Vec::new(),
            go_aways: 0,
        }
    }

    pub(crate) fn ask(&mut self, plan: Plan) {
        match self.ends.open(&request_head(plan.request), length(plan.request, plan.announced)) {
            Ok((stream, follows)) => {
                let ended = follows == Follows::Fin;
                self.ends.client.set_ready(stream, !ended);
                self.plans.insert(stream, plan);
                let half = Half { left: plan.request, ended, trailers: plan.trailers, ..Half::default() };
                self.asking.insert(stream, half);
            }
            Err(OpenError::WouldBlock) => {}
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn deliver(&mut self, to: Side, lane: usize, bytes: usize) {
        self.ends.deliver(to, lane, bytes);
        self.take_events();
    }

    pub(crate) fn take_events(&mut self) {
        while let Some(event) = self.ends.server_event() {
            self.handle_at_server(event);
        }
        while let Some(event) = self.ends.client_event() {
            self.handle_at_client(event);
        }
    }

    fn handle_at_server(&mut self, event: Event) {
        match event {
            Event::Request(request) => self.answer(&request),
            Event::Data { stream, data } => self.answering.get_mut(&stream).expect("a request").take(&data),
            Event::End { stream, trailers } => {
                self.answering.get_mut(&stream).expect("a request").end(trailers.is_some());
            }
            Event::Reset { stream, code } => {
                assert!(self.spoiled.contains(&stream) && code == CANCELLED, "{code}");
                self.answering.remove(&stream);
            }
            other => panic!("{other:?}"),
        }
    }

    fn answer(&mut self, request: &ReceivedRequest) {
        let plan = self.plans[&request.stream];
        assert_eq!(request.head.headers.get_str("x-number"), Some(&*plan.request.to_string()));
        assert_eq!(request.head.headers.get_str("host"), Some("a.example"));
        let expected = (!request.has_body || plan.announced).then_some(plan.request as u64);
        assert_eq!(request.length, expected);
        let headers = headers(&[("X-Length", &*plan.response.to_string())]);
        let length = length(plan.response, plan.announced);
        let sends = self.ends.server.send_head(request.stream, StatusCode::OK, headers, length).expect("its turn");
        self.ends.server.set_ready(request.stream, sends);
        let half = Half {
            left: plan.response,
            ended: !sends,
            trailers: plan.trailers,
            got_end: !request.has_body,
            got_head: true,
            ..Half::default()
        };
        self.answering.insert(request.stream, half);
    }

    fn handle_at_client(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response(response) if response.is_informational() => {
                assert_eq!(response.head.status, StatusCode::EARLY_HINTS);
                assert!(!self.asking[&response.stream].got_head);
            }
            ClientEvent::Response(response) => self.take_response(&response),
            ClientEvent::Data { stream, data } => self.asking.get_mut(&stream).expect("a request").take(&data),
            ClientEvent::End { stream, trailers } => {
                self.asking.get_mut(&stream).expect("a request").end(trailers.is_some());
            }
            ClientEvent::Reset { stream, code } => {
                if code == REJECTED {
                    self.rejected.push(stream);
                    self.spoiled.push(stream);
                }
                assert!(self.spoiled.contains(&stream), "{stream} {code}");
                self.asking.remove(&stream);
            }
            ClientEvent::GoAway { code } => {
                assert_eq!(code, NO_ERROR);
                self.go_aways += 1;
            }
        }
    }

    fn take_response(&mut self, response: &ReceivedResponse) {
        let plan = self.plans[&response.stream];
        assert_eq!(response.head.headers.get_str("x-length"), Some(&*plan.response.to_string()));
        let half = self.asking.get_mut(&response.stream).expect("a request");
        assert!(!std::mem::replace(&mut half.got_head, true));
        half.got_end = !response.has_body;
    }

    pub(crate) fn client_turn(&mut self, room: usize) -> bool {
        self.ends.flush(Side::Client);
        let Some(turn) = self.ends.client.next_turn(room) else { return false };
        let half = self.asking.get_mut(&turn.stream).expect("a request");
        let mut output = Vec::new();
        let follows = half.write(&mut self.ends.client, turn, &mut output).unwrap_or(Follows::More);
        assert_eq!(follows == Follows::Fin, half.ended);
        self.ends.send(Side::Client, turn.stream, &output, follows);
        true
    }

    pub(crate) fn server_turn(&mut self, room: usize) -> bool {
        self.ends.flush(Side::Server);
        let server = &mut self.ends.server;
        let Some(turn) = server.next_turn(room) else { return false };
        let (mut output, mut follows) = (Vec::new(), Follows::More);
        if turn.head {
            let written = server.write_head(turn.stream, b"today", &mut output);
            follows = protocol::follows(written, &output).expect("a head");
        }
        let half = self.answering.get_mut(&turn.stream).expect("a request");
        if !half.ended && (turn.bytes > 0 || half.left == 0) {
            follows = half.write(server, turn, &mut output).unwrap_or(follows);
        }
        assert_eq!(follows == Follows::Fin, half.ended);
        self.ends.send(Side::Server, turn.stream, &output, follows);
        true
    }

    pub(crate) fn consume(&mut self) {
        for (side, halves) in [(Side::Client, &mut self.asking), (Side::Server, &mut self.answering)] {
            for (stream, half) in halves {
                self.ends.note_consumed(side, *stream, std::mem::take(&mut half.held));
            }
        }
    }

    /// One of the streams the client has open.
    pub(crate) fn pick(&self, number: u8) -> Option<StreamId> {
        let count = self.asking.len().max(1);
        self.asking.keys().nth(usize::from(number) % count).copied()
    }

    /// Lets everything come to its end.
    pub(crate) fn settle(&mut self) {
        for stream in self.plans.keys() {
            self.ends.set_writable(*stream, true);
        }
        for round in 0..100_000 {
            self.ends.flush(Side::Client);
            self.ends.flush(Side::Server);
            let quiet = self.ends.is_quiet();
            self.deliver(Side::Server, round, usize::MAX);
            self.deliver(Side::Client, round, usize::MAX);
            self.consume();
            let moved = self.client_turn(16_384) | self.server_turn(16_384);
            self.take_events();
            if quiet && !moved && self.ends.is_quiet() && !self.ends.reset_unfinished() {
                return;
            }
        }
        panic!("it never ends");
    }

    pub(crate) fn check(&self) {
        let active = (self.ends.client.active_streams(), self.ends.server.active_streams());
        assert_eq!(active, (0, 0), "streams are left");
        for (stream, plan) in self.plans.iter().filter(|(stream, _)| !self.spoiled.contains(stream)) {
            let (asking, answering) = (&self.asking[stream], &self.answering[stream]);
            assert!(asking.ended && answering.ended && asking.got_end && answering.got_end, "{stream}");
            assert_eq!((answering.received, asking.received), (plan.request, plan.response), "{stream}");
            let has_body = |length: usize| length > 0 || !plan.announced;
            assert_eq!(answering.got_trailers, plan.trailers && has_body(plan.request), "{stream}");
            assert_eq!(asking.got_trailers, plan.trailers && has_body(plan.response), "{stream}");
        }
    }
}

impl Half {
    fn take(&mut self, data: &Bytes) {
        assert!(self.got_head && !self.got_end && !data.is_empty());
        self.received += data.len();
        self.held += data.len();
    }

    fn end(&mut self, has_trailers: bool) {
        assert!(!std::mem::replace(&mut self.got_end, true));
        self.got_trailers = has_trailers;
    }

    /// Writes what is to be sent in a turn, and trailers behind it; says whether the stream ends, if anything was written.
    fn write<Role>(&mut self, end: &mut Endpoint<Role>, turn: Turn, output: &mut Vec<u8>) -> Option<Follows> {
        let data = vec![b'x'; turn.bytes.min(self.left)];
        self.left -= data.len();
        self.ended = self.left == 0;
        let (mut follows, is_last) = (None, self.ended && !self.trailers);
        if !data.is_empty() || is_last {
            let written = end.write_data(turn.stream, &data, is_last, output);
            follows = Some(protocol::follows(written, output).expect("its turn"));
        }
        if self.ended && self.trailers {
            let written = end.write_trailers(turn.stream, &headers(&[("X-Sum", "1")]), output);
            follows = Some(protocol::follows(written, output).expect("its turn"));
        }
        follows
    }
}

pub(super) fn request_head(number: usize) -> RequestHead {
    let headers = headers(&[("host", "a.example"), ("te", "trailers"), ("X-Number", &number.to_string())]);
    let target = Target::parse("/path?query".into(), false).expect("a target");
    RequestHead { method: Method::PUT, target, version: protocol::VERSION, headers }
}

fn length(bytes: usize, announced: bool) -> BodyLength {
    if announced { BodyLength::Known(bytes as u64) } else { BodyLength::Unknown }
}
