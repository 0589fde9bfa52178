//! HTTP/2, as the tests that it shares with HTTP/3 see it.

use core::time::Duration;

use bytes::BytesMut;
use proptest::prelude::*;
use serow_http2::frame::{FrameHeader, Kind, flags};
use serow_message::{BodyLength, RequestHead, Version};
use serow_streams::{Follows, OpenError, ReceivedRequest, StreamId};

use crate::machine::{
    both_ends::Pair,
    client::{NOW, Served},
    script::Pieces,
};

mod ends;
mod frames;
mod lines;

pub(crate) use self::{ends::Ends, frames::Reader, lines::Writer};
pub(crate) use serow_http2::{
    Asking, Client, ClientEvent, Endpoint, ErrorCode, Event, Limits, ProtocolError, Server, UsageError,
};

pub(crate) const VERSION: Version = Version::HTTP_2;
pub(crate) const NUMBER: char = '2';
pub(crate) const NO_ERROR: ErrorCode = ErrorCode::NO_ERROR;
pub(crate) const CANCELLED: ErrorCode = ErrorCode::CANCEL;
pub(crate) const MALFORMED: ErrorCode = ErrorCode::PROTOCOL_ERROR;
pub(crate) const REJECTED: ErrorCode = ErrorCode::REFUSED_STREAM;
pub(crate) const EXCESSIVE: ErrorCode = ErrorCode::ENHANCE_YOUR_CALM;

/// The frame that cuts a stream off.
pub(crate) const CUT: &str = "RST_STREAM";

/// The preface and the settings of the client.
pub(crate) const BEGINNING: &[&str] =
    &["BYTES 50 52 49 20 2a 20 48 54 54 50 2f 32 2e 30 0d 0a 0d 0a 53 4d 0d 0a 0d 0a", "SETTINGS", "SETTINGS ack"];

/// The settings of a server.
pub(crate) const SERVER_BEGINNING: &[&str] = &["SETTINGS 8=1", "SETTINGS ack"];

/// GOAWAY with the first of three requests as the last that the server looks at, and with none.
pub(crate) const GO_AWAYS: [&str; 2] = ["GOAWAY 1 0", "GOAWAY 0 0"];

/// The events of another GOAWAY.
pub(crate) const GO_AWAY_AGAIN: &[&str] = &["goaway"];

/// The end of a message whose last bytes were sent.
pub(crate) const EMPTY_END: &str = "DATA #1 end";

/// Requests, and what cuts them off.
pub(crate) const CUTS: [(&str, &str); 2] =
    [("HEADERS {} end | GET /", "RST_STREAM {} 8"), ("HEADERS {} | POST /", "RST_STREAM {} 8")];

/// A request, and mistakes for which its stream is cut off.
pub(crate) const MISTAKES: (&str, &[&str]) = (
    "HEADERS {} end | GET /",
    &["WINDOW_UPDATE {} 0", "WINDOW_UPDATE {} 2147483647", "DATA {} x", "HEADERS {} | x-one: 1", "PRIORITY {} on {}"],
);

pub(crate) const MALFORMED_REQUESTS: &[&str] = &["HEADERS {} end | GET / | A: b"];

/// CVE-2019-9512 (PING), CVE-2019-9515 (SETTINGS), CVE-2019-9513 (PRIORITY), CVE-2019-9518 (empty DATA), and others,
/// while the first stream is open, the second has been answered, and the third was cut off.
pub(crate) const FLOOD: &[&str] = &[
    "PING 12345678",
    "PING ack 12345678",
    "SETTINGS",
    "SETTINGS 4=100",
    "SETTINGS ack",
    "PRIORITY 7 on 5",
    "PRIORITY_UPDATE 7 u=1",
    "WINDOW_UPDATE 0 1",
    "WINDOW_UPDATE 1 1",
    "DATA 1",
    "DATA 1 pad 20",
    "RST_STREAM 3 8",
    "WINDOW_UPDATE 3 1",
    "DATA 5 size 1",
    "BYTES 00 00 00 fa 00 00 00 00 00",
];

/// How cases are played.
pub(crate) const PIECES: [Pieces; 2] = [Pieces::Lines, Pieces::Bytes];

/// Whether the data of a frame may be several events.
pub(crate) const SPLITS_DATA: bool = false;

/// The number of the nth request's stream, from 0.
pub(crate) fn nth(number: usize) -> u64 {
    2 * number as u64 + 1
}

pub(crate) fn stream(number: u64) -> StreamId {
    StreamId::new(number as u32)
}

pub(crate) fn code(word: &str) -> ErrorCode {
    ErrorCode(word.parse().expect("the number of a code"))
}

/// Whether a frame says that the connection has failed.
pub(crate) fn is_failure(line: &str) -> bool {
    line.starts_with("GOAWAY") && !line.ends_with("NO_ERROR")
}

/// Does a step of the driver that only this version has: `consumed 1 100`.
pub(crate) fn act(server: &mut Server, stream: StreamId, words: &[&str]) {
    match words {
        ["consumed", _, bytes] => server.note_consumed(stream, bytes.parse().expect("a number")),
        other => panic!("the driver does not know {other:?}"),
    }
}

/// Sets a limit that only this version has.
pub(crate) fn set(_: &mut Limits, name: &str, _: usize) {
    panic!("no limit is named {name}");
}

/// Limits of what only this version has.
pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    (1_000u32..100_000).prop_map(|stream_window| Limits { stream_window, ..Limits::default() })
}

/// Whether a stream ends with what was written for it: the last frame says so.
pub(crate) fn follows(written: Result<(), UsageError>, output: &[u8]) -> Result<Follows, UsageError> {
    let (mut rest, mut ends) = (output, false);
    while let Some(header) = FrameHeader::read(rest) {
        rest = &rest[FrameHeader::LENGTH + header.length..];
        ends = [Kind::DATA, Kind::HEADERS].contains(&header.kind) && header.flags & flags::END_STREAM != 0;
    }
    written.map(|()| if ends { Follows::Fin } else { Follows::More })
}

/// Takes in the line of a request as a connection's first.
pub(crate) fn receive_request(server: &mut Server, line: &str, now: Duration) -> ReceivedRequest {
    let mut writer = Writer::default();
    let bytes: Vec<u8> = BEGINNING[..2].iter().chain([&line]).flat_map(|line| writer.encode(line)).collect();
    let event = server.receive(&mut BytesMut::from(&bytes[..]), now);
    let Ok(Some(Event::Request(request))) = event else { panic!("{event:?}") };
    request
}

/// Bytes of the stream's request were used.
pub(crate) fn note_room(server: &mut Server, stream: StreamId) {
    server.note_consumed(stream, 100);
}

pub(crate) fn client(limits: Limits, now: Duration) -> Client {
    Client::new(limits, now)
}

/// Begins a request.
pub(crate) fn open(
    client: &mut Client,
    head: &RequestHead,
    length: BodyLength,
    asking: Asking<'_>,
) -> Result<(StreamId, Follows), OpenError> {
    let stream = client.open(head, length, asking)?;
    Ok((stream, if length == BodyLength::Known(0) { Follows::Fin } else { Follows::More }))
}

/// The client receives a line; gives the code with which the connection failed, if it did.
pub(crate) fn receive_line(
    client: &mut Client,
    writer: &mut Writer,
    line: &str,
    mut note: impl FnMut(ClientEvent),
) -> Option<ErrorCode> {
    let mut input = BytesMut::from(&writer.encode(line)[..]);
    loop {
        match client.receive(&mut input, NOW) {
            Ok(Some(event)) => note(event),
            Ok(None) => break,
            Err(ProtocolError::Connection { code, .. }) => return Some(code),
            Err(error) => panic!("{error}"),
        }
    }
    client.write_control(&mut Vec::new());
    None
}

/// The server allows one stream at a time.
pub(crate) fn allow_one(served: &mut Served, _opened: u64) {
    assert_eq!(served.told(&["SETTINGS 3=1"]), [""; 0]);
}

/// The server has told which stream is the last, and all are over.
pub(crate) fn finish_shutdown(pair: &mut Pair) {
    assert_eq!(pair.go_aways, 2, "with the answer to its PING");
    assert!(pair.ends.server.is_finished() && pair.ends.client.is_finished());
}
