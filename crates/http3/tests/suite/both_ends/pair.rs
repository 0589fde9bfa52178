//! Both ends, and the bytes that are between them.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use serow_http3::{
    Asking, BodyLength, Client, ClientEvent, Endpoint, ErrorCode, Event, Follows, Limits, OpenError, OwnStream, Server,
    StreamId, StreamOrder,
};
use serow_message::{Headers, Method, RequestHead, StatusCode, Target, Version};

const NOW: Duration = Duration::from_secs(5);

/// The state of an exchange on one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    /// Bytes still to be sent, and whether the end was.
    left: usize,
    pub(super) ended: bool,
    trailers: bool,
    /// Bytes received.
    received: usize,
    got_end: bool,
    got_head: bool,
    got_trailers: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) request: usize,
    pub(super) response: usize,
    pub(super) announced: bool,
    pub(super) trailers: bool,
}

/// The bytes in flight on a stream in one direction.
#[derive(Debug, Default)]
struct Lane {
    bytes: Vec<u8>,
    fin: bool,
}

/// The streams of one direction.
#[derive(Debug, Default)]
pub(super) struct Wire {
    lanes: BTreeMap<u64, Lane>,
    /// Those that the receiver asked to stop, and that were reset.
    over: Vec<u64>,
}

impl Wire {
    fn put(&mut self, stream: u64, bytes: &[u8], follows: Follows) {
        if !self.over.contains(&stream) && (!bytes.is_empty() || follows == Follows::Fin) {
            let lane = self.lanes.entry(stream).or_default();
            assert!(!lane.fin, "written behind the end");
            lane.bytes.extend_from_slice(bytes);
            lane.fin = follows == Follows::Fin;
        }
    }

    /// Takes bytes of one of the streams that the receiver wants.
    fn take<Role>(&mut self, lane: usize, bytes: usize, to: &Endpoint<Role>) -> Option<(StreamId, Bytes, bool)> {
        let wanted = |stream: &u64| stream & 3 != 0 || to.wants_data(StreamId::of_quic(*stream));
        let open: Vec<u64> = self.lanes.keys().copied().filter(wanted).collect();
        let stream = *open.get(lane % open.len().max(1))?;
        let lane = self.lanes.get_mut(&stream)?;
        let taken: Vec<u8> = lane.bytes.drain(..bytes.min(lane.bytes.len())).collect();
        let fin = lane.fin && lane.bytes.is_empty();
        if lane.bytes.is_empty() {
            self.lanes.remove(&stream);
        }
        Some((StreamId::of_quic(stream), taken.into(), fin))
    }

    fn end(&mut self, stream: StreamId) -> bool {
        self.lanes.remove(&stream.get());
        let is_new = !self.over.contains(&stream.get());
        if is_new {
            self.over.push(stream.get());
        }
        is_new
    }

    fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }
}

pub(super) struct Pair {
    pub(super) client: Client,
    pub(super) server: Server,
    to_server: Wire,
    to_client: Wire,
    pub(super) plans: BTreeMap<StreamId, Plan>,
    pub(super) asking: BTreeMap<StreamId, Half>,
    pub(super) answering: BTreeMap<StreamId, Half>,
    /// Cut off, or not read, by one of the two: what comes of it is not counted.
    pub(super) spoiled: Vec<StreamId>,
    pub(super) go_aways: usize,
    pub(super) client_events: Vec<ClientEvent>,
}

impl Pair {
    pub(super) fn new(limits: Limits) -> Self {
        let mut client = Client::new(limits, NOW);
        client.set_stream_credit(u64::MAX);
        Self {
            client,
            server: Server::new(Limits { streams: 1000, ..limits }, NOW),
            to_server: Wire::default(),
            to_client: Wire::default(),
            plans: BTreeMap::new(),
            asking: BTreeMap::new(),
            answering: BTreeMap::new(),
            spoiled: Vec::new(),
            go_aways: 0,
            client_events: Vec::new(),
        }
    }

    pub(super) fn ask(&mut self, plan: Plan) {
        let mut output = Vec::new();
        let length = length(plan.request, plan.announced);
        match self.client.open(&request_head(plan.request), length, Asking::default(), &mut output) {
            Ok((stream, follows)) => {
                self.carry_control();
                self.to_server.put(stream.get(), &output, follows);
                let ended = follows == Follows::Fin;
                self.client.set_ready(stream, !ended);
                self.plans.insert(stream, plan);
                let half = Half { left: plan.request, ended, trailers: plan.trailers, ..Half::default() };
                self.asking.insert(stream, half);
            }
            Err(OpenError::WouldBlock) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Puts what waits on the ends' own streams on the wires.
    pub(super) fn carry_control(&mut self) {
        for (own, stream) in OwnStream::ALL.into_iter().zip([2, 6, 10]) {
            let bytes = self.client.control(own).split();
            self.to_server.put(stream, &bytes, Follows::More);
            let bytes = self.server.control(own).split();
            self.to_client.put(stream + 1, &bytes, Follows::More);
        }
    }

    /// Does what the ends order; what cuts a stream off overtakes its bytes.
    pub(super) fn carry_orders(&mut self) {
        loop {
            let before = (self.to_server.over.len(), self.to_client.over.len());
            while let Some(order) = self.client.next_order() {
                match order {
                    StreamOrder::Reset { stream, code } if self.to_server.end(stream) => {
                        self.server.receive_reset(stream, code, NOW).expect("no rule is broken");
                    }
                    StreamOrder::Stop { stream, code } => {
                        self.to_client.lanes.remove(&stream.get());
                        self.server.receive_stop(stream, code, NOW).expect("no rule is broken");
                    }
                    StreamOrder::Reset { .. } => {}
                }
            }
            while let Some(order) = self.server.next_order() {
                match order {
                    StreamOrder::Reset { stream, code } if self.to_client.end(stream) => {
                        self.client.receive_reset(stream, code, NOW).expect("no rule is broken");
                    }
                    StreamOrder::Stop { stream, code } => {
                        self.to_server.lanes.remove(&stream.get());
                        self.client.receive_stop(stream, code, NOW).expect("no rule is broken");
                    }
                    StreamOrder::Reset { .. } => {}
                }
            }
            self.take_events();
            if before == (self.to_server.over.len(), self.to_client.over.len()) {
                return;
            }
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.server.next_event() {
            self.handle_at_server(event);
        }
        while let Some(event) = self.client.next_event() {
            self.handle_at_client(event);
        }
        assert_eq!((self.server.failure(), self.client.failure()), (None, None));
    }

    pub(super) fn deliver_to_server(&mut self, lane: usize, bytes: usize) {
        if let Some((stream, bytes, fin)) = self.to_server.take(lane, bytes, &self.server) {
            self.server.receive(stream, bytes, fin, NOW).expect("no rule is broken");
            self.take_events();
        }
    }

    pub(super) fn deliver_to_client(&mut self, lane: usize, bytes: usize) {
        if let Some((stream, bytes, fin)) = self.to_client.take(lane, bytes, &self.client) {
            self.client.receive(stream, bytes, fin, NOW).expect("no rule is broken");
            self.take_events();
        }
    }

    /// Only what is on the server's control stream.
    pub(super) fn deliver_all_control(&mut self) {
        let lane = self.to_client.lanes.remove(&3).expect("control frames");
        self.client.receive(StreamId::of_quic(3), lane.bytes.into(), false, NOW).expect("no rule is broken");
        self.client_events.extend(std::iter::from_fn(|| self.client.next_event()));
    }

    fn handle_at_server(&mut self, event: Event) {
        match event {
            Event::Request(request) => {
                let plan = self.plans[&request.stream];
                assert_eq!(request.head.headers.get_str("x-number"), Some(&*plan.request.to_string()));
                assert_eq!(request.head.headers.get_str("host"), Some("a.example"));
                let mut headers = Headers::new();
                headers.append("X-Length", format!("{}", plan.response)).expect("a field");
                let length = length(plan.response, plan.announced);
                let sends = self.server.send_head(request.stream, StatusCode::OK, headers, length).expect("its turn");
                self.server.set_ready(request.stream, sends);
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
            Event::Data { stream, data } => {
                assert!(!data.is_empty());
                self.answering.get_mut(&stream).expect("a request").received += data.len();
            }
            Event::End { stream, trailers } => {
                let half = self.answering.get_mut(&stream).expect("a request");
                assert!(!std::mem::replace(&mut half.got_end, true));
                half.got_trailers = trailers.is_some();
            }
            Event::Reset { stream, code } => {
                assert!(self.spoiled.contains(&stream) && code == ErrorCode::REQUEST_CANCELLED, "{code}");
                self.answering.remove(&stream);
            }
            other => panic!("{other:?}"),
        }
    }

    fn handle_at_client(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response(response) if response.is_informational() => {
                assert_eq!(response.head.status, StatusCode::EARLY_HINTS);
                assert!(!self.asking[&response.stream].got_head);
            }
            ClientEvent::Response(response) => {
                let plan = self.plans[&response.stream];
                assert_eq!(response.head.headers.get_str("x-length"), Some(&*plan.response.to_string()));
                let half = self.asking.get_mut(&response.stream).expect("a request");
                assert!(!std::mem::replace(&mut half.got_head, true));
                half.got_end = !response.has_body;
            }
            ClientEvent::Data { stream, data } => {
                let half = self.asking.get_mut(&stream).expect("a request");
                assert!(half.got_head && !half.got_end && !data.is_empty());
                half.received += data.len();
            }
            ClientEvent::End { stream, trailers } => {
                let half = self.asking.get_mut(&stream).expect("a request");
                assert!(!std::mem::replace(&mut half.got_end, true));
                half.got_trailers = trailers.is_some();
            }
            ClientEvent::Reset { stream, code } => {
                assert!(self.spoiled.contains(&stream), "{stream} {code}");
                self.asking.remove(&stream);
            }
            ClientEvent::GoAway { code } => {
                assert_eq!(code, ErrorCode::NO_ERROR);
                self.go_aways += 1;
            }
        }
    }

    pub(super) fn client_turn(&mut self, room: usize) -> bool {
        self.carry_control();
        let Some(turn) = self.client.next_turn(room) else { return false };
        let Some(half) = self.asking.get_mut(&turn.stream) else { panic!("a turn for nobody: {turn:?}") };
        let bytes = turn.bytes.min(half.left);
        half.left -= bytes;
        let end = half.left == 0 && !half.trailers;
        let (data, mut output) = (vec![b'c'; bytes], Vec::new());
        let mut follows = self.client.write_data(turn.stream, &data, end, &mut output).expect("its turn");
        half.ended = half.left == 0;
        if half.ended && half.trailers {
            follows = self.client.write_trailers(turn.stream, &trailers(), &mut output).expect("its turn");
        }
        assert_eq!(follows == Follows::Fin, half.ended);
        self.carry_control();
        self.to_server.put(turn.stream.get(), &output, follows);
        true
    }

    pub(super) fn server_turn(&mut self, room: usize) -> bool {
        self.carry_control();
        let Some(turn) = self.server.next_turn(room) else { return false };
        let mut output = Vec::new();
        let mut follows = Follows::More;
        if turn.head {
            follows = self.server.write_head(turn.stream, b"today", &mut output).expect("a head");
        }
        let Some(half) = self.answering.get_mut(&turn.stream) else { panic!("a turn for nobody: {turn:?}") };
        if !half.ended && (turn.bytes > 0 || half.left == 0) {
            let bytes = turn.bytes.min(half.left);
            half.left -= bytes;
            let end = half.left == 0 && !half.trailers;
            follows = self.server.write_data(turn.stream, &vec![b's'; bytes], end, &mut output).expect("its turn");
            half.ended = half.left == 0;
            if half.ended && half.trailers {
                follows = self.server.write_trailers(turn.stream, &trailers(), &mut output).expect("its turn");
            }
            assert_eq!(follows == Follows::Fin, half.ended);
        }
        self.carry_control();
        self.to_client.put(turn.stream.get(), &output, follows);
        true
    }

    /// One of the streams the client has open.
    pub(super) fn pick(&self, number: u8) -> Option<StreamId> {
        let count = self.asking.len().max(1);
        self.asking.keys().nth(usize::from(number) % count).copied()
    }

    /// Lets everything come to its end.
    pub(super) fn settle(&mut self) {
        for stream in self.plans.keys() {
            self.client.set_writable(*stream, true);
            self.server.set_writable(*stream, true);
        }
        for round in 0..100_000 {
            self.carry_control();
            self.carry_orders();
            self.deliver_to_server(round, usize::MAX);
            self.deliver_to_client(round, usize::MAX);
            let moved = self.client_turn(16_384) | self.server_turn(16_384);
            self.carry_orders();
            self.carry_control();
            if !moved && self.to_server.is_empty() && self.to_client.is_empty() {
                return;
            }
        }
        panic!("it never ends: {:?} {:?}", self.to_server, self.to_client);
    }

    pub(super) fn check(&self) {
        assert_eq!((self.client.active_streams(), self.server.active_streams()), (0, 0), "streams are left");
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

pub(super) fn request_head(number: usize) -> RequestHead {
    let mut headers = Headers::new();
    for (name, value) in [("host", "a.example"), ("te", "trailers"), ("X-Number", &format!("{number}"))] {
        headers.append(name, value).expect("a field");
    }
    let target = Target::parse("/path?query".into(), false).expect("a target");
    RequestHead { method: Method::PUT, target, version: Version::HTTP_3, headers }
}

fn length(bytes: usize, announced: bool) -> BodyLength {
    if announced { BodyLength::Known(bytes as u64) } else { BodyLength::Unknown }
}

fn trailers() -> Headers {
    let mut trailers = Headers::new();
    trailers.append("X-Sum", "1").expect("a field");
    trailers
}
