//! A client written down line by line, and what a server says to it.
//!
//! ```text
//! HEADERS 1 end | GET / | name: value     a request's head; `GET /` stands for the four usual pseudo-header fields
//! DATA 1 [end] [size 100 | text]          `end`: the stream ends behind it
//! SETTINGS …, GOAWAY …, PRIORITY_UPDATE 1 u=1, BYTES …, and others that `protocol` knows
//! ```
//!
//! A text for both versions has `#1` for the first stream of a request, `#2` for the second, and these words for what
//! each version calls differently: `CUT` for a frame or signal that cuts a stream off, CANCELLED, MALFORMED, REJECTED
//! and EXCESSIVE for codes.

use core::time::Duration;
use std::collections::HashMap;

use serow_message::{BodyLength, Headers, StatusCode};
use serow_streams::{Follows, StreamId};

use crate::described::describe;
use crate::protocol::{
    self, CANCELLED, CUT, EXCESSIVE, ErrorCode, Event, Limits, MALFORMED, ProtocolError, REJECTED, Reader, Server,
    Writer,
};

/// A server, and the client that talks to it.
pub(crate) struct Talk {
    pub(crate) server: Server,
    pub(crate) now: Duration,
    pub(crate) writer: Writer,
    pub(crate) reader: Reader,
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
    /// Each line at once.
    Lines,
    Bytes,
    /// HTTP/3: a byte of each stream in turns, where lines follow each other.
    Interleaved,
}

/// A client's way to the server.
pub(crate) trait Speaking {
    /// Sends lines that follow each other, and takes what the server has to say.
    fn say_all(&mut self, lines: &[&str], pieces: Pieces);

    /// HTTP/3: takes events that the driver has caused.
    fn take_events(&mut self) {}
}

/// The client's look at the server's frames.
pub(crate) trait Reading {
    /// A line for each frame that was written for a stream.
    fn read(&mut self, stream: StreamId, output: &[u8], follows: Follows) -> Vec<String>;

    /// A line for each frame or signal that the server sends by itself.
    fn drain(&mut self, server: &mut Server) -> Vec<String>;

    /// HTTP/3: whether `read` shows instructions of QPACK.
    fn show_qpack(&mut self, _shows: bool) {}
}

impl Talk {
    /// Before anything was sent.
    pub(crate) fn new(limits: Limits) -> Self {
        let now = Duration::from_secs(1000);
        Self {
            server: Server::new(limits, now),
            now,
            writer: Writer::default(),
            reader: Reader::default(),
            bodies: HashMap::new(),
            events: Vec::new(),
            frames: Vec::new(),
            error: None,
        }
    }

    /// Behind both sides' settings.
    pub(crate) fn begun(limits: Limits) -> Self {
        let mut talk = Self::new(limits);
        talk.say_all(protocol::BEGINNING, Pieces::Lines);
        assert_eq!((&talk.error, talk.events.len()), (&None, 0));
        talk.frames.clear();
        talk
    }

    /// Sends one line.
    pub(crate) fn say(&mut self, line: &str) {
        self.say_all(&[line], Pieces::Lines);
    }

    /// Notes an event.
    pub(crate) fn note(&mut self, event: &Event) {
        self.events.push(describe(event));
    }

    /// Notes how the connection ended.
    pub(crate) fn fail(&mut self, error: ProtocolError) {
        assert!(self.server.is_finished());
        assert_eq!(self.server.next_turn(usize::MAX), None);
        self.error = Some(error);
    }

    /// How the connection ended.
    pub(crate) fn code(&self) -> Option<ErrorCode> {
        match self.error {
            Some(ProtocolError::Connection { code, .. }) => Some(code),
            _ => None,
        }
    }

    /// Takes what the server sends by itself.
    pub(crate) fn drain(&mut self) {
        self.frames.extend(self.reader.drain(&mut self.server));
    }

    /// The whole response to a request.
    pub(crate) fn respond(&mut self, stream: StreamId, status: u16, body: &str) {
        let length = BodyLength::Known(body.len() as u64);
        let status = StatusCode::from_u16(status).expect("a status");
        let sends = self.server.send_head(stream, status, Headers::new(), length).expect("its turn");
        self.server.set_ready(stream, sends);
        self.bodies.insert(stream, body.as_bytes().to_vec());
        self.turns();
    }

    /// Takes all turns there are; the end of a stream goes with its last byte.
    pub(crate) fn turns(&mut self) {
        while let Some(turn) = self.server.next_turn(16_384) {
            let (mut output, mut follows) = (Vec::new(), Follows::More);
            if turn.head {
                let written = self.server.write_head(turn.stream, b"", &mut output);
                follows = protocol::follows(written, &output).expect("a head");
            }
            let body = self.bodies.entry(turn.stream).or_default();
            let data: Vec<u8> = body.drain(..turn.bytes.min(body.len())).collect();
            if !data.is_empty() {
                let written = self.server.write_data(turn.stream, &data, body.is_empty(), &mut output);
                follows = protocol::follows(written, &output).expect("data");
            } else if !turn.head {
                self.server.set_ready(turn.stream, false);
            }
            self.read(turn.stream, &output, follows);
        }
        self.drain();
    }

    /// Ends a response whose length was not announced.
    pub(crate) fn end(&mut self, stream: StreamId) {
        let mut output = Vec::new();
        let written = self.server.write_data(stream, b"", true, &mut output);
        let follows = protocol::follows(written, &output).expect("its turn");
        assert_eq!(follows, Follows::Fin);
        self.read(stream, &output, follows);
    }

    fn read(&mut self, stream: StreamId, output: &[u8], follows: Follows) {
        self.frames.extend(self.reader.read(stream, output, follows));
    }
}

/// A text for both versions as this one has it.
pub(crate) fn localised(text: &str) -> String {
    let parts = text.split_inclusive([' ', '\n']);
    parts.map(|part| part.split_at(part.trim_end().len())).map(|(word, space)| localised_word(word) + space).collect()
}

fn localised_word(word: &str) -> String {
    match word {
        "CUT" => CUT.into(),
        "CANCELLED" => CANCELLED.to_string(),
        "MALFORMED" => MALFORMED.to_string(),
        "REJECTED" => REJECTED.to_string(),
        "EXCESSIVE" => EXCESSIVE.to_string(),
        _ => match word.strip_prefix('#').and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => protocol::nth(number - 1).to_string(),
            None => word.into(),
        },
    }
}

/// The kind, the words and the fields of a line.
pub(crate) fn split(line: &str) -> (&str, Vec<&str>, Vec<(&str, &str)>) {
    let mut parts = line.split(" | ");
    let mut words = parts.next().unwrap_or_default().split_whitespace();
    let kind = words.next().expect("a kind of frame");
    let mut fields = Vec::new();
    for field in parts {
        match field.split_once(": ").or_else(|| field.strip_suffix(':').map(|name| (name, ""))) {
            Some(field) => fields.push(field),
            None => {
                let (method, path) = field.split_once(' ').expect("method and path");
                fields.extend([(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path)]);
            }
        }
    }
    (kind, words.collect(), fields)
}

/// The value of a field that may have what a line cannot.
pub(crate) fn unescape(value: &str) -> String {
    value.replace("\\0", "\0").replace("\\n", "\n").replace("\\s", " ")
}

/// The content of a frame of data, from the words behind the stream.
pub(crate) fn content(words: &[&str]) -> Vec<u8> {
    match words {
        ["size", size, ..] => vec![b'x'; size.parse().expect("a number")],
        [text, ..] => text.as_bytes().to_vec(),
        [] => Vec::new(),
    }
}

/// A line for a frame of data that came; `end` is ` end` or empty.
pub(crate) fn describe_data(stream: StreamId, end: &str, data: &[u8]) -> String {
    match data.len() {
        41.. => format!("DATA {stream}{end} size {}", data.len()),
        _ => format!("DATA {stream}{end} {}", data.escape_ascii()).trim_end().into(),
    }
}

/// The code of an error, by its number or by its name.
pub(crate) fn code(word: &str) -> ErrorCode {
    let known = [CANCELLED, MALFORMED, REJECTED, EXCESSIVE];
    known.into_iter().find(|code| code.to_string() == word).unwrap_or_else(|| protocol::code(word))
}

pub(crate) fn number(words: &[&str], place: usize) -> u64 {
    words.get(place).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number at {place}: {words:?}"))
}
