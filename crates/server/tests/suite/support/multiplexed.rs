//! A client of HTTP/2 that a test drives by hand: it opens streams, and says what became of them.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Read, Write},
    net::SocketAddr,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use serow::{Headers, Method, RequestHead, Target, Version};
use serow_http2::{Asking, BodyLength, ClientEvent, ErrorCode, Limits, OpenError, StreamId, UsageError};

use super::{Instant, TIMEOUT, answer::Answer, sleep, under};

/// One connection. Every wait ends with a panic after [`TIMEOUT`].
pub(crate) struct Multiplexed {
    pub(crate) socket: under::Stream,
    pub(crate) machine: serow_http2::Client,
    began: Instant,
    input: BytesMut,
    output: Vec<u8>,
    streams: BTreeMap<StreamId, Stream>,
    /// With which codes the server has said that it leaves, in order.
    pub(crate) farewells: Vec<ErrorCode>,
    /// How the connection ended, once it has.
    pub(crate) lost: Option<io::ErrorKind>,
    /// Whether windows are opened behind what was received.
    pub(crate) reads: bool,
}

/// The client's state of a stream.
#[derive(Default)]
struct Stream {
    informational: VecDeque<Answer>,
    answer: Option<Answer>,
    ended: Option<Ended>,
    /// To be sent, and whether that is all.
    outgoing: VecDeque<Bytes>,
    finished: Option<Option<Headers>>,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    Reset(ErrorCode),
    /// The connection did.
    Lost,
}

/// A request as it is to be opened.
#[derive(Clone, Default)]
pub(crate) struct Opening<'a> {
    pub(crate) fields: Vec<(&'a str, &'a str)>,
    /// Whether there is a body, and how long it says to be.
    pub(crate) length: Option<BodyLength>,
    pub(crate) protocol: Option<&'a str>,
}

impl Multiplexed {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self::with(address, Limits { window: 64 << 20, stream_window: 1 << 20, ..Limits::default() })
    }

    /// The windows are those of the limits.
    pub(crate) fn with(address: SocketAddr, limits: Limits) -> Self {
        let socket = under::Stream::connect(address).unwrap();
        socket.set_nonblocking();
        let machine = serow_http2::Client::new(limits, Duration::ZERO);
        Self {
            socket,
            machine,
            began: Instant::now(),
            input: BytesMut::new(),
            output: Vec::new(),
            streams: BTreeMap::new(),
            farewells: Vec::new(),
            lost: None,
            reads: true,
        }
    }

    /// Opens a stream; CONNECT has an authority in the target's place.
    #[track_caller]
    pub(crate) fn open(&mut self, method: &str, target: &str, opening: &Opening<'_>) -> StreamId {
        let began = Instant::now();
        loop {
            match self.try_open(method, target, opening) {
                // Before the server's settings are there a client may open fewer streams than after.
                Err(OpenError::WouldBlock) if began.elapsed() < TIMEOUT => self.go_on_for(Duration::from_millis(1)),
                outcome => return outcome.unwrap(),
            }
        }
    }

    pub(crate) fn try_open(
        &mut self,
        method: &str,
        target: &str,
        opening: &Opening<'_>,
    ) -> Result<StreamId, OpenError> {
        let connect = method == "CONNECT" && opening.protocol.is_none();
        let target = Target::parse(Bytes::copy_from_slice(target.as_bytes()), connect).unwrap();
        let mut headers = Headers::new();
        headers.append("host", "a").unwrap();
        for (name, value) in &opening.fields {
            headers.append(*name, value).unwrap();
        }
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let head = RequestHead { method, target, version: Version::HTTP_2, headers };
        let length = opening.length.unwrap_or(BodyLength::Known(0));
        let asking = Asking { scheme: "http", protocol: opening.protocol, ..Asking::default() };
        let stream = self.machine.open(&head, length, asking)?;
        self.streams.insert(stream, Stream::default());
        self.turn();
        Ok(stream)
    }

    /// Opens a stream without a body.
    #[track_caller]
    pub(crate) fn ask(&mut self, target: &str) -> StreamId {
        self.open("GET", target, &Opening::default())
    }

    /// `GET target`, and its answer.
    #[track_caller]
    pub(crate) fn get(&mut self, target: &str) -> Answer {
        let stream = self.ask(target);
        self.answer(stream)
    }

    /// Sends a piece of a body when the windows allow.
    pub(crate) fn send(&mut self, stream: StreamId, piece: impl Into<Bytes>) {
        self.streams.entry(stream).or_default().outgoing.push_back(piece.into());
        self.turn();
    }

    /// Ends a body.
    pub(crate) fn finish(&mut self, stream: StreamId, trailers: Option<Headers>) {
        self.streams.entry(stream).or_default().finished = Some(trailers);
        self.turn();
    }

    /// Opens a stream with this body, whose length it says or not.
    #[track_caller]
    pub(crate) fn post(&mut self, target: &str, body: Vec<u8>, says_length: bool) -> StreamId {
        let length = if says_length { BodyLength::Known(body.len() as u64) } else { BodyLength::Unknown };
        let stream = self.open("POST", target, &Opening { length: Some(length), ..Opening::default() });
        if length != BodyLength::Known(0) {
            self.send(stream, body);
            self.finish(stream, None);
        }
        stream
    }

    /// The whole answer.
    #[track_caller]
    pub(crate) fn answer(&mut self, stream: StreamId) -> Answer {
        match self.outcome(stream) {
            (Some(answer), Ended::Whole) => answer,
            (_, ended) => panic!("stream {stream:?}: {ended:?}"),
        }
    }

    /// The part of the answer that came, and how it ended.
    #[track_caller]
    pub(crate) fn outcome(&mut self, stream: StreamId) -> (Option<Answer>, Ended) {
        self.wait("the stream ends", |client| client.ended(stream).is_some());
        let known = self.streams.get_mut(&stream).unwrap();
        let outcome = (known.answer.take(), known.ended.unwrap());
        // The rest of its body may still be wanted.
        if known.outgoing.is_empty() && known.finished.is_none() || outcome.1 != Ended::Whole {
            self.streams.remove(&stream);
        }
        outcome
    }

    /// How the answer was broken off.
    #[track_caller]
    pub(crate) fn is_reset(&mut self, stream: StreamId) -> ErrorCode {
        match self.outcome(stream) {
            (_, Ended::Reset(code)) => code,
            (answer, ended) => panic!("{ended:?} {answer:?}"),
        }
    }

    /// Writes bytes of the test's own behind those of the client.
    pub(crate) fn write_raw(&mut self, bytes: &[u8]) {
        self.fill();
        self.output.extend_from_slice(bytes);
        self.flush();
    }

    /// Bytes of a body that have not been sent.
    pub(crate) fn unsent(&self, stream: StreamId) -> usize {
        self.streams.get(&stream).map_or(0, |stream| stream.outgoing.iter().map(Bytes::len).sum())
    }

    /// Forgets the part of the answer's body that has come.
    pub(crate) fn forget_body(&mut self, stream: StreamId) {
        if let Some(answer) = self.streams.get_mut(&stream).and_then(|stream| stream.answer.as_mut()) {
            answer.body.clear();
        }
    }

    /// How the stream ended, if it has.
    pub(crate) fn ended(&self, stream: StreamId) -> Option<Ended> {
        self.streams.get(&stream).and_then(|stream| stream.ended)
    }

    /// The part of the answer's body that has come.
    pub(crate) fn body(&self, stream: StreamId) -> &[u8] {
        self.streams.get(&stream).and_then(|stream| stream.answer.as_ref()).map_or(&[], |answer| &answer.body)
    }

    /// Whether the answer's head has come, or never will.
    pub(crate) fn has_answer(&self, stream: StreamId) -> bool {
        self.streams[&stream].answer.is_some() || self.ended(stream).is_some()
    }

    /// Waits for the head of the answer; its status.
    #[track_caller]
    pub(crate) fn head(&mut self, stream: StreamId) -> u16 {
        self.wait("a head comes", |client| client.has_answer(stream));
        self.streams[&stream].answer.as_ref().expect("a head").status
    }

    /// The next informational answer.
    #[track_caller]
    pub(crate) fn informational(&mut self, stream: StreamId) -> Answer {
        self.wait("an informational response comes", |client| !client.streams[&stream].informational.is_empty());
        self.streams.get_mut(&stream).and_then(|stream| stream.informational.pop_front()).unwrap()
    }

    /// Whether an informational answer has come and not been taken.
    pub(crate) fn has_informational(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_some_and(|stream| !stream.informational.is_empty())
    }

    /// Sends and receives until the condition holds.
    #[track_caller]
    pub(crate) fn wait(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !condition(self) {
            if !self.turn() {
                assert!(began.elapsed() < TIMEOUT, "waited in vain until {what}; {:?}", self.lost);
                sleep(Duration::from_micros(500));
            }
        }
    }

    /// Goes on for so long.
    pub(crate) fn go_on_for(&mut self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            if !self.turn() {
                sleep(Duration::from_millis(1));
            }
        }
    }

    /// Asserts that the connection ends; with which code the server said farewell last.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> Option<ErrorCode> {
        self.wait("the connection ends", |client| client.lost.is_some());
        self.farewells.last().copied()
    }

    /// Sends what may be sent, takes what is there; whether there was anything.
    pub(crate) fn turn(&mut self) -> bool {
        if self.lost.is_some() {
            return false;
        }
        self.fill();
        let sent = self.flush();
        let received = self.receive();
        sent | received
    }

    /// Puts what is waiting into the output.
    fn fill(&mut self) {
        self.machine.handle_timeout(self.began.elapsed());
        self.machine.write_control(&mut self.output);
        for (id, stream) in &self.streams {
            let ends = stream.outgoing.is_empty() && stream.finished.is_some();
            self.machine.set_ready(*id, !stream.outgoing.is_empty() || ends);
        }
        while self.output.len() < MAX_OUTPUT {
            let Some(turn) = self.machine.next_turn(MAX_OUTPUT) else { break };
            let Some(stream) = self.streams.get_mut(&turn.stream) else { break };
            if write(&mut self.machine, turn, stream, &mut self.output).is_err() {
                // The stream is over.
                stream.outgoing.clear();
            }
        }
    }

    fn flush(&mut self) -> bool {
        let mut any = false;
        while !self.output.is_empty() {
            match self.socket.write(&self.output) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The client still has to read the bytes that the server sent before.
                Err(_) => self.output.clear(),
            }
            any = true;
        }
        any
    }

    fn receive(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        match self.socket.read(&mut buffer) {
            Ok(0) => self.lose(io::ErrorKind::UnexpectedEof),
            Ok(count) => {
                self.input.extend_from_slice(&buffer[..count]);
                while let Some(event) = self.machine.receive(&mut self.input, self.began.elapsed()).unwrap() {
                    self.handle(event);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) => self.lose(error.kind()),
        }
        true
    }

    fn lose(&mut self, kind: io::ErrorKind) {
        self.lost = Some(kind);
        for stream in self.streams.values_mut() {
            stream.ended.get_or_insert(Ended::Lost);
        }
    }

    fn handle(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response(received) => {
                let Some(stream) = self.streams.get_mut(&received.stream) else { return };
                let is_informational = received.is_informational();
                let answer = answer_of(received.head.status.as_u16(), &received.head.headers);
                if is_informational {
                    return stream.informational.push_back(answer);
                }
                assert!(stream.answer.is_none(), "two answers");
                stream.answer = Some(answer);
                if !received.has_body {
                    stream.ended = Some(Ended::Whole);
                }
            }
            ClientEvent::Data { stream: id, data } => {
                let Some(answer) = self.streams.get_mut(&id).and_then(|stream| stream.answer.as_mut()) else { return };
                answer.body.extend_from_slice(&data);
                if self.reads {
                    self.machine.note_consumed(id, data.len());
                }
            }
            ClientEvent::End { stream: id, trailers } => {
                let Some(stream) = self.streams.get_mut(&id) else { return };
                stream.ended = Some(Ended::Whole);
                if let (Some(answer), Some(trailers)) = (&mut stream.answer, trailers) {
                    answer.trailers = lines(&trailers, "\n");
                }
            }
            ClientEvent::Reset { stream: id, code } => {
                // Behind a whole answer it only says that the rest of the body is not wanted (RFC 9113 §8.1).
                let Some(stream) = self.streams.get_mut(&id) else { return };
                stream.ended.get_or_insert(Ended::Reset(code));
            }
            ClientEvent::GoAway { code } => self.farewells.push(code),
        }
    }
}

/// Writes what the stream has for its turn.
fn write(
    machine: &mut serow_http2::Client,
    turn: serow_http2::Turn,
    stream: &mut Stream,
    output: &mut Vec<u8>,
) -> Result<(), UsageError> {
    let Some(mut piece) = stream.outgoing.pop_front() else {
        return match stream.finished.take() {
            Some(Some(trailers)) => machine.write_trailers(turn.stream, &trailers, output),
            Some(None) => machine.write_data(turn.stream, &[], true, output),
            None => {
                machine.set_ready(turn.stream, false);
                Ok(())
            }
        };
    };
    let part = piece.split_to(piece.len().min(turn.bytes));
    if !piece.is_empty() {
        stream.outgoing.push_front(piece);
    }
    let last = stream.outgoing.is_empty() && stream.finished == Some(None);
    if last {
        stream.finished = None;
    }
    machine.write_data(turn.stream, &part, last, output)
}

/// The answer in the words of HTTP/1, so that tests see both versions alike.
fn answer_of(status: u16, headers: &Headers) -> Answer {
    let head = format!("HTTP/2.0 {status}\r\n{}", lines(headers, "\r\n"));
    Answer { status, head: head.trim_end().to_owned(), body: Vec::new(), trailers: String::new() }
}

fn lines(headers: &Headers, end: &str) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    headers.iter().map(|(name, value)| format!("{}: {}{end}", text(name), text(value))).collect()
}

/// Bytes that are made ready before they are sent.
const MAX_OUTPUT: usize = 256 * 1024;
