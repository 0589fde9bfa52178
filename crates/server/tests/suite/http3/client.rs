//! A client of HTTP/3: the state machine of the other role over an endpoint of its own.

use std::{
    collections::{HashMap, HashSet},
    future::poll_fn,
    net::{Ipv4Addr, SocketAddr},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use serow_http3::{Asking, BodyLength, BodyOrder, ClientEvent, ErrorCode, Limits, OwnStream, StreamId};
use serow_message::{Headers, Method, RequestHead, Target, Version};
use serow_quic::{
    ClientSettings, Connection, Dir, Endpoint, Event, ReadError, Sent, StreamEvent, StreamId as QuicStream,
    TransportSettings, VarInt,
};
use serow_tls::{TlsClientSettings, TlsConnector, Trust};
use tokio::time::timeout;

use crate::support::TIMEOUT;

/// Runs a test on a runtime as that of a worker.
pub(super) fn run(test: impl Future<Output = ()>) {
    serow_net::thread_runtime().unwrap().block_on(test);
}

/// One connection.
pub(super) struct Client {
    quic: Connection,
    machine: serow_http3::Client,
    own: [Option<QuicStream>; 3],
    readable: HashSet<QuicStream>,
    /// What waits to be written, each to its end.
    unwritten: Vec<(QuicStream, Bytes)>,
    answers: HashMap<StreamId, Answer>,
    end: Option<String>,
}

#[derive(Default)]
struct Answer {
    status: u16,
    body: Vec<u8>,
    whole: bool,
}

impl Client {
    pub(super) fn new(server: SocketAddr) -> Self {
        let trust = Trust::Unchecked;
        let connector = TlsConnector::new(TlsClientSettings { trust, ..TlsClientSettings::default() }).unwrap();
        let transport =
            TransportSettings { streams: 0, stream_window: 1 << 17, window: 1 << 20, idle: Duration::from_secs(60) };
        let settings = ClientSettings::new(&connector, transport).unwrap();
        let endpoint = Endpoint::client(Ipv4Addr::LOCALHOST.into()).unwrap();
        let quic = endpoint.connect(&settings, server, "localhost").unwrap();
        tokio::task::spawn_local(async move { poll_fn(|context| endpoint.poll_incoming(context)).await.map(drop) });
        let mut machine = serow_http3::Client::new(Limits::default(), Duration::ZERO);
        machine.set_stream_credit(u64::MAX);
        let (readable, unwritten, answers) = (HashSet::new(), Vec::new(), HashMap::new());
        Self { quic, machine, own: [None; 3], readable, unwritten, answers, end: None }
    }

    pub(super) fn get(&mut self, path: &str) -> StreamId {
        self.ask(Method::GET, path, &[])
    }

    pub(super) fn post(&mut self, path: &str, body: &[u8]) -> StreamId {
        self.ask(Method::POST, path, body)
    }

    fn ask(&mut self, method: Method, path: &str, body: &[u8]) -> StreamId {
        let mut headers = Headers::new();
        headers.append("host", "localhost").unwrap();
        let target = Target::parse(Bytes::copy_from_slice(path.as_bytes()), false).unwrap();
        let head = RequestHead { method, target, version: Version::HTTP_3, headers };
        let asking = Asking { scheme: "https", protocol: None, order: BodyOrder::default() };
        let mut output = Vec::new();
        let (stream, _) = self.machine.open(&head, BodyLength::Known(body.len() as u64), asking, &mut output).unwrap();
        if !body.is_empty() {
            let _ = self.machine.write_data(stream, body, true, &mut output).unwrap();
        }
        let number = VarInt::from_u64(stream.get()).unwrap().into();
        self.unwritten.push((number, output.into()));
        self.answers.insert(stream, Answer::default());
        stream
    }

    /// Waits for the first byte of a response's body.
    pub(super) async fn begun(&mut self, stream: StreamId) {
        self.until(|client| !client.answers[&stream].body.is_empty()).await;
    }

    /// Waits for a whole response.
    pub(super) async fn answer(&mut self, stream: StreamId) -> (u16, Vec<u8>) {
        self.until(|client| client.answers[&stream].whole).await;
        let answer = self.answers.remove(&stream).unwrap();
        (answer.status, answer.body)
    }

    /// Waits for the end of the connection, and tells the reason.
    pub(super) async fn end(&mut self) -> String {
        self.until(|client| client.end.is_some()).await;
        self.end.clone().unwrap()
    }

    async fn until(&mut self, is_done: impl Fn(&Self) -> bool) {
        let waited = timeout(
            TIMEOUT,
            poll_fn(|context| {
                self.work(context);
                assert!(self.end.is_none() || is_done(self), "{:?}", self.end);
                if is_done(self) { Poll::Ready(()) } else { Poll::Pending }
            }),
        );
        waited.await.expect("in time");
    }

    /// Does what can be done now.
    fn work(&mut self, context: &mut Context<'_>) {
        self.quic.poll_receive(context);
        loop {
            self.handle_quic_events();
            self.read();
            self.handle_events();
            self.write();
            match self.quic.send(context) {
                Sent::Datagrams => {}
                Sent::Nothing | Sent::Blocked => return,
            }
        }
    }

    fn handle_quic_events(&mut self) {
        while let Some(event) = self.quic.next_event() {
            match event {
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = self.quic.machine().streams().accept(dir) {
                        self.readable.insert(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => _ = self.readable.insert(id),
                Event::ConnectionLost { reason } => self.end = Some(reason.to_string()),
                _ => {}
            }
        }
    }

    fn read(&mut self) {
        for id in std::mem::take(&mut self.readable) {
            let stream = StreamId::of_quic(VarInt::from(id).into_inner());
            loop {
                let mut receiver = self.quic.machine().recv_stream(id);
                let Ok(mut chunks) = receiver.read(true) else { break };
                let next = chunks.next(usize::MAX);
                let _ = chunks.finalize();
                let now = Duration::ZERO;
                match next {
                    Ok(Some(chunk)) => self.machine.receive(stream, chunk.bytes, false, now).unwrap(),
                    Ok(None) => {
                        self.machine.receive(stream, Bytes::new(), true, now).unwrap();
                        self.handle_events();
                        break;
                    }
                    Err(ReadError::Blocked) => break,
                    Err(ReadError::Reset(code)) => {
                        self.machine.receive_reset(stream, ErrorCode(code.into_inner()), now).unwrap();
                        break;
                    }
                }
                self.handle_events();
            }
        }
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.machine.next_event() {
            match event {
                ClientEvent::Response(response) => {
                    let answer = self.answers.entry(response.stream).or_default();
                    answer.status = response.head.status.as_u16();
                    answer.whole = !response.has_body;
                }
                ClientEvent::Data { stream, data } => {
                    self.answers.entry(stream).or_default().body.extend_from_slice(&data);
                }
                ClientEvent::End { stream, .. } => self.answers.entry(stream).or_default().whole = true,
                ClientEvent::Reset { stream, code } => panic!("{stream} was reset: {code}"),
                ClientEvent::GoAway { .. } => {}
            }
        }
        while self.machine.next_order().is_some() {}
    }

    fn write(&mut self) {
        for (own, stream) in OwnStream::ALL.into_iter().zip(&mut self.own) {
            let waiting = self.machine.control(own);
            if waiting.is_empty() {
                continue;
            }
            let quic = self.quic.machine();
            let Some(id) = stream.or_else(|| quic.streams().open(Dir::Uni)) else { break };
            *stream = Some(id);
            let written = quic.send_stream(id).write(waiting).unwrap_or(0);
            waiting.advance(written);
        }
        let quic = self.quic.machine();
        self.unwritten.retain_mut(|(id, rest)| {
            // Both number streams in the order in which they are opened.
            if quic.send_stream(*id).stopped().is_err() && quic.streams().open(Dir::Bi) != Some(*id) {
                return true;
            }
            while !rest.is_empty() {
                if quic.send_stream(*id).write_chunks(std::slice::from_mut(rest)).is_err() {
                    return true;
                }
            }
            quic.send_stream(*id).finish().unwrap();
            false
        });
    }
}
