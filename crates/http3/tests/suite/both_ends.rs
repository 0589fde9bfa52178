//! A client and a server that talk to each other in memory: whatever their drivers do, in whatever pieces and order the
//! streams' bytes travel, no rule is broken, nothing is lost or stands still, and in the end nothing is left over.

use proptest::{collection::vec, prelude::*};
use serow_http3::{Asking, BodyLength, ClientEvent, ErrorCode, Limits, OpenError, StreamId};
use serow_message::{Headers, Priority, ResponseHead, StatusCode, Version};

mod pair;

use self::pair::{Pair, Plan, request_head};

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
    /// So many bytes of one stream travel.
    ToServer(u8, usize),
    ToClient(u8, usize),
    /// A side writes turns of this size.
    ClientTurn(usize),
    ServerTurn(usize),
    /// A side's transport has room for a stream, or none.
    Writable(u8, bool),
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
        8 => (any::<u8>(), 0usize..50_000).prop_map(|(stream, bytes)| Operation::ToServer(stream, bytes)),
        8 => (any::<u8>(), 0usize..50_000).prop_map(|(stream, bytes)| Operation::ToClient(stream, bytes)),
        4 => (any::<u8>(), 0usize..9).prop_map(|(stream, bytes)| Operation::ToServer(stream, bytes)),
        4 => (1usize..40_000).prop_map(Operation::ClientTurn),
        4 => (1usize..40_000).prop_map(Operation::ServerTurn),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(stream, writable)| Operation::Writable(stream, writable)),
        1 => any::<u8>().prop_map(Operation::ResetByClient),
        1 => any::<u8>().prop_map(Operation::ResetByServer),
        1 => any::<u8>().prop_map(Operation::Abandon),
        1 => any::<u8>().prop_map(Operation::Informational),
        1 => (any::<u8>(), 0u8..8, any::<bool>()).prop_map(|(stream, urgency, i)| Operation::Prioritise(stream, urgency, i)),
    ]
}

impl Pair {
    fn play(&mut self, operation: &Operation) {
        match *operation {
            Operation::Ask { request, response, announced, trailers } => {
                self.ask(Plan { request, response, announced, trailers });
            }
            Operation::ToServer(lane, bytes) => self.deliver_to_server(lane.into(), bytes),
            Operation::ToClient(lane, bytes) => self.deliver_to_client(lane.into(), bytes),
            Operation::ClientTurn(room) => drop(self.client_turn(room)),
            Operation::ServerTurn(room) => drop(self.server_turn(room)),
            Operation::Writable(number, writable) => {
                if let Some(stream) = self.pick(number) {
                    self.client.set_writable(stream, writable);
                    self.server.set_writable(stream, writable);
                }
            }
            Operation::ResetByClient(number) => {
                if let Some(stream) = self.pick(number) {
                    self.client.reset(stream, ErrorCode::REQUEST_CANCELLED);
                    self.asking.remove(&stream);
                    self.spoiled.push(stream);
                }
            }
            Operation::ResetByServer(number) => {
                if let Some(stream) = self.pick(number).filter(|stream| self.answering.contains_key(stream)) {
                    self.server.reset(stream, ErrorCode::REQUEST_CANCELLED);
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
                    ResponseHead { status: StatusCode::EARLY_HINTS, version: Version::HTTP_3, headers: Headers::new() };
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
        self.carry_orders();
    }
}

/// Miri interprets, some hundred times slower.
const CASES: u32 = if cfg!(miri) { 2 } else { 300 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn come_to_the_same_end(operations in vec(operation(), 1..120), table in 0u32..5000, blocked in 0u16..20) {
        let limits = Limits { qpack_table: table, qpack_blocked: blocked, ..Limits::default() };
        let mut pair = Pair::new(limits);
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
fn many_requests_fill_the_tables() {
    let mut pair = Pair::new(Limits::default());
    for number in 0..300 {
        pair.ask(Plan { request: number, response: number, announced: number % 2 == 0, trailers: number % 3 == 0 });
        pair.settle();
    }
    pair.check();
}

#[test]
fn a_client_knows_how_many_streams_it_may_open() {
    let mut pair = Pair::new(Limits::default());
    pair.client.set_stream_credit(1);
    let mut output = Vec::new();
    let open = |pair: &mut Pair, output: &mut Vec<u8>| {
        pair.client.open(&request_head(0), BodyLength::Known(0), Asking::default(), output).map(|(stream, _)| stream)
    };
    assert_eq!(open(&mut pair, &mut output), Ok(StreamId::of_quic(0)));
    assert_eq!(open(&mut pair, &mut output), Err(OpenError::WouldBlock));
    pair.client.set_stream_credit(2);
    assert_eq!(open(&mut pair, &mut output), Ok(StreamId::of_quic(4)));
}

#[test]
fn the_server_leaves() {
    let mut pair = Pair::new(Limits::default());
    let plan = Plan { request: 0, response: 10, announced: true, trailers: false };
    pair.ask(plan);
    pair.settle();
    pair.server.begin_shutdown();
    // On its way while the client does not know yet.
    pair.ask(plan);
    pair.carry_control();
    pair.settle();
    assert_eq!(pair.go_aways, 1);
    let mut output = Vec::new();
    let opened = pair.client.open(&request_head(0), BodyLength::Known(0), Asking::default(), &mut output);
    assert_eq!(opened, Err(OpenError::GoAway));
    assert!(!pair.server.is_finished());
    pair.server.finish_shutdown();
    pair.settle();
    pair.check();
    assert!(pair.server.has_named_last() && pair.server.is_idle());
    assert!(!pair.server.is_finished(), "the client closes, or is given time");
    assert_eq!(pair.go_aways, 1, "told once");
}

#[test]
fn requests_that_a_server_rejects_after_goaway_may_be_sent_again() {
    let mut pair = Pair::new(Limits::default());
    pair.server.finish_shutdown();
    let mut output = Vec::new();
    let (stream, _) =
        pair.client.open(&request_head(0), BodyLength::Known(0), Asking::default(), &mut output).expect("a stream");
    pair.carry_control();
    pair.deliver_all_control();
    let events: Vec<_> = std::mem::take(&mut pair.client_events);
    assert!(
        matches!(
            events[..],
            [ClientEvent::GoAway { .. }, ClientEvent::Reset { stream: reset, code: ErrorCode::REQUEST_REJECTED }]
                if reset == stream
        ),
        "{events:?}"
    );
}
