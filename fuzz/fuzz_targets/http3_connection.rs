//! Whatever a client does on its streams and whatever the driver does meanwhile, a server does not panic, holds no more than
//! its limits say, and has nothing left when all streams are over.
#![no_main]

use core::time::Duration;

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serow_http3::{BodyLength, ErrorCode, Limits, OwnStream, Server, StreamId};
use serow_message::{Headers, Priority, StatusCode};

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

fuzz_target!(|input: (bool, Vec<Operation>)| {
    let (has_begun, operations) = input;
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
    let mut now = Duration::from_secs(1);
    let mut server = Server::new(limits, now);
    let mut output = Vec::new();
    if has_begun {
        for (number, bytes) in [(2, &[0, 4, 4, 1, 0x40, 0xc8, 7][..4]), (6, &[2]), (10, &[3])] {
            let _ = server.receive(StreamId::of_quic(number), Bytes::copy_from_slice(bytes), false, now);
        }
    }
    for operation in operations {
        let failed = server.failure();
        match operation {
            Operation::Receive(number, bytes, fin) => {
                let _ = server.receive(stream(number), bytes.into(), fin, now);
            }
            Operation::Request(number, fin) => {
                let head = Bytes::from_static(&[1, 8, 0, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'a']);
                let _ = server.receive(stream(number), head, fin, now);
            }
            Operation::Frame(number, of, payload) => {
                let mut frame = kind(of).to_vec();
                let length = payload.len().min(63);
                frame.push(length as u8);
                frame.extend_from_slice(&payload[..length]);
                let _ = server.receive(stream(number), frame.into(), false, now);
            }
            Operation::ReceiveReset(number) => {
                let _ = server.receive_reset(stream(number), ErrorCode::REQUEST_CANCELLED, now);
            }
            Operation::ReceiveStop(number, code) => {
                let _ = server.receive_stop(stream(number), ErrorCode(0x100 + u64::from(code)), now);
            }
            Operation::TakeEvent => drop(server.next_event()),
            Operation::TakeOrder => drop(server.next_order()),
            Operation::Respond(number, status, length) => {
                if let Ok(status) = StatusCode::from_u16(status % 500 + 100) {
                    let length = length.map_or(BodyLength::Unknown, |length| BodyLength::Known(length.into()));
                    let _ = server.send_head(stream(number), status, Headers::new(), length);
                }
            }
            Operation::Informational(number, status) => {
                if let Ok(status) = StatusCode::from_u16(status % 500 + 100) {
                    let head = serow_message::ResponseHead {
                        status,
                        version: serow_message::Version::HTTP_3,
                        headers: Headers::new(),
                    };
                    let _ = server.send_informational(stream(number), &head);
                }
            }
            Operation::Continue(number) => server.send_continue(stream(number)),
            Operation::Ready(number, ready) => server.set_ready(stream(number), ready),
            Operation::Writable(number, writable) => server.set_writable(stream(number), writable),
            Operation::Turn(room, end) => {
                if let Some(turn) = server.next_turn(room.into()) {
                    if turn.head {
                        let _ = server.write_head(turn.stream, b"today", &mut output).expect("its turn");
                    }
                    let written = server.write_data(turn.stream, &vec![0; turn.bytes], end, &mut output);
                    if written.is_err() {
                        server.set_ready(turn.stream, false);
                    }
                    assert!(output.len() < 10_000 + usize::from(room));
                    output.clear();
                }
            }
            Operation::Trailers(number) => {
                let _ = server.write_trailers(stream(number), &Headers::new(), &mut output);
            }
            Operation::Reset(number) => server.reset(stream(number), ErrorCode::INTERNAL_ERROR),
            Operation::Abandon(number) => server.abandon_body(stream(number)),
            Operation::Prioritise(number, urgency, incremental) => {
                server.set_priority(stream(number), Priority { urgency, incremental });
            }
            Operation::Control(number, bytes) => {
                let waiting = server.control(OwnStream::ALL[usize::from(number) % 3]);
                assert!(waiting.len() < 10_000);
                let taken = waiting.len().min(bytes.into());
                let _ = waiting.split_to(taken);
            }
            Operation::BeginShutdown => server.begin_shutdown(),
            Operation::FinishShutdown => server.finish_shutdown(),
            Operation::Later(milliseconds) => now += Duration::from_millis(milliseconds.into()),
            Operation::Release => server.release_memory(),
        }
        assert!(server.active_streams() <= 4);
        assert!(failed.is_none() || failed == server.failure(), "told again");
    }
    if server.failure().is_none() {
        for number in 0..64 {
            server.reset(StreamId::of_quic(4 * number), ErrorCode::INTERNAL_ERROR);
        }
        while server.next_event().is_some() {}
        assert_eq!((server.active_streams(), server.next_turn(usize::MAX), server.is_idle()), (0, None, true));
    }
});
