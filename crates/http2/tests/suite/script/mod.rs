//! A client written down line by line, and what a server says to it.
//!
//! ```text
//! HEADERS 1 end | GET / | name: value      a request's head; `GET /` stands for the four usual pseudo-header fields
//! HEADERS 1 open | :method: GET            `open`: CONTINUATION follows; `pad 3`; `on 1` (RFC 7540's dependency)
//! CONTINUATION 1 [open] | name: value
//! DATA 1 [end] [pad 3] [size 100 | text]
//! RST_STREAM 1 8, PRIORITY 3 on 1, PRIORITY_UPDATE 1 u=1, WINDOW_UPDATE 1 100, GOAWAY 0 0
//! SETTINGS [4=100 …], SETTINGS ack, PING 12345678, PING ack 12345678
//! BYTES 00 00 00                           anything, in hexadecimal digits
//! ```

// Each test takes from here what it needs.
#![allow(dead_code)]

use core::time::Duration;
use std::{collections::HashMap, fmt::Write as _};

use bytes::BytesMut;
use serow_http2::{
    BodyLength, ErrorCode, Limits, PREFACE, ProtocolError, Server, StreamId,
    frame::{self, Frame, FrameHeader, Kind, flags},
    hpack::{Decoder, Encoder, Pseudo},
};
use serow_message::{Headers, StatusCode};

use self::describe::describe;

mod describe;

/// A server, and the client that talks to it.
pub(crate) struct Talk {
    pub(crate) server: Server,
    pub(crate) now: Duration,
    encoder: Encoder,
    decoder: Decoder,
    input: BytesMut,
    output: BytesMut,
    /// The rest of each response's body.
    bodies: HashMap<StreamId, Vec<u8>>,
    /// The server's events, a line for each.
    pub(crate) events: Vec<String>,
    /// The server's frames, a line for each.
    pub(crate) frames: Vec<String>,
    pub(crate) error: Option<ProtocolError>,
}

/// How the client's bytes arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pieces {
    Frames,
    Bytes,
}

impl Talk {
    /// Before anything was sent.
    pub(crate) fn new(limits: Limits) -> Self {
        let now = Duration::from_secs(1000);
        Self {
            server: Server::new(limits, now),
            now,
            encoder: Encoder::new(),
            decoder: Decoder::new(4096),
            input: BytesMut::new(),
            output: BytesMut::new(),
            bodies: HashMap::new(),
            events: Vec::new(),
            frames: Vec::new(),
            error: None,
        }
    }

    /// Behind the preface and both sides' settings.
    pub(crate) fn begun(limits: Limits) -> Self {
        let mut talk = Self::new(limits);
        talk.feed(PREFACE);
        talk.say("SETTINGS");
        talk.say("SETTINGS ack");
        assert_eq!((&talk.error, talk.events.len()), (&None, 0));
        talk.frames.clear();
        talk
    }

    /// Sends one line.
    pub(crate) fn say(&mut self, line: &str) {
        let bytes = self.encode(line);
        self.feed(&bytes);
    }

    pub(crate) fn say_in(&mut self, line: &str, pieces: Pieces) {
        let bytes = self.encode(line);
        match pieces {
            Pieces::Frames => self.feed(&bytes),
            Pieces::Bytes => bytes.chunks(1).for_each(|byte| self.feed(byte)),
        }
    }

    /// Gives bytes to the server, and takes what it has to say.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        while self.error.is_none() {
            match self.server.receive(&mut self.input, self.now) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    let line = describe(&event);
                    self.events.push(line);
                }
                Err(error) => {
                    assert_eq!(self.server.receive(&mut self.input, self.now).err(), Some(error), "told again");
                    assert!(self.server.is_finished());
                    assert_eq!(self.server.next_turn(usize::MAX), None);
                    self.error = Some(error);
                }
            }
        }
        self.drain();
    }

    /// Takes what the server sends by itself.
    pub(crate) fn drain(&mut self) {
        let mut output = Vec::new();
        self.server.write_control(&mut output);
        self.take(&output);
    }

    /// The whole response to a request.
    pub(crate) fn respond(&mut self, stream: u32, status: u16, body: &str) {
        let (stream, status) = (StreamId::new(stream), StatusCode::from_u16(status).expect("a status"));
        let length = BodyLength::Known(body.len() as u64);
        let sends = self.server.send_head(stream, status, Headers::new(), length).expect("its turn");
        self.server.set_ready(stream, sends);
        self.bodies.insert(stream, body.as_bytes().to_vec());
        self.turns();
    }

    /// Takes all turns there are; the end of a stream goes with its last byte.
    pub(crate) fn turns(&mut self) {
        let mut output = Vec::new();
        while let Some(turn) = self.server.next_turn(16_384) {
            if turn.head {
                self.server.write_head(turn.stream, b"", &mut output).expect("a head");
            }
            let body = self.bodies.entry(turn.stream).or_default();
            let now: Vec<u8> = body.drain(..turn.bytes.min(body.len())).collect();
            if !now.is_empty() {
                self.server.write_data(turn.stream, &now, body.is_empty(), &mut output).expect("data");
            } else if !turn.head {
                self.server.set_ready(turn.stream, false);
            }
        }
        self.take(&output);
    }

    pub(crate) fn take(&mut self, output: &[u8]) {
        self.output.extend_from_slice(output);
        while let Some(frame) = frame::take(&mut self.output, 1 << 20).expect("a frame that is right") {
            let line = self.describe_frame(frame);
            self.frames.push(line);
        }
    }

    fn describe_frame(&mut self, frame: Frame) -> String {
        let end = |end: bool| if end { " end" } else { "" };
        match frame {
            Frame::Headers { stream, block, end_stream, end_headers, .. } => {
                assert!(end_headers, "not in these tests");
                let mut line = format!("HEADERS {stream}{}", end(end_stream));
                let decoded = self.decoder.decode(&block, |field| {
                    let _ = write!(line, " | {}: {}", field.name.escape_ascii(), field.value.escape_ascii());
                    std::ops::ControlFlow::Continue(())
                });
                decoded.expect("a block that is right");
                line
            }
            Frame::Data { stream, data, end_stream, .. } if data.len() > 40 => {
                format!("DATA {stream}{} size {}", end(end_stream), data.len())
            }
            Frame::Data { stream, data, end_stream, .. } => {
                format!("DATA {stream}{} {}", end(end_stream), data.escape_ascii()).trim_end().into()
            }
            Frame::ResetStream { stream, code } => format!("RST_STREAM {stream} {code}"),
            Frame::Settings { settings } => {
                settings.iter().fold("SETTINGS".into(), |line, (key, value)| format!("{line} {key}={value}"))
            }
            Frame::SettingsAck => "SETTINGS ack".into(),
            Frame::Ping { payload, ack } => {
                format!("PING{} {}", if ack { " ack" } else { "" }, payload.escape_ascii())
            }
            Frame::GoAway { last_stream, code, .. } => format!("GOAWAY {last_stream} {code}"),
            Frame::WindowUpdate { stream, increment } => format!("WINDOW_UPDATE {stream} {increment}"),
            other => format!("{other:?}"),
        }
    }

    /// The bytes of a line.
    pub(crate) fn encode(&mut self, line: &str) -> Vec<u8> {
        let mut parts = line.split(" | ");
        let words: Vec<&str> = parts.next().unwrap_or_default().split_whitespace().collect();
        let fields: Vec<&str> = parts.collect();
        let (kind, words) = words.split_first().expect("a kind of frame");
        let mut output = Vec::new();
        match *kind {
            "BYTES" => {
                output.extend(words.iter().map(|byte| u8::from_str_radix(byte, 16).expect("a byte")));
            }
            "HEADERS" | "CONTINUATION" => self.encode_head(kind, words, &fields, &mut output),
            _ => encode_other(kind, words, &mut output),
        }
        output
    }

    fn encode_head(&mut self, kind: &str, words: &[&str], fields: &[&str], output: &mut Vec<u8>) {
        let mut block = Vec::new();
        for field in fields {
            match field.split_once(": ").or_else(|| field.strip_suffix(':').map(|name| (name, ""))) {
                Some((name, value)) => self.encode_field(name, value, &mut block),
                None => {
                    let (method, path) = field.split_once(' ').expect("method and path");
                    for (name, value) in
                        [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path)]
                    {
                        self.encode_field(name, value, &mut block);
                    }
                }
            }
        }
        let has = |word| words.contains(&word);
        let mut bits = if has("open") { 0 } else { flags::END_HEADERS };
        let mut payload = Vec::new();
        if has("end") {
            bits |= flags::END_STREAM;
        }
        let padding = number_behind(words, "pad");
        if let Some(padding) = padding {
            bits |= flags::PADDED;
            payload.push(padding as u8);
        }
        if let Some(on) = number_behind(words, "on") {
            bits |= flags::PRIORITY;
            payload.extend_from_slice(&(on as u32).to_be_bytes());
            payload.push(15);
        }
        payload.extend_from_slice(&block);
        payload.resize(payload.len() + padding.unwrap_or_default(), 0);
        let kind = if kind == "HEADERS" { Kind::HEADERS } else { Kind::CONTINUATION };
        write(kind, bits, number(words, 0), &payload, output);
    }

    fn encode_field(&mut self, name: &str, value: &str, block: &mut Vec<u8>) {
        let pseudo = match name {
            ":method" => Pseudo::Method,
            ":scheme" => Pseudo::Scheme,
            ":authority" => Pseudo::Authority,
            ":path" => Pseudo::Path,
            ":protocol" => Pseudo::Protocol,
            ":status" => Pseudo::Status,
            _ => {
                // As it stands, which the encoder would not do: never indexed, new name (RFC 7541 §6.2.3).
                let value = value.replace("\\0", "\0").replace("\\n", "\n").replace("\\s", " ");
                block.push(0x10);
                for text in [name, &value] {
                    assert!(text.len() < 127 || text.len() < 16_000);
                    if text.len() < 127 {
                        block.push(text.len() as u8);
                    } else {
                        let rest = text.len() - 127;
                        block.extend_from_slice(&[127, (rest % 128) as u8 | 128, (rest / 128) as u8]);
                    }
                    block.extend_from_slice(text.as_bytes());
                }
                return;
            }
        };
        self.encoder.encode_pseudo(pseudo, value.as_bytes(), block);
    }
}

fn encode_other(kind: &str, words: &[&str], output: &mut Vec<u8>) {
    let has = |word| words.contains(&word);
    match kind {
        "DATA" => {
            let text = words.iter().skip(1).find(|word| !["end", "pad", "size"].contains(word));
            let size = number_behind(words, "size");
            let padding = number_behind(words, "pad");
            let data = match size {
                Some(size) => vec![b'x'; size],
                None if padding.is_some() => Vec::new(),
                None => text.map(|text| text.as_bytes().to_vec()).unwrap_or_default(),
            };
            let mut bits = if has("end") { flags::END_STREAM } else { 0 };
            let mut payload = Vec::new();
            if let Some(padding) = padding {
                bits |= flags::PADDED;
                payload.push(padding as u8);
            }
            payload.extend_from_slice(&data);
            payload.resize(payload.len() + padding.unwrap_or_default(), 0);
            write(Kind::DATA, bits, number(words, 0), &payload, output);
        }
        "RST_STREAM" => frame::write_reset_stream(id(words, 0), ErrorCode(number(words, 1)), output),
        "PRIORITY" => {
            let mut payload = number(words, 2).to_be_bytes().to_vec();
            payload.push(15);
            write(Kind::PRIORITY, 0, number(words, 0), &payload, output);
        }
        "PRIORITY_UPDATE" => frame::write_priority_update(id(words, 0), words[1].as_bytes(), output),
        "WINDOW_UPDATE" => write(Kind::WINDOW_UPDATE, 0, number(words, 0), &number(words, 1).to_be_bytes(), output),
        "GOAWAY" => frame::write_go_away(id(words, 0), ErrorCode(number(words, 1)), b"", output),
        "SETTINGS" if has("ack") => frame::write_settings_ack(output),
        "SETTINGS" => {
            let mut payload = Vec::new();
            for setting in words {
                let (key, value) = setting.split_once('=').expect("a setting");
                payload.extend_from_slice(&key.parse::<u16>().expect("a number").to_be_bytes());
                payload.extend_from_slice(&value.parse::<u32>().expect("a number").to_be_bytes());
            }
            write(Kind::SETTINGS, 0, 0, &payload, output);
        }
        "PING" => {
            let payload = words.last().expect("a payload").as_bytes().try_into().expect("eight bytes");
            frame::write_ping(payload, has("ack"), output);
        }
        other => panic!("no frame is named {other}"),
    }
}

fn write(kind: Kind, flags: u8, stream: u32, payload: &[u8], output: &mut Vec<u8>) {
    FrameHeader { length: payload.len(), kind, flags, stream: StreamId::new(stream) }.write(output);
    output.extend_from_slice(payload);
}

fn number(words: &[&str], place: usize) -> u32 {
    words.get(place).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number at {place}: {words:?}"))
}

fn id(words: &[&str], place: usize) -> StreamId {
    StreamId::new(number(words, place))
}

fn number_behind(words: &[&str], name: &str) -> Option<usize> {
    let place = words.iter().position(|word| *word == name)?;
    words.get(place + 1)?.parse().ok()
}
