//! HTTP/3, as the tests that it shares with HTTP/2 see it.

use core::time::Duration;

use proptest::prelude::*;
use serow_message::{BodyLength, RequestHead, Version};
use serow_streams::{OpenError, ReceivedRequest};

use self::lines::hexadecimal;
use crate::machine::{
    both_ends::{Connected as _, Pair, Side},
    client::{NOW, Served},
    script::Pieces,
};

mod ends;
mod frames;
mod lines;

pub(crate) use self::{
    ends::Ends,
    frames::{Reader, Writer},
    lines::{Said, encode},
};
pub(crate) use serow_http3::{
    Asking, Client, ClientEvent, Endpoint, ErrorCode, Event, Follows, Limits, ProtocolError, Server, StreamId,
    UsageError,
};

pub(crate) const VERSION: Version = Version::HTTP_3;
pub(crate) const NUMBER: char = '3';
pub(crate) const NO_ERROR: ErrorCode = ErrorCode::NO_ERROR;
pub(crate) const CANCELLED: ErrorCode = ErrorCode::REQUEST_CANCELLED;
pub(crate) const MALFORMED: ErrorCode = ErrorCode::MESSAGE_ERROR;
pub(crate) const REJECTED: ErrorCode = ErrorCode::REQUEST_REJECTED;
pub(crate) const EXCESSIVE: ErrorCode = ErrorCode::EXCESSIVE_LOAD;

/// The signal that cuts off what its sender sends of a stream.
pub(crate) const CUT: &str = "RESET";

/// The three streams that each side opens, and the settings of the client.
pub(crate) const BEGINNING: &[&str] = &["BYTES 2 00", "SETTINGS", "BYTES 6 02", "BYTES 10 03"];

/// The three streams of a server, and its settings.
pub(crate) const SERVER_BEGINNING: &[&str] = &["BYTES 3 00 04 02 08 01", "BYTES 7 02", "BYTES 11 03"];

/// GOAWAY with the second of three requests as the first that the server does not look at, and with the first.
pub(crate) const GO_AWAYS: [&str; 2] = ["FRAME 3 07 04", "FRAME 3 07 00"];

/// The events of another GOAWAY.
pub(crate) const GO_AWAY_AGAIN: &[&str] = &[];

/// The end of a message whose last bytes were sent.
pub(crate) const EMPTY_END: &str = "END #1";

/// Requests, and what cuts them off.
pub(crate) const CUTS: [(&str, &str); 3] = [
    ("HEADERS {} | POST /", "RESET {} 10c"),
    ("HEADERS {} | POST /", "STOP {} 10c"),
    ("HEADERS {} end | GET /", "STOP {} 10c"),
];

/// A request, and mistakes for which its stream is cut off.
pub(crate) const MISTAKES: (&str, &[&str]) = (
    "HEADERS {} | POST / | content-length: 1",
    &["DATA {} xx", "HEADERS {} | :path: /", "HEADERS {} | X: 1", "END {}"],
);

pub(crate) const MALFORMED_REQUESTS: &[&str] = &["HEADERS {} end | GET / | A: b", "END {}", "FRAME {} end 21"];

/// While the first stream is open, the second has been answered, and the third was cut off.
pub(crate) const FLOOD: &[&str] = &[
    // Reserved frames, small and empty.
    "FRAME 2 21",
    "FRAME 2 40 00",
    "FRAME 0 21",
    "FRAME 0 40 00",
    "FRAME 12 21",
    // As CVE-2019-9518.
    "DATA 0",
    // As CVE-2019-9513.
    "PRIORITY_UPDATE 0 u=1",
    "PRIORITY_UPDATE 800 u=1",
    "MAX_PUSH_ID 5",
    "GOAWAY 5",
];

/// How cases are played.
pub(crate) const PIECES: [Pieces; 3] = [Pieces::Lines, Pieces::Bytes, Pieces::Interleaved];

/// Whether the data of a frame may be several events.
pub(crate) const SPLITS_DATA: bool = true;

/// The number of the nth request's stream, from 0.
pub(crate) fn nth(number: usize) -> u64 {
    4 * number as u64
}

pub(crate) fn stream(number: u64) -> StreamId {
    StreamId::of_quic(number)
}

pub(crate) fn code(word: &str) -> ErrorCode {
    ErrorCode(hexadecimal(word))
}

/// Whether a line says that the connection has failed, for which there is no frame.
pub(crate) fn is_failure(line: &str) -> bool {
    line.starts_with("CLOSE")
}

/// Does a step of the driver that only this version has: `credit 10`, `writable 0`, `unwritable 0`.
pub(crate) fn act(server: &mut Server, stream: StreamId, words: &[&str]) {
    match words {
        ["credit", streams] => server.set_stream_credit(streams.parse().expect("a number")),
        ["writable", _] => server.set_writable(stream, true),
        ["unwritable", _] => server.set_writable(stream, false),
        other => panic!("the driver does not know {other:?}"),
    }
}

/// Sets a limit that only this version has.
pub(crate) fn set(limits: &mut Limits, name: &str, number: usize) {
    match name {
        "sections" => limits.sections = number,
        "table" => limits.qpack_table = number as u32,
        "blocked" => limits.qpack_blocked = number as u16,
        other => panic!("no limit is named {other}"),
    }
}

/// Limits of what only this version has.
pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    (0u32..5000, 0u16..20).prop_map(|(qpack_table, qpack_blocked)| Limits {
        qpack_table,
        qpack_blocked,
        ..Limits::default()
    })
}

/// Whether a stream ends with what was written for it.
pub(crate) fn follows(written: Result<Follows, UsageError>, _output: &[u8]) -> Result<Follows, UsageError> {
    written
}

/// Takes in the line of a request as a connection's first.
pub(crate) fn receive_request(server: &mut Server, line: &str, now: Duration) -> ReceivedRequest {
    let Said::Bytes(stream, bytes, fin) = encode(line) else { panic!("no bytes") };
    server.receive(stream, bytes.into(), fin, now).expect("a request");
    let Some(Event::Request(request)) = server.next_event() else { panic!("no request") };
    assert!(server.next_event().is_none());
    request
}

/// The stream has room.
pub(crate) fn note_room(server: &mut Server, stream: StreamId) {
    server.set_writable(stream, true);
}

pub(crate) fn client(limits: Limits, now: Duration) -> Client {
    let mut client = Client::new(limits, now);
    client.set_stream_credit(u64::MAX);
    client
}

/// Begins a request.
pub(crate) fn open(
    client: &mut Client,
    head: &RequestHead,
    length: BodyLength,
    asking: Asking<'_>,
) -> Result<(StreamId, Follows), OpenError> {
    client.open(head, length, asking, &mut Vec::new())
}

/// The client receives a line; gives the code with which the connection failed, if it did.
pub(crate) fn receive_line(
    client: &mut Client,
    _: &mut Writer,
    line: &str,
    mut note: impl FnMut(ClientEvent),
) -> Option<ErrorCode> {
    let result = match encode(line) {
        Said::Bytes(stream, bytes, fin) => client.receive(stream, bytes.into(), fin, NOW),
        Said::Reset(stream, code) => client.receive_reset(stream, code, NOW),
        Said::Stop(stream, code) => client.receive_stop(stream, code, NOW),
    };
    while let Some(event) = client.next_event() {
        note(event);
    }
    assert!(result.is_ok() || client.failure().is_some());
    client.failure().map(|error| match error {
        ProtocolError::Connection { code, .. } => code,
        error => panic!("{error}"),
    })
}

/// The server allows one stream more.
pub(crate) fn allow_one(served: &mut Served, opened: u64) {
    served.client.set_stream_credit(opened + 1);
}

/// The server tells which stream is the last; all are over.
pub(crate) fn finish_shutdown(pair: &mut Pair) {
    pair.ends.server.finish_shutdown();
    pair.ends.flush(Side::Server);
    pair.settle();
    let server = &pair.ends.server;
    assert!(server.has_named_last() && server.is_idle());
    assert!(!server.is_finished(), "the client closes, or is given time");
    assert!(pair.ends.client.is_finished());
    assert_eq!(pair.go_aways, 1, "told once");
}
