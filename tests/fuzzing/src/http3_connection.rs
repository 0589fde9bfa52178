//! Whatever a client does on its streams and whatever the driver does meanwhile, a server does not panic, holds no more than
//! its limits say, and has nothing left when all streams are over.

use core::time::Duration;

use arbitrary::Arbitrary;
use bytes::Bytes;
use serow_http3::{BodyLength, ErrorCode, Limits, OwnStream, Server, StreamId};
use serow_message::{Headers, Priority, ResponseHead, StatusCode, Version};

use crate::with_value;

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Bytes of one of the streams; with their end, or not.
    Receive(u8, Vec<u8>, bool),
    /// The head of a request, of usual fields.
    Request(u8, bool),
    /// A frame of a kind that is known, with this payload.
    Frame(u8, u8, Vec<u8>),
    ReceiveReset(u8),
    ReceiveStop(u8, u8),
    TakeEvent,
    TakeOrder,
    Respond(u8, u16, Option<u16>),
    Informational(u8, u16),
    Continue(u8),
    Ready(u8, bool),
    Writable(u8, bool),
    Turn(u16, bool),
    Trailers(u8),
    Reset(u8),
    Abandon(u8),
    Prioritise(u8, u8, bool),
    Control(u8, u8),
    BeginShutdown,
    FinishShutdown,
    Later(u16),
    Release,
}

/// Request streams, the client's unidirectional ones, and some that it must not have.
fn stream(number: u8) -> StreamId {
    StreamId::of_quic(match number {
        0..128 => u64::from(number) % 8 * 4,
        128..160 => 2,
        160..192 => 6,
        192..224 => 10,
        number => u64::from(number) - 224,
    })
}

fn kind(number: u8) -> &'static [u8] {
    [&[0][..], &[1], &[3], &[4], &[5], &[7], &[0xd], &[0x80, 0xf, 7, 0], &[0x80, 0xf, 7, 1], &[0x21], &[2]]
        [usize::from(number) % 11]
}

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(input: (bool, Vec<Operation>)) {
    let (has_begun, operations) = input;
    let mut connection = Connection::new();
    if has_begun {
        for (number, bytes) in [(2, &[0, 4, 4, 1, 0x40, 0xc8, 7][..4]), (6, &[2]), (10, &[3])] {
            connection.receive(StreamId::of_quic(number), Bytes::copy_from_slice(bytes), false);
        }
    }
    for operation in operations {
        let failed = connection.server.failure();
        connection.apply(operation);
        assert!(connection.server.active_streams() <= 4);
        assert!(failed.is_none() || failed == connection.server.failure(), "told again");
    }
    let mut server = connection.server;
    if server.failure().is_none() {
        for number in 0..64 {
            server.reset(StreamId::of_quic(4 * number), ErrorCode::INTERNAL_ERROR);
        }
        while server.next_event().is_some() {}
        assert_eq!((server.active_streams(), server.next_turn(usize::MAX), server.is_idle()), (0, None, true));
    }
}

/// A server with tight limits, and the driver's side of it.
struct Connection {
    server: Server,
    now: Duration,
    output: Vec<u8>,
}

impl Connection {
    fn new() -> Self {
        let limits = Limits {
            head: 300,
            fields: 8,
            body: 100,
            streams: 4,
            sections: 500,
            control: 500,
            resets: 20,
            idle_frames: 40,
            qpack_table: 200,
            qpack_blocked: 2,
            ..Limits::default()
        };
        let now = Duration::from_secs(1);
        Self { server: Server::new(limits, now), now, output: Vec::new() }
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Receive(number, bytes, fin) => self.receive(stream(number), bytes.into(), fin),
            Operation::Request(number, fin) => {
                let head = Bytes::from_static(&[1, 8, 0, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'a']);
                self.receive(stream(number), head, fin);
            }
            Operation::Frame(number, of, payload) => self.receive(stream(number), frame(of, &payload), false),
            Operation::ReceiveReset(number) => {
                let _ = self.server.receive_reset(stream(number), ErrorCode::REQUEST_CANCELLED, self.now);
            }
            Operation::ReceiveStop(number, code) => {
                let code = ErrorCode(0x100 + u64::from(code));
                let _ = self.server.receive_stop(stream(number), code, self.now);
            }
            Operation::TakeEvent => drop(self.server.next_event()),
            Operation::TakeOrder => drop(self.server.next_order()),
            Operation::Respond(number, status, length) => self.respond(number, status, length),
            Operation::Informational(number, status) => self.inform(number, status),
            Operation::Continue(number) => self.server.send_continue(stream(number)),
            Operation::Ready(number, ready) => self.server.set_ready(stream(number), ready),
            Operation::Writable(number, writable) => self.server.set_writable(stream(number), writable),
            Operation::Turn(room, end) => self.take_turn(room, end),
            Operation::Trailers(number) => {
                let _ = self.server.write_trailers(stream(number), &Headers::new(), &mut self.output);
            }
            Operation::Reset(number) => self.server.reset(stream(number), ErrorCode::INTERNAL_ERROR),
            Operation::Abandon(number) => self.server.abandon_body(stream(number)),
            Operation::Prioritise(number, urgency, incremental) => {
                self.server.set_priority(stream(number), Priority { urgency, incremental });
            }
            Operation::Control(number, bytes) => self.take_control(number, bytes),
            Operation::BeginShutdown => self.server.begin_shutdown(),
            Operation::FinishShutdown => self.server.finish_shutdown(),
            Operation::Later(milliseconds) => self.now += Duration::from_millis(milliseconds.into()),
            Operation::Release => self.server.release_memory(),
        }
    }

    fn receive(&mut self, stream: StreamId, bytes: Bytes, fin: bool) {
        let _ = self.server.receive(stream, bytes, fin, self.now);
    }

    fn respond(&mut self, number: u8, status: u16, length: Option<u16>) {
        if let Ok(status) = StatusCode::from_u16(status % 500 + 100) {
            let length = length.map_or(BodyLength::Unknown, |length| BodyLength::Known(length.into()));
            let _ = self.server.send_head(stream(number), status, Headers::new(), length);
        }
    }

    fn inform(&mut self, number: u8, status: u16) {
        if let Ok(status) = StatusCode::from_u16(status % 500 + 100) {
            let head = ResponseHead { status, version: Version::HTTP_3, headers: Headers::new() };
            let _ = self.server.send_informational(stream(number), &head);
        }
    }

    fn take_turn(&mut self, room: u16, end: bool) {
        let Some(turn) = self.server.next_turn(room.into()) else { return };
        if turn.head {
            let _ = self.server.write_head(turn.stream, b"today", &mut self.output).expect("its turn");
        }
        let written = self.server.write_data(turn.stream, &vec![0; turn.bytes], end, &mut self.output);
        if written.is_err() {
            self.server.set_ready(turn.stream, false);
        }
        assert!(self.output.len() < 10_000 + usize::from(room));
        self.output.clear();
    }

    fn take_control(&mut self, number: u8, bytes: u8) {
        let waiting = self.server.control(OwnStream::ALL[usize::from(number) % 3]);
        assert!(waiting.len() < 10_000);
        let taken = waiting.len().min(bytes.into());
        let _ = waiting.split_to(taken);
    }
}

fn frame(of: u8, payload: &[u8]) -> Bytes {
    let mut frame = kind(of).to_vec();
    let length = payload.len().min(63);
    frame.push(length as u8);
    frame.extend_from_slice(&payload[..length]);
    frame.into()
}
