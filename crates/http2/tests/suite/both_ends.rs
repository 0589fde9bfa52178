//! A client and a server that talk to each other in memory: whatever their drivers do, in whatever pieces the bytes
//! travel, no rule is broken, nothing is lost or stands still, and in the end nothing is left over.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::BytesMut;
use proptest::{collection::vec, prelude::*};
use serow_http2::{
    Asking, BodyLength, Client, ClientEvent, ErrorCode, Event, Limits, OpenError, Server, StreamId, frame::Dependency,
};
use serow_message::{Headers, Method, Priority, RequestHead, ResponseHead, StatusCode, Target, Version};

const NOW: Duration = Duration::from_secs(5);

/// A step of a driver, or of the bytes between the ends.
#[derive(Clone, Debug)]
enum Operation {
    /// The client asks; so long is its body, the response's, and whether lengths are announced.
    Ask {
        request: usize,
        response: usize,
        announced: bool,
        trailers: bool,
    },
    /// So many bytes travel.
    ToServer(usize),
    ToClient(usize),
    /// A side writes turns of this size.
    ClientTurn(usize),
    ServerTurn(usize),
    /// A side uses what it has.
    Consume,
    ResetByClient(u8),
    ResetByServer(u8),
    Abandon(u8),
    Informational(u8),
    Prioritise(u8, u8, bool),
}

fn operation() -> impl Strategy<Value = Operation> {
    let size = || prop_oneof![0usize..3, 0usize..2_000, 0usize..200_000];
    prop_oneof![
        4 => (size(), size(), any::<bool>(), any::<bool>())
            .prop_map(|(request, response, announced, trailers)| Operation::Ask { request, response, announced, trailers }),
        4 => (0usize..50_000).prop_map(Operation::ToServer),
        4 => (0usize..50_000).prop_map(Operation::ToClient),
        4 => (1usize..40_000).prop_map(Operation::ClientTurn),
        4 => (1usize..40_000).prop_map(Operation::ServerTurn),
        3 => Just(Operation::Consume),
        1 => any::<u8>().prop_map(Operation::ResetByClient),
        1 => any::<u8>().prop_map(Operation::ResetByServer),
        1 => any::<u8>().prop_map(Operation::Abandon),
        1 => any::<u8>().prop_map(Operation::Informational),
        1 => (any::<u8>(), 0u8..8, any::<bool>()).prop_map(|(stream, urgency, i)| Operation::Prioritise(stream, urgency, i)),
    ]
}

/// The state of an exchange on one side.
#[derive(Clone, Debug, Default)]
struct Half {
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
struct Plan {
    request: usize,
    response: usize,
    announced: bool,
    trailers: bool,
}

struct Pair {
    client: Client,
    server: Server,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    at_server: BytesMut,
    at_client: BytesMut,
    plans: BTreeMap<StreamId, Plan>,
    asking: BTreeMap<StreamId, Half>,
    answering: BTreeMap<StreamId, Half>,
    /// Cut off, or not read, by one of the two: what comes of it is not counted.
    spoiled: Vec<StreamId>,
}

impl Pair {
    fn new(limits: Limits) -> Self {
        Self {
            client: Client::new(Limits::default(), NOW),
            server: Server::new(limits, NOW),
            to_server: Vec::new(),
            to_client: Vec::new(),
            at_server: BytesMut::new(),
            at_client: BytesMut::new(),
            plans: BTreeMap::new(),
            asking: BTreeMap::new(),
            answering: BTreeMap::new(),
            spoiled: Vec::new(),
        }
    }

    fn ask(&mut self, plan: Plan) {
        let mut headers = Headers::new();
        for (name, value) in [("host", "a.example"), ("te", "trailers"), ("X-Number", &format!("{}", plan.request))] {
            headers.append(name, value).expect("a field");
        }
        let target = Target::parse("/path?query".into(), false).expect("a target");
        let head = RequestHead { method: Method::PUT, target, version: Version::HTTP_2, headers };
        match self.client.open(&head, length(plan.request, plan.announced), Asking::default()) {
            Ok(stream) => {
                let ended = plan.request == 0 && plan.announced;
                self.client.set_ready(stream, !ended);
                self.plans.insert(stream, plan);
                let half = Half { left: plan.request, ended, trailers: plan.trailers, ..Half::default() };
                self.asking.insert(stream, half);
            }
            Err(OpenError::WouldBlock) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn deliver_to_server(&mut self, bytes: usize) {
        let bytes = bytes.min(self.to_server.len());
        self.at_server.extend_from_slice(&self.to_server[..bytes]);
        self.to_server.drain(..bytes);
        while let Some(event) = self.server.receive(&mut self.at_server, NOW).expect("no rule is broken") {
            self.handle_at_server(event);
        }
    }

    fn handle_at_server(&mut self, event: Event) {
        match event {
            Event::Request(request) => {
                let plan = self.plans[&request.stream];
                assert_eq!(request.head.headers.get_str("x-number"), Some(&*plan.request.to_string()));
                assert_eq!(request.head.headers.get_str("host"), Some("a.example"));
                let expected = (!request.has_body || plan.announced).then_some(plan.request as u64);
                assert_eq!(request.length, expected);
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
                let half = self.answering.get_mut(&stream).expect("a request");
                half.received += data.len();
                half.held += data.len();
            }
            Event::End { stream, trailers } => {
                let half = self.answering.get_mut(&stream).expect("a request");
                assert!(!std::mem::replace(&mut half.got_end, true));
                half.got_trailers = trailers.is_some();
            }
            Event::Reset { stream, code } => {
                assert!(self.spoiled.contains(&stream) && code == ErrorCode::CANCEL, "{code}");
                self.answering.remove(&stream);
            }
            other => panic!("{other:?}"),
        }
    }

    fn deliver_to_client(&mut self, bytes: usize) {
        let bytes = bytes.min(self.to_client.len());
        self.at_client.extend_from_slice(&self.to_client[..bytes]);
        self.to_client.drain(..bytes);
        while let Some(event) = self.client.receive(&mut self.at_client, NOW).expect("no rule is broken") {
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
                    half.held += data.len();
                }
                ClientEvent::End { stream, trailers } => {
                    let half = self.asking.get_mut(&stream).expect("a request");
                    assert!(!std::mem::replace(&mut half.got_end, true));
                    half.got_trailers = trailers.is_some();
                }
                ClientEvent::Reset { stream, code } => {
                    let allowed = self.spoiled.contains(&stream) || code == ErrorCode::REFUSED_STREAM;
                    assert!(allowed, "{stream} {code}");
                    self.spoiled.push(stream);
                    self.asking.remove(&stream);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn client_turn(&mut self, room: usize) -> bool {
        self.client.write_control(&mut self.to_server);
        let Some(turn) = self.client.next_turn(room) else { return false };
        let Some(half) = self.asking.get_mut(&turn.stream) else { panic!("a turn for nobody: {turn:?}") };
        let bytes = turn.bytes.min(half.left);
        half.left -= bytes;
        let end = half.left == 0 && !half.trailers;
        let data = vec![b'c'; bytes];
        if bytes > 0 || end {
            self.client.write_data(turn.stream, &data, end, &mut self.to_server).expect("its turn");
        }
        half.ended = half.left == 0;
        if half.ended && half.trailers {
            self.client.write_trailers(turn.stream, &trailers(), &mut self.to_server).expect("its turn");
        }
        true
    }

    fn server_turn(&mut self, room: usize) -> bool {
        self.server.write_control(&mut self.to_client);
        let Some(turn) = self.server.next_turn(room) else { return false };
        if turn.head {
            self.server.write_head(turn.stream, b"today", &mut self.to_client).expect("a head");
        }
        let Some(half) = self.answering.get_mut(&turn.stream) else { panic!("a turn for nobody: {turn:?}") };
        if half.ended || turn.bytes == 0 && half.left > 0 {
            return true;
        }
        let bytes = turn.bytes.min(half.left);
        half.left -= bytes;
        let end = half.left == 0 && !half.trailers;
        if bytes > 0 || end {
            self.server.write_data(turn.stream, &vec![b's'; bytes], end, &mut self.to_client).expect("its turn");
        }
        half.ended = half.left == 0;
        if half.ended && half.trailers {
            self.server.write_trailers(turn.stream, &trailers(), &mut self.to_client).expect("its turn");
        }
        true
    }

    fn consume(&mut self) {
        for (stream, half) in &mut self.asking {
            self.client.note_consumed(*stream, std::mem::take(&mut half.held));
        }
        for (stream, half) in &mut self.answering {
            self.server.note_consumed(*stream, std::mem::take(&mut half.held));
        }
    }

    /// One of the streams the client has open.
    fn pick(&self, number: u8) -> Option<StreamId> {
        let count = self.asking.len().max(1);
        self.asking.keys().nth(usize::from(number) % count).copied()
    }

    fn play(&mut self, operation: &Operation) {
        match *operation {
            Operation::Ask { request, response, announced, trailers } => {
                self.ask(Plan { request, response, announced, trailers });
            }
            Operation::ToServer(bytes) => self.deliver_to_server(bytes),
            Operation::ToClient(bytes) => self.deliver_to_client(bytes),
            Operation::ClientTurn(room) => drop(self.client_turn(room)),
            Operation::ServerTurn(room) => drop(self.server_turn(room)),
            Operation::Consume => self.consume(),
            Operation::ResetByClient(number) => {
                if let Some(stream) = self.pick(number) {
                    self.client.reset(stream, ErrorCode::CANCEL);
                    self.asking.remove(&stream);
                    self.spoiled.push(stream);
                }
            }
            Operation::ResetByServer(number) => {
                if let Some(stream) = self.pick(number).filter(|stream| self.answering.contains_key(stream)) {
                    self.server.reset(stream, ErrorCode::CANCEL);
                    self.answering.remove(&stream);
                    self.spoiled.push(stream);
                }
            }
            Operation::Abandon(number) => {
                if let Some(stream) = self.pick(number).filter(|stream| self.answering.contains_key(stream)) {
                    self.server.abandon_body(stream);
                    self.spoiled.push(stream);
                }
            }
            Operation::Informational(number) => {
                let head =
                    ResponseHead { status: StatusCode::EARLY_HINTS, version: Version::HTTP_2, headers: Headers::new() };
                if let Some(stream) = self.pick(number) {
                    // Nearly always too late: the answer was given with the request.
                    let _ = self.server.send_informational(stream, &head);
                }
            }
            Operation::Prioritise(number, urgency, incremental) => {
                if let Some(stream) = self.pick(number) {
                    self.client.set_priority(stream, Priority { urgency, incremental });
                }
            }
        }
    }

    /// Lets everything come to its end.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            let mut moved = !self.to_server.is_empty() || !self.to_client.is_empty();
            self.deliver_to_server(usize::MAX);
            self.deliver_to_client(usize::MAX);
            self.consume();
            moved |= self.client_turn(16_384) | self.server_turn(16_384);
            moved |= self.client.has_control() || self.server.has_control();
            if !moved && self.to_server.is_empty() && self.to_client.is_empty() {
                if !self.server.has_unfinished_requests() {
                    return;
                }
                // As a driver does whose clients had time to end them.
                self.server.reset_unfinished_requests();
            }
        }
        panic!("it never ends");
    }

    fn check(&self) {
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

fn length(bytes: usize, announced: bool) -> BodyLength {
    if announced { BodyLength::Known(bytes as u64) } else { BodyLength::Unknown }
}

fn trailers() -> Headers {
    let mut trailers = Headers::new();
    trailers.append("X-Sum", "1").expect("a field");
    trailers
}

/// Miri interprets, some hundred times slower.
const CASES: u32 = if cfg!(miri) { 2 } else { 200 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn come_to_the_same_end(operations in vec(operation(), 1..120), streams in 1u32..20, stream_window in 1_000u32..100_000) {
        let mut pair = Pair::new(Limits { streams, stream_window, ..Limits::default() });
        for operation in &operations {
            pair.play(operation);
        }
        pair.settle();
        pair.check();
    }
}

#[test]
fn a_long_body_each_way() {
    let mut pair = Pair::new(Limits::default());
    for _ in 0..3 {
        pair.ask(Plan { request: 5_000_000, response: 7_000_000, announced: true, trailers: true });
    }
    pair.settle();
    pair.check();
    assert_eq!(pair.server.counters().opened, 3);
}

#[test]
fn a_dependency_carries_the_urgency_to_older_servers() {
    let (mut client, mut server) = (Client::new(Limits::default(), NOW), Server::new(Limits::default(), NOW));
    let head = RequestHead {
        method: Method::GET,
        target: Target::parse("https://a/".into(), false).expect("a target"),
        version: Version::HTTP_2,
        headers: Headers::new(),
    };
    let mut input = Vec::new();
    for (weight, urgency) in [(256, 0), (147, 3), (1, 7)] {
        let dependency = Some(Dependency { on: StreamId::CONNECTION, weight, exclusive: true });
        let stream = client.open(&head, BodyLength::Known(0), Asking { dependency, ..Asking::default() });
        client.write_control(&mut input);
        let event = server.receive(&mut BytesMut::from(&std::mem::take(&mut input)[..]), NOW);
        assert!(matches!(event, Ok(Some(Event::Request(_)))), "{event:?}");
        let priority = server.priority(stream.expect("a stream"));
        assert_eq!(priority, Priority { urgency, incremental: false });
    }
}

#[test]
fn the_server_leaves() {
    let mut pair = Pair::new(Limits::default());
    pair.ask(Plan { request: 0, response: 10, announced: true, trailers: false });
    pair.settle();
    pair.server.begin_shutdown();
    pair.server.write_control(&mut pair.to_client);
    // On its way while the client does not know yet.
    pair.ask(Plan { request: 0, response: 10, announced: true, trailers: false });
    pair.at_client.extend_from_slice(&std::mem::take(&mut pair.to_client));
    let event = pair.client.receive(&mut pair.at_client, NOW);
    assert!(matches!(event, Ok(Some(ClientEvent::GoAway { code: ErrorCode::NO_ERROR }))), "{event:?}");
    assert!(matches!(pair.client.receive(&mut pair.at_client, NOW), Ok(None)));
    let head = RequestHead {
        method: Method::GET,
        target: Target::parse("https://a/".into(), false).expect("a target"),
        version: Version::HTTP_2,
        headers: Headers::new(),
    };
    assert_eq!(pair.client.open(&head, BodyLength::Known(0), Asking::default()), Err(OpenError::GoAway));
    assert!(!pair.server.is_finished());
    pair.client.write_control(&mut pair.to_server);
    pair.deliver_to_server(usize::MAX);
    while pair.server_turn(100) {}
    assert!(pair.server.is_finished());
    pair.at_client.extend_from_slice(&std::mem::take(&mut pair.to_client));
    let mut events = Vec::new();
    while let Some(event) = pair.client.receive(&mut pair.at_client, NOW).expect("no rule is broken") {
        events.push(event);
    }
    assert!(
        matches!(
            &events[..],
            [ClientEvent::GoAway { .. }, ClientEvent::Response(_), ClientEvent::Data { .. }, ClientEvent::End { .. }]
        ),
        "{events:?}"
    );
    assert!(pair.client.is_finished());
}
