//! Clients over HTTP/2.

mod stream;
mod violation;

use std::{
    collections::BTreeMap,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use serow::{Headers, Method, RequestHead, Target, Version};
use serow_http2::{Asking, BodyLength, Client, ClientEvent, ErrorCode, Limits, OpenError, StreamId};
use serow_net::{More, Socket};
use tokio::time::{Sleep, sleep};

use self::{
    stream::{Stop, Stream},
    violation::frame,
};
use crate::{
    observations::{End, Observations, now},
    plan::{ClientPlan, Conduct, Departure, Id, Moment, RequestPlan, Violation},
};

/// Carries out the plan of a client on this connection.
pub(crate) async fn run(socket: Socket, plan: &ClientPlan, observations: &Rc<Observations>) {
    // A server that is full accepts late.
    let settings_time = Duration::from_secs(1_000);
    let limits = Limits { window: 16 << 20, stream_window: 64 * 1024, settings_time, ..Limits::default() };
    let mut connection = Connection {
        socket,
        machine: Client::new(limits, now()),
        input: BytesMut::new(),
        output: Vec::new(),
        streams: BTreeMap::new(),
        plan,
        observations,
        next: 0,
        timer: Box::pin(sleep(plan.requests[0].pause)),
        state: State::Open,
    };
    poll_fn(|context| connection.poll(context)).await;
    if connection.state == State::LeavesByReset {
        connection.socket.reset_on_close();
    }
    let end = match connection.state {
        State::Leaves | State::LeavesByReset | State::Violates => End::Left,
        State::Reset => End::Reset,
        _ => End::Closed,
    };
    if plan.stays {
        observations.closed.borrow_mut().insert(plan.requests[0].id.client, now());
    }
    for stream in connection.streams.values() {
        observations.end(stream.request.id, end);
    }
}

struct Connection<'a> {
    socket: Socket,
    machine: Client,
    input: BytesMut,
    output: Vec<u8>,
    /// Those that have not ended.
    streams: BTreeMap<StreamId, Stream>,
    plan: &'a ClientPlan,
    observations: &'a Observations,
    /// The next request to open.
    next: usize,
    /// The next moment at which there is something to do.
    timer: Pin<Box<Sleep>>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The server opens no streams any more.
    GoingAway,
    Leaves,
    LeavesByReset,
    /// The client has violated the protocol, and waits for the end.
    Violates,
    Closed,
    Reset,
}

impl Connection<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut progress = self.open();
            progress |= self.wake();
            if self.state == State::Violates {
                return self.poll_end(context);
            }
            if self.is_open() {
                self.fill();
                progress |= self.flush(context);
                progress |= self.receive(context);
            }
            if !self.is_open() {
                return Poll::Ready(());
            }
            let is_done = self.next >= self.plan.requests.len() || self.state == State::GoingAway;
            if is_done && self.streams.is_empty() && self.output.is_empty() && !self.plan.stays {
                return Poll::Ready(());
            }
            if !progress {
                let moment = self.moment();
                self.timer.as_mut().reset(tokio::time::Instant::now() + moment.saturating_sub(now()));
                if self.timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
            }
        }
    }

    /// Behind a violation: ready when the server has ended the connection.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let _ = self.flush(context);
        loop {
            match self.socket.poll_receive(context, &mut self.input, |input| input.reserve(16 * 1024)) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(1..)) => self.input.clear(),
                Poll::Ready(_) => return Poll::Ready(()),
            }
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::GoingAway)
    }

    /// The next moment at which there is something to do.
    fn moment(&self) -> Duration {
        let wakes = self.streams.values().filter_map(|stream| Some(stream.wakes?.0));
        wakes.chain(self.machine.deadline()).min().unwrap_or(Duration::MAX / 4).min(now() + Duration::from_secs(50))
    }

    /// Opens the next request, if it is its turn.
    fn open(&mut self) -> bool {
        let Some(request) = self.plan.requests.get(self.next) else { return false };
        if self.state == State::GoingAway || !request.is_pipelined && !self.streams.is_empty() {
            return false;
        }
        let target = Target::parse(Bytes::from(request.target()), false);
        let Ok(target) = target else { return false };
        let mut headers = Headers::new();
        for (name, value) in [("host", "a.example"), ("x-id", &request.id.to_string())] {
            let _ = headers.append(name, value);
        }
        let Ok(method) = Method::from_bytes(request.method.as_bytes()) else { return false };
        let head = RequestHead { method, target, version: Version::HTTP_2, headers };
        let length = match request.body {
            None => BodyLength::Known(0),
            Some(body) if body.is_chunked => BodyLength::Unknown,
            Some(body) => BodyLength::Known(body.length as u64),
        };
        match self.machine.open(&head, length, Asking { scheme: "http", ..Asking::default() }) {
            Ok(id) => {
                self.next += 1;
                self.begin(id, request.clone());
                true
            }
            Err(OpenError::WouldBlock) => false,
            Err(error) => {
                self.observations.trace(|| format!("client {}: cannot open: {error:?}", request.id));
                self.state = State::GoingAway;
                false
            }
        }
    }

    fn begin(&mut self, id: StreamId, request: RequestPlan) {
        self.observations.note(request.id, |requested| requested.began = Some(now()));
        self.observations
            .trace(|| format!("client {}: {} {} {:?}", request.id, request.method, request.target(), request.conduct));
        if let Conduct::Violates(violation) = request.conduct {
            return self.violate(request.id, violation);
        }
        let stream = Stream::new(request);
        if stream.has_ended {
            self.observations.note(stream.request.id, |requested| requested.sent = Some(now()));
        }
        self.streams.insert(id, stream);
    }

    /// Sends a frame that ends the connection; what happens to the requests of it does not matter.
    fn violate(&mut self, id: Id, violation: Violation) {
        self.machine.write_control(&mut self.output);
        self.output.extend(frame(violation, self.next));
        self.state = State::Violates;
        let streams = std::mem::take(&mut self.streams);
        for id in streams.values().map(|stream| stream.request.id).chain([id]) {
            self.observations.end(id, End::Left);
        }
    }

    /// Ends pauses that are over.
    fn wake(&mut self) -> bool {
        self.machine.handle_timeout(now());
        let due = |stream: &Stream| stream.wakes.is_some_and(|(moment, _)| moment <= now());
        let due: Vec<_> = self.streams.iter().filter(|(_, stream)| due(stream)).map(|(id, _)| *id).collect();
        for id in &due {
            let Some(stream) = self.streams.get_mut(id) else { continue };
            if let Some((_, Stop::Leave(departure))) = stream.wakes.take() {
                self.leave(*id, departure);
            }
        }
        !due.is_empty()
    }

    fn leave(&mut self, id: StreamId, departure: Departure) {
        if !self.is_open() {
            return;
        }
        let Some(stream) = self.streams.get(&id) else { return };
        let request = stream.request.id;
        self.observations.trace(|| format!("client {request} leaves: {departure:?}"));
        if departure.is_stream {
            self.machine.reset(id, ErrorCode::CANCEL);
            self.streams.remove(&id);
            self.observations.end(request, End::Left);
        } else {
            self.state = if departure.is_reset { State::LeavesByReset } else { State::Leaves };
        }
    }

    /// Writes what may be sent.
    fn fill(&mut self) {
        self.machine.write_control(&mut self.output);
        for (id, stream) in &self.streams {
            self.machine.set_ready(*id, !stream.has_ended && stream.wakes.is_none());
        }
        while self.output.len() < MOST_OUTPUT {
            let Some(turn) = self.machine.next_turn(MOST_OUTPUT) else { break };
            let Some(stream) = self.streams.get_mut(&turn.stream) else { break };
            if stream.reach_stop() {
                self.machine.set_ready(turn.stream, false);
                continue;
            }
            let piece = stream.next_piece(turn.bytes);
            let ends = stream.outgoing.is_empty() && stream.stops.is_empty();
            if ends {
                stream.has_ended = true;
                self.observations.note(stream.request.id, |requested| requested.sent = Some(now()));
            }
            if self.machine.write_data(turn.stream, &piece, ends, &mut self.output).is_err() {
                stream.has_ended = true;
            }
            if stream.has_ended {
                self.machine.set_ready(turn.stream, false);
            }
        }
    }

    fn flush(&mut self, context: &mut Context<'_>) -> bool {
        let mut progress = false;
        while !self.output.is_empty() {
            match self.socket.poll_send(context, &self.output, More::Nothing) {
                Poll::Ready(Ok(count)) => drop(self.output.drain(..count)),
                // Bytes that the server sent before are still to be read.
                Poll::Ready(Err(_)) => self.output.clear(),
                Poll::Pending => break,
            }
            progress = true;
        }
        progress
    }

    fn receive(&mut self, context: &mut Context<'_>) -> bool {
        match self.socket.poll_receive(context, &mut self.input, |input| input.reserve(16 * 1024)) {
            Poll::Pending => return false,
            Poll::Ready(Ok(0)) => self.state = State::Closed,
            Poll::Ready(Err(_)) => self.state = State::Reset,
            Poll::Ready(Ok(_)) => loop {
                match self.machine.receive(&mut self.input, now()) {
                    Ok(Some(event)) => self.handle(event),
                    Ok(None) => break,
                    Err(error) => {
                        let client = self.plan.requests[0].id.client;
                        self.observations.violate(format!("client {client}: the server violates HTTP/2: {error:?}"));
                        self.state = State::Closed;
                        break;
                    }
                }
            },
        }
        true
    }

    fn handle(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response(response) => {
                let Some(stream) = self.streams.get_mut(&response.stream) else { return };
                let id = stream.request.id;
                let (is_informational, status) = (response.is_informational(), response.head.status.as_u16());
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                let fields = response.head.headers.iter().map(|(name, value)| (text(name), text(value)));
                let fields: Vec<_> = fields.collect();
                self.observations.trace(|| format!("client {id}: HTTP/2 {status} {fields:?}"));
                self.observations.note(id, |requested| {
                    if is_informational {
                        requested.received.hints += 1;
                    } else {
                        requested.received.status = Some(status);
                        requested.received.fields = fields;
                    }
                });
                if !is_informational && !response.has_body {
                    self.end(response.stream, End::Whole);
                }
            }
            ClientEvent::Data { stream: id, data } => self.take(id, &data),
            ClientEvent::End { stream, .. } => self.end(stream, End::Whole),
            ClientEvent::Reset { stream, code } => self.end(stream, End::StreamReset(code.0)),
            ClientEvent::GoAway { code } => {
                self.observations.trace(|| format!("client {}: GOAWAY {code:?}", self.plan.requests[0].id.client));
                self.state = State::GoingAway;
            }
        }
    }

    /// Takes a piece of a response's body.
    fn take(&mut self, id: StreamId, data: &[u8]) {
        let Some(stream) = self.streams.get(&id) else { return self.machine.note_consumed(id, data.len()) };
        let request = stream.request.clone();
        let mut length = 0;
        self.observations.note(request.id, |requested| {
            requested.received.body.extend_from_slice(data);
            length = requested.received.body.len();
        });
        match request.conduct {
            Conduct::StopsReading(most) if length >= most => {}
            Conduct::Leaves(departure) => {
                self.machine.note_consumed(id, data.len());
                if matches!(departure.moment, Moment::Receiving(most) if length >= most) {
                    self.leave(id, departure);
                }
            }
            _ => self.machine.note_consumed(id, data.len()),
        }
    }

    fn end(&mut self, id: StreamId, end: End) {
        let Some(stream) = self.streams.remove(&id) else { return };
        // The rest of its body is not wanted.
        if end == End::Whole && !stream.has_ended {
            self.machine.reset(id, ErrorCode::CANCEL);
        }
        self.observations.end(stream.request.id, end);
    }
}

/// Bytes that are written before they are sent.
const MOST_OUTPUT: usize = 64 * 1024;
