//! The two ends of a conversation in lines: what the client sends, and what it sees of the server's streams.

use core::time::Duration;
use std::{
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
};

use bytes::Bytes;
use serow_http3::{
    Follows, OwnStream, ProtocolError, Server, StreamId, StreamOrder, frame::Kind, qpack::Decoder, varint,
};

use super::lines::{Said, encode};
use crate::machine::script::{Pieces, Reading, Speaking, Talk, describe_data};

/// The bytes of each stream that the transport holds, and whether it ends there.
pub(crate) type Writer = BTreeMap<StreamId, (Vec<u8>, bool)>;

/// The client's look at the server's streams.
pub(crate) struct Reader {
    decoder: Decoder,
    /// Bytes from each of the server's own streams that came before.
    read: HashMap<StreamId, usize>,
    /// Whether instructions on the QPACK streams are shown.
    shows_qpack: bool,
    has_failed: bool,
}

/// The server's own streams (RFC 9000 §2.1), and their types.
const OWN: [(u64, u64); 3] = [(3, 0), (7, 2), (11, 3)];

impl Default for Reader {
    fn default() -> Self {
        Self { decoder: Decoder::new(0, 0), read: HashMap::new(), shows_qpack: false, has_failed: false }
    }
}

impl Speaking for Talk {
    fn say_all(&mut self, lines: &[&str], pieces: Pieces) {
        let mut streams = Writer::new();
        for line in lines {
            match encode(line) {
                Said::Bytes(stream, bytes, end) if pieces == Pieces::Interleaved => {
                    let (waiting, ends) = streams.entry(stream).or_default();
                    waiting.extend_from_slice(&bytes);
                    *ends |= end;
                }
                Said::Bytes(stream, bytes, end) if pieces == Pieces::Bytes => {
                    self.interleave(Writer::from([(stream, (bytes, end))]));
                }
                Said::Bytes(stream, bytes, end) => self.feed(stream, &bytes, end),
                Said::Reset(stream, code) => {
                    self.interleave(std::mem::take(&mut streams));
                    self.receive(|server, now| server.receive_reset(stream, code, now));
                }
                Said::Stop(stream, code) => {
                    self.interleave(std::mem::take(&mut streams));
                    self.receive(|server, now| server.receive_stop(stream, code, now));
                }
            }
        }
        self.interleave(streams);
    }

    fn take_events(&mut self) {
        while let Some(event) = self.server.next_event() {
            self.note(&event);
        }
        if let (Some(error), None) = (self.server.failure(), self.error) {
            self.fail(error);
        }
    }
}

impl Talk {
    fn interleave(&mut self, mut streams: Writer) {
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
    pub(crate) fn feed(&mut self, stream: StreamId, bytes: &[u8], end: bool) {
        let (held, ends) = self.writer.entry(stream).or_default();
        held.extend_from_slice(bytes);
        *ends |= end;
        self.deliver(stream);
        for stream in self.writer.keys().copied().collect::<Vec<_>>() {
            self.deliver(stream);
        }
    }

    /// Delivers what the transport holds of a stream, if the server wants it.
    fn deliver(&mut self, stream: StreamId) {
        if self.server.wants_data(stream)
            && let Some((held, end)) = self.writer.remove(&stream)
        {
            self.receive(|server, now| server.receive(stream, Bytes::from(held), end, now));
        }
    }

    fn receive(&mut self, receive: impl FnOnce(&mut Server, Duration) -> Result<(), ProtocolError>) {
        let result = receive(&mut self.server, self.now);
        self.take_events();
        if let Err(error) = result {
            assert_eq!(self.server.failure(), Some(error));
        }
        self.drain();
    }
}

impl Reading for Reader {
    fn read(&mut self, stream: StreamId, output: &[u8], follows: Follows) -> Vec<String> {
        let mut rest = output;
        if let Some((_, kind)) = OWN.into_iter().find(|(own, _)| *own == stream.get()) {
            let before = self.read.entry(stream).or_default();
            if *before == 0 && !output.is_empty() {
                let (found, length) = varint::read(rest).expect("the type of a stream");
                assert_eq!(found, kind);
                rest = &rest[length..];
            }
            *before += output.len();
            if kind != 0 {
                let name = if kind == 2 { "ENCODER" } else { "DECODER" };
                let shown = self.shows_qpack && !rest.is_empty();
                return shown.then(|| format!("{name}{}", hex(rest))).into_iter().collect();
            }
        }
        let mut lines = Vec::new();
        while let Some((kind, first)) = varint::read(rest) {
            let (length, second) = varint::read(&rest[first..]).expect("the length of a frame");
            let (payload, behind) = rest[first + second..].split_at(length as usize);
            rest = behind;
            let end = if follows == Follows::Fin && rest.is_empty() { " end" } else { "" };
            lines.push(self.describe(stream, Kind(kind), payload, end));
        }
        assert!(rest.is_empty(), "a part of a frame: {rest:?}");
        if follows == Follows::Fin && output.is_empty() {
            lines.push(format!("END {stream}"));
        }
        lines
    }

    fn drain(&mut self, server: &mut Server) -> Vec<String> {
        let mut lines = Vec::new();
        for (own, (stream, _)) in OwnStream::ALL.into_iter().zip(OWN) {
            let output = server.control(own).split();
            lines.extend(self.read(StreamId::of_quic(stream), &output, Follows::More));
        }
        if let (Some(ProtocolError::Connection { code, .. }), false) = (server.failure(), self.has_failed) {
            self.has_failed = true;
            lines.push(format!("CLOSE {code}"));
        }
        while let Some(order) = server.next_order() {
            lines.push(match order {
                StreamOrder::Reset { stream, code } => format!("RESET {stream} {code}"),
                StreamOrder::Stop { stream, code } => format!("STOP {stream} {code}"),
            });
        }
        assert!(!server.has_control());
        lines
    }

    fn show_qpack(&mut self, shows: bool) {
        self.shows_qpack = shows;
    }
}

impl Reader {
    fn describe(&mut self, stream: StreamId, kind: Kind, payload: &[u8], end: &str) -> String {
        match kind {
            Kind::HEADERS => {
                let mut line = format!("HEADERS {stream}{end}");
                let decoded = self.decoder.decode(stream, payload, |field| {
                    line += &format!(" | {}: {}", field.name.escape_ascii(), field.value.escape_ascii());
                    ControlFlow::Continue(())
                });
                decoded.expect("a section that is right");
                line
            }
            Kind::DATA => describe_data(stream, end, payload),
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |line, byte| format!("{line} {byte:02x}"))
}
