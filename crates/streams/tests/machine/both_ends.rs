//! A client and a server that talk to each other in memory: whatever their drivers do, in whatever pieces and order the
//! bytes travel, no rule is broken, nothing is lost or stands still, and in the end nothing is left over.

use proptest::{collection::vec, prelude::*};
use serow_message::{BodyLength, Headers, Priority, ResponseHead, StatusCode};
use serow_streams::OpenError;

use self::pair::request_head;
use crate::protocol::{self, CANCELLED, Limits};

mod ends;
mod pair;

pub(crate) use self::{
    ends::{Connected, Side},
    pair::{Pair, Plan},
};

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
    /// So many bytes travel, in HTTP/3 on one of the streams.
    Deliver(Side, u8, usize),
    /// A side writes a turn of this size.
    Turn(Side, usize),
    /// HTTP/2: a side uses what it has.
    Consume,
    /// HTTP/3: the transport has room for a stream, or none.
    Writable(u8, bool),
    Reset(Side, u8),
    Abandon(u8),
    Informational(u8),
    Prioritise(u8, u8, bool),
}

fn operation() -> impl Strategy<Value = Operation> {
    let size = || prop_oneof![0usize..3, 0usize..2_000, 0usize..200_000];
    let side = || prop_oneof![Just(Side::Server), Just(Side::Client)];
    prop_oneof![
        4 => (size(), size(), any::<bool>(), any::<bool>())
            .prop_map(|(request, response, announced, trailers)| Operation::Ask { request, response, announced, trailers }),
        16 => (side(), any::<u8>(), 0usize..50_000).prop_map(|(to, lane, bytes)| Operation::Deliver(to, lane, bytes)),
        4 => (side(), any::<u8>(), 0usize..9).prop_map(|(to, lane, bytes)| Operation::Deliver(to, lane, bytes)),
        8 => (side(), 1usize..40_000).prop_map(|(of, room)| Operation::Turn(of, room)),
        3 => Just(Operation::Consume),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(stream, writable)| Operation::Writable(stream, writable)),
        2 => (side(), any::<u8>()).prop_map(|(by, stream)| Operation::Reset(by, stream)),
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
            Operation::Deliver(to, lane, bytes) => self.deliver(to, lane.into(), bytes),
            Operation::Turn(Side::Client, room) => drop(self.client_turn(room)),
            Operation::Turn(Side::Server, room) => drop(self.server_turn(room)),
            Operation::Consume => self.consume(),
            Operation::Writable(number, writable) => {
                if let Some(stream) = self.pick(number) {
                    self.ends.set_writable(stream, writable);
                }
            }
            Operation::Reset(Side::Client, number) => {
                if let Some(stream) = self.pick(number) {
                    self.ends.client.reset(stream, CANCELLED);
                    self.asking.remove(&stream);
                    self.spoiled.push(stream);
                }
            }
            Operation::Reset(Side::Server, number) => {
                if let Some(stream) = self.pick(number).filter(|stream| self.answering.contains_key(stream)) {
                    self.ends.server.reset(stream, CANCELLED);
                    self.answering.remove(&stream);
                    self.spoiled.push(stream);
                }
            }
            Operation::Abandon(number) => {
                if let Some(stream) = self.pick(number).filter(|stream| self.answering.contains_key(stream)) {
                    self.ends.server.abandon_body(stream);
                    self.spoiled.push(stream);
                }
            }
            Operation::Informational(number) => {
                let (status, headers) = (StatusCode::EARLY_HINTS, Headers::new());
                if let Some(stream) = self.pick(number) {
                    // Nearly always too late: the answer was given with the request.
                    let head = ResponseHead { status, version: protocol::VERSION, headers };
                    let _ = self.ends.server.send_informational(stream, &head);
                }
            }
            Operation::Prioritise(number, urgency, incremental) => {
                if let Some(stream) = self.pick(number) {
                    self.ends.client.set_priority(stream, Priority { urgency, incremental });
                }
            }
        }
        self.take_events();
    }
}

/// Miri interprets, some hundred times slower.
const CASES: u32 = if cfg!(miri) { 2 } else { 300 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn come_to_the_same_end(operations in vec(operation(), 1..120), streams in 1u32..20, limits in protocol::limits()) {
        let mut pair = Pair::new(Limits { streams, ..limits });
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
    assert_eq!(pair.ends.server.counters().opened, 3);
}

#[test]
fn many_requests_fill_the_tables() {
    let mut pair = Pair::new(Limits::default());
    for number in 0..300 {
        pair.ask(Plan { request: number, response: number, announced: number % 2 == 0, trailers: number % 3 == 0 });
        pair.settle();
    }
    pair.check();
    assert_eq!(pair.ends.server.counters().opened, 300);
}

#[test]
fn the_server_leaves() {
    let mut pair = Pair::new(Limits::default());
    let plan = Plan { request: 0, response: 10, announced: true, trailers: false };
    pair.ask(plan);
    pair.settle();
    pair.ends.server.begin_shutdown();
    pair.ends.flush(Side::Server);
    // On its way while the client does not know yet.
    pair.ask(plan);
    pair.deliver(Side::Client, 0, usize::MAX);
    assert_eq!(pair.go_aways, 1);
    assert_eq!(pair.ends.open(&request_head(0), BodyLength::Known(0)), Err(OpenError::GoAway));
    assert!(!pair.ends.server.is_finished());
    pair.settle();
    pair.check();
    assert_eq!(pair.ends.server.counters().opened, 2);
    protocol::finish_shutdown(&mut pair);
}

#[test]
fn requests_that_a_server_rejects_after_goaway_may_be_sent_again() {
    let mut pair = Pair::new(Limits::default());
    pair.ends.server.finish_shutdown();
    pair.ask(Plan { request: 0, response: 10, announced: true, trailers: false });
    let asked: Vec<_> = pair.asking.keys().copied().collect();
    pair.ends.flush(Side::Server);
    pair.deliver(Side::Client, 0, usize::MAX);
    assert!(pair.go_aways > 0);
    assert_eq!((asked.len(), pair.asking.len()), (1, 0));
    assert_eq!(pair.rejected, asked);
    pair.settle();
    pair.check();
}
