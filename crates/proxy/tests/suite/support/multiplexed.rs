//! A client that speaks HTTP/2.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::poll_fn,
    net::SocketAddr,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow::{Headers, Method, RequestHead, Target, Version};
use serow_client::{Buffers, ClientError, Destination, Dialer, Http2};
use serow_http2::{Asking, ClientEvent, ErrorCode, Limits, StreamId};
use serow_message::BodyLength;
use serow_net::monotonic;
use tokio::{runtime::Runtime, time::timeout};

/// A connection to a proxy, driven while a caller waits.
pub struct Client {
    runtime: Runtime,
    state: RefCell<State>,
}

struct State {
    connection: Http2,
    answers: BTreeMap<StreamId, Got>,
    /// Streams whose data do not count as read.
    unread: Vec<StreamId>,
}

/// The received part of a stream.
#[derive(Clone, Debug, Default)]
pub struct Got {
    pub status: u16,
    pub headers: Headers,
    pub informational: Vec<u16>,
    pub body: Vec<u8>,
    pub trailers: Option<Headers>,
    pub end: Option<End>,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Whole,
    Reset(ErrorCode),
}

impl Client {
    /// Connects to this address, and speaks HTTP/2 at once.
    pub fn connect(address: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let buffers = Rc::new(Buffers::new());
        let dialer = Dialer { destination: Destination::Tcp(address), encryption: None, timeout: TIMEOUT };
        let wire = runtime.block_on(async { dialer.dial(&buffers).await.unwrap() });
        let connection = Http2::new(wire, buffers, Limits::default(), monotonic());
        let state = State { connection, answers: BTreeMap::new(), unread: Vec::new() };
        Self { runtime, state: RefCell::new(state) }
    }

    /// Sends a GET.
    pub fn get(&self, path: &str) -> StreamId {
        self.begin(Method::GET, path, &[], BodyLength::Known(0))
    }

    /// Sends a request with this body.
    pub fn post(&self, path: &str, body: impl Into<Bytes>) -> StreamId {
        let body = body.into();
        let stream = self.begin(Method::POST, path, &[], BodyLength::Known(body.len() as u64));
        self.send(stream, body);
        self.end(stream, None);
        stream
    }

    /// Opens a WebSocket (RFC 8441).
    pub fn websocket(&self, path: &str) -> StreamId {
        self.until(|state| state.connection.allows_extended_connect() == Some(true));
        let asking = Asking { scheme: "http", protocol: Some("websocket"), ..Asking::default() };
        let fields = [("sec-websocket-version", "13")];
        self.begin_asking(Method::CONNECT, path, &fields, BodyLength::Unknown, asking)
    }

    /// Begins a request.
    pub fn begin(&self, method: Method, path: &str, fields: &[(&str, &str)], length: BodyLength) -> StreamId {
        let asking = Asking { scheme: "http", ..Asking::default() };
        self.begin_asking(method, path, fields, length, asking)
    }

    fn begin_asking(
        &self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
        length: BodyLength,
        asking: Asking<'_>,
    ) -> StreamId {
        let mut headers = Headers::new();
        headers.append("host", "localhost").unwrap();
        for (name, value) in fields {
            headers.append(*name, *value).unwrap();
        }
        let target = Target::parse(Bytes::copy_from_slice(path.as_bytes()), false).unwrap();
        let head = RequestHead { method, target, version: Version::HTTP_2, headers };
        let stream = self.state.borrow_mut().connection.begin(&head, length, asking).unwrap();
        self.state.borrow_mut().answers.insert(stream, Got::default());
        stream
    }

    /// Whether there is room for a piece of the body.
    pub fn wants(&self, stream: StreamId) -> bool {
        self.state.borrow().connection.wants_data(stream)
    }

    /// Sends a piece of the body, as soon as there is room.
    pub fn send(&self, stream: StreamId, piece: impl Into<Bytes>) {
        self.until(|state| state.connection.wants_data(stream) || state.answers[&stream].end.is_some());
        self.state.borrow_mut().connection.send_data(stream, piece.into()).unwrap();
    }

    /// Ends the body.
    pub fn end(&self, stream: StreamId, trailers: Option<Headers>) {
        self.state.borrow_mut().connection.send_end(stream, trailers).unwrap();
    }

    /// Cuts a stream off.
    pub fn leave(&self, stream: StreamId) {
        self.state.borrow_mut().connection.reset(stream, ErrorCode::CANCEL);
        self.until(|state| !state.connection.has_unsent());
    }

    /// From now on, data of this stream are left where they are.
    pub fn stop_reading(&self, stream: StreamId) {
        self.state.borrow_mut().unread.push(stream);
    }

    /// Reads on what came since [`Self::stop_reading`], which was before anything had come, and what comes.
    pub fn read_on(&self, stream: StreamId) {
        let state = &mut *self.state.borrow_mut();
        state.unread.retain(|unread| *unread != stream);
        state.connection.note_consumed(stream, state.answers[&stream].body.len());
    }

    /// Waits for the head of the response.
    pub fn head(&self, stream: StreamId) -> Got {
        self.until(|state| state.answers[&stream].status != 0 || state.answers[&stream].end.is_some());
        self.got(stream)
    }

    /// Waits until so many bytes of the response's body have come.
    pub fn bytes(&self, stream: StreamId, count: usize) -> Got {
        self.until(|state| state.answers[&stream].body.len() >= count || state.answers[&stream].end.is_some());
        self.got(stream)
    }

    /// Waits for all of the response.
    pub fn response(&self, stream: StreamId) -> Got {
        self.until(|state| state.answers[&stream].end.is_some());
        self.got(stream)
    }

    /// Lets the connection work for so long.
    pub fn work_for(&self, time: Duration) {
        let working = poll_fn(|context| self.state.borrow_mut().poll(context, |_| false));
        self.runtime.block_on(async { drop(timeout(time, working).await) });
    }

    fn got(&self, stream: StreamId) -> Got {
        self.state.borrow().answers[&stream].clone()
    }

    fn until(&self, condition: impl Fn(&mut State) -> bool) {
        let met = poll_fn(|context| self.state.borrow_mut().poll(context, &condition));
        self.runtime.block_on(async { timeout(TIMEOUT, met).await.expect("in time") });
    }
}

impl State {
    fn poll(&mut self, context: &mut Context<'_>, condition: impl Fn(&mut Self) -> bool) -> Poll<()> {
        loop {
            let flushed = self.connection.poll_flush(context);
            if condition(self) {
                return Poll::Ready(());
            }
            match self.connection.poll_receive(context, monotonic()) {
                Poll::Ready(Ok(event)) => self.handle(event),
                Poll::Ready(Err(broken)) => self.lose(&broken),
                Poll::Pending if flushed.is_ready() && self.connection.has_unsent() => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn handle(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response(response) => {
                let Some(got) = self.answers.get_mut(&response.stream) else { return };
                if response.is_informational() {
                    return got.informational.push(response.head.status.as_u16());
                }
                got.end = (!response.has_body).then_some(End::Whole);
                (got.status, got.headers) = (response.head.status.as_u16(), response.head.headers);
            }
            ClientEvent::Data { stream, data } => {
                if !self.unread.contains(&stream) {
                    self.connection.note_consumed(stream, data.len());
                }
                self.answers.entry(stream).or_default().body.extend_from_slice(&data);
            }
            ClientEvent::End { stream, trailers } => {
                let got = self.answers.entry(stream).or_default();
                (got.trailers, got.end) = (trailers, Some(End::Whole));
            }
            ClientEvent::Reset { stream, code } => {
                self.answers.entry(stream).or_default().end.get_or_insert(End::Reset(code));
            }
            ClientEvent::GoAway { .. } => {}
        }
    }

    fn lose(&mut self, broken: &ClientError) {
        assert!(matches!(broken, ClientError::Closed | ClientError::Lost(_)), "{broken}");
        for got in self.answers.values_mut() {
            got.end.get_or_insert(End::Reset(ErrorCode::INTERNAL_ERROR));
        }
    }
}

impl Got {
    /// Its body, as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Of a machine with much else to do.
const TIMEOUT: Duration = Duration::from_secs(20);
