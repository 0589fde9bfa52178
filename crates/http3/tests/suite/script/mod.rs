//! A client written down line by line, and what a server says to it.
//!
//! ```text
//! HEADERS 0 end | GET / | name: value   a request's head; `GET /` stands for the four usual pseudo-header fields
//! DATA 0 [end] [size 100 | text]        `end`: FIN behind it
//! FRAME 0 [end] 21 00 00                a frame of any kind, with this payload, in hexadecimal digits
//! BYTES 0 [end] 00 00                   any bytes of any stream
//! END 0, RESET 0 10c, STOP 0 10c        FIN, RESET_STREAM, STOP_SENDING
//! SETTINGS 6=100 …, GOAWAY 0, MAX_PUSH_ID 0, CANCEL_PUSH 0, PRIORITY_UPDATE 0 u=1      on the control stream, 2
//! ```

// Each test takes from here what it needs.
#![allow(dead_code)]

use core::time::Duration;
use std::{
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
};

use bytes::Bytes;
use serow_http3::{
    BodyLength, ErrorCode, Event, Follows, Limits, OwnStream, ProtocolError, Server, StreamId, StreamOrder,
    frame::Kind, qpack::Decoder, varint,
};
use serow_message::{Headers, StatusCode};

use crate::taken::describe::describe;

mod lines;

pub(crate) use self::lines::{Said, encode};

/// A server, and the client that talks to it.
pub(crate) struct Talk {
    pub(crate) server: Server,
    pub(crate) now: Duration,
    decoder: Decoder,
    /// The bytes of each stream that the transport holds, and whether it ends there.
    held: BTreeMap<u64, (Vec<u8>, bool)>,
    /// Bytes from each of the server's streams that are not a whole frame yet.
    output: HashMap<u64, Vec<u8>>,
    /// The rest of each response's body.
    bodies: HashMap<StreamId, Vec<u8>>,
    /// The server's events, a line for each.
    pub(crate) events: Vec<String>,
    /// The server's frames, a line for each.
    pub(crate) frames: Vec<String>,
    pub(crate) error: Option<ProtocolError>,
    /// Whether the driver takes events.
    pub(crate) takes_events: bool,
    /// Whether instructions on the QPACK streams are noted.
    pub(crate) notes_qpack: bool,
}

/// How the client's bytes arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pieces {
    Whole,
    Bytes,
    /// A byte of each stream in turns, where lines follow each other.
    Interleaved,
}

/// The server's own streams (RFC 9000 §2.1).
const CONTROL: u64 = 3;
const ENCODER: u64 = 7;
const DECODER: u64 = 11;

impl Talk {
    /// Before anything was sent.
    pub(crate) fn new(limits: Limits) -> Self {
        let now = Duration::from_secs(1000);
        Self {
            server: Server::new(limits, now),
            now,
            decoder: Decoder::new(0, 0),
            held: BTreeMap::new(),
            output: HashMap::new(),
            bodies: HashMap::new(),
            events: Vec::new(),
            frames: Vec::new(),
            error: None,
            takes_events: true,
            notes_qpack: false,
        }
    }

    /// Behind both sides' settings, with the three streams that each opens.
    pub(crate) fn begun(limits: Limits) -> Self {
        let mut talk = Self::new(limits);
        for line in ["BYTES 2 00", "SETTINGS", "BYTES 6 02", "BYTES 10 03"] {
            talk.say(line);
        }
        assert_eq!((&talk.error, talk.events.len()), (&None, 0));
        talk.frames.clear();
        talk
    }

    /// Sends one line.
    pub(crate) fn say(&mut self, line: &str) {
        self.say_all(&[line], Pieces::Whole);
    }

    /// Sends lines that follow each other.
    pub(crate) fn say_all(&mut self, lines: &[&str], pieces: Pieces) {
        let mut streams: BTreeMap<u64, (Vec<u8>, bool)> = BTreeMap::new();
        for line in lines {
            match encode(line) {
                Said::Bytes(stream, bytes, end) if pieces == Pieces::Interleaved => {
                    let (waiting, ends) = streams.entry(stream).or_default();
                    waiting.extend_from_slice(&bytes);
                    *ends |= end;
                }
                Said::Bytes(stream, bytes, end) if pieces == Pieces::Bytes => self.feed_bytes(stream, &bytes, end),
                Said::Bytes(stream, bytes, end) => self.feed(stream, &bytes, end),
                Said::Reset(stream, code) => {
                    self.interleave(std::mem::take(&mut streams));
                    self.note(|server, now| server.receive_reset(StreamId::of_quic(stream), ErrorCode(code), now));
                }
                Said::Stop(stream, code) => {
                    self.interleave(std::mem::take(&mut streams));
                    self.note(|server, now| server.receive_stop(StreamId::of_quic(stream), ErrorCode(code), now));
                }
            }
        }
        self.interleave(streams);
    }

    fn feed_bytes(&mut self, stream: u64, bytes: &[u8], end: bool) {
        for (place, byte) in bytes.chunks(1).enumerate() {
            self.feed(stream, byte, end && place + 1 == bytes.len());
        }
        if bytes.is_empty() {
            self.feed(stream, b"", end);
        }
    }

    fn interleave(&mut self, mut streams: BTreeMap<u64, (Vec<u8>, bool)>) {
        while !streams.is_empty() {
            streams.retain(|&stream, (bytes, end)| {
                let rest = bytes.split_off(bytes.len().min(1));
                self.feed(stream, bytes, *end && rest.is_empty());
                *bytes = rest;
                !bytes.is_empty()
            });
        }
    }

    /// Gives bytes to the server, and takes what it has to say.
    pub(crate) fn feed(&mut self, stream: u64, bytes: &[u8], end: bool) {
        let (held, ends) = self.held.entry(stream).or_default();
        held.extend_from_slice(bytes);
        *ends |= end;
        self.deliver(stream);
        for stream in self.held.keys().copied().collect::<Vec<_>>() {
            self.deliver(stream);
        }
    }

    /// Delivers what the transport holds of a stream, if the server wants it.
    fn deliver(&mut self, stream: u64) {
        let id = StreamId::of_quic(stream);
        if self.server.wants_data(id)
            && let Some((held, end)) = self.held.remove(&stream)
        {
            self.note(|server, now| server.receive(id, Bytes::from(held), end, now));
        }
    }

    fn note(&mut self, receive: impl FnOnce(&mut Server, Duration) -> Result<(), ProtocolError>) {
        let result = receive(&mut self.server, self.now);
        self.take_events();
        if let Err(error) = result {
            assert_eq!(self.server.failure(), Some(error));
        }
        self.drain();
    }

    pub(crate) fn take_events(&mut self) {
        while self.takes_events
            && let Some(event) = self.server.next_event()
        {
            self.events.push(describe(&event));
        }
    }

    /// Takes what the server does by itself.
    pub(crate) fn drain(&mut self) {
        for (own, stream) in OwnStream::ALL.into_iter().zip([CONTROL, ENCODER, DECODER]) {
            let output = self.server.control(own).split();
            self.take(stream, &output, Follows::More);
        }
        if let Some(error @ ProtocolError::Connection { code, .. }) = self.server.failure()
            && self.error.is_none()
        {
            assert!(self.server.is_finished());
            assert_eq!(self.server.next_turn(usize::MAX), None);
            self.error = Some(error);
            self.frames.push(format!("CLOSE {code}"));
        }
        while let Some(order) = self.server.next_order() {
            self.frames.push(match order {
                StreamOrder::Reset { stream, code } => format!("RESET {stream} {code}"),
                StreamOrder::Stop { stream, code } => format!("STOP {stream} {code}"),
            });
        }
        assert!(!self.server.has_control());
    }

    /// The whole response to a request.
    pub(crate) fn respond(&mut self, stream: u64, status: u16, body: &str) {
        let (stream, status) = (StreamId::of_quic(stream), StatusCode::from_u16(status).expect("a status"));
        let length = BodyLength::Known(body.len() as u64);
        let sends = self.server.send_head(stream, status, Headers::new(), length).expect("its turn");
        self.server.set_ready(stream, sends);
        self.bodies.insert(stream, body.as_bytes().to_vec());
        self.turns();
    }

    /// Takes all turns there are; the end of a stream goes with its last byte.
    pub(crate) fn turns(&mut self) {
        while let Some(turn) = self.server.next_turn(16_384) {
            let mut output = Vec::new();
            let mut follows = Follows::More;
            if turn.head {
                follows = self.server.write_head(turn.stream, b"", &mut output).expect("a head");
            }
            let body = self.bodies.entry(turn.stream).or_default();
            let now: Vec<u8> = body.drain(..turn.bytes.min(body.len())).collect();
            if !now.is_empty() {
                follows = self.server.write_data(turn.stream, &now, body.is_empty(), &mut output).expect("data");
            } else if !turn.head {
                self.server.set_ready(turn.stream, false);
            }
            self.take(turn.stream.get(), &output, follows);
        }
        self.drain();
    }

    pub(crate) fn take(&mut self, stream: u64, output: &[u8], follows: Follows) {
        let mut waiting = self.output.remove(&stream).unwrap_or_default();
        let is_new = waiting.is_empty() && !self.output.contains_key(&stream);
        waiting.extend_from_slice(output);
        let mut rest = &waiting[..];
        if stream & 3 == 3 && is_new && !output.is_empty() && self.output.insert(stream | 1 << 60, vec![]).is_none() {
            let (kind, length) = varint::read(rest).expect("the type of a stream");
            assert_eq!(kind, [0, 2, 3][(stream / 4) as usize]);
            rest = &rest[length..];
        }
        if stream == ENCODER || stream == DECODER {
            if !rest.is_empty() && self.notes_qpack {
                let name = if stream == ENCODER { "ENCODER" } else { "DECODER" };
                self.frames.push(format!("{name}{}", hex(rest)));
            }
            return;
        }
        while let Some((kind, first)) = varint::read(rest)
            && let Some((length, second)) = varint::read(&rest[first..])
            && rest.len() >= first + second + length as usize
        {
            let payload = &rest[first + second..][..length as usize];
            rest = &rest[first + second + length as usize..];
            let end = if follows == Follows::Fin && rest.is_empty() { " end" } else { "" };
            let line = self.describe_frame(stream, Kind(kind), payload, end);
            self.frames.push(line);
        }
        assert!(rest.is_empty(), "a part of a frame: {rest:?}");
        if follows == Follows::Fin && output.is_empty() {
            self.frames.push(format!("END {stream}"));
        }
    }

    fn describe_frame(&mut self, stream: u64, kind: Kind, payload: &[u8], end: &str) -> String {
        match kind {
            Kind::HEADERS => {
                let mut line = format!("HEADERS {stream}{end}");
                let decoded = self.decoder.decode(StreamId::of_quic(stream), payload, |field| {
                    line += &format!(" | {}: {}", field.name.escape_ascii(), field.value.escape_ascii());
                    ControlFlow::Continue(())
                });
                decoded.expect("a section that is right");
                line
            }
            Kind::DATA if payload.len() > 40 => format!("DATA {stream}{end} size {}", payload.len()),
            Kind::DATA => format!("DATA {stream}{end} {}", payload.escape_ascii()).trim_end().into(),
            Kind::SETTINGS => {
                let (mut line, mut rest) = (String::from("SETTINGS"), payload);
                while let Some((key, first)) = varint::read(rest) {
                    let (value, second) = varint::read(&rest[first..]).expect("a value");
                    line += &format!(" {key:x}={value}");
                    rest = &rest[first + second..];
                }
                line
            }
            Kind::GOAWAY => format!("GOAWAY {}", varint::read(payload).expect("a number").0),
            other => format!("{other} {stream}{}", hex(payload)),
        }
    }
}

pub(crate) fn events(server: &mut Server) -> Vec<Event> {
    std::iter::from_fn(|| server.next_event()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |line, byte| format!("{line} {byte:02x}"))
}
