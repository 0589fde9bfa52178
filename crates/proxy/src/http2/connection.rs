//! A connection: the state that its exchanges share, and the task that receives and sends for all of them.

use std::{
    cell::RefCell,
    future::poll_fn,
    io,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use serow_client::{ClientError, Http2};
use serow_http2::{Asking, BodyOrder, ClientEvent, ErrorCode, OpenError, StreamId};
use serow_message::{BodyLength, Headers, UsageError};
use serow_net::{Deadline, Moment, Wire};

use super::{
    MAX_STREAMS, StreamRequest, limits,
    liveness::{Liveness, Verdict},
    slot::{Slot, StreamError},
    stream::{RequestProgress, Stream},
};
use crate::thread::ThreadContext;

/// A connection to a server. Its exchanges are in other tasks of the thread.
pub(super) struct Connection {
    state: RefCell<Http2State>,
}

struct Http2State {
    link: Http2,
    /// In the order of their streams.
    slots: Vec<(StreamId, Rc<Slot>)>,
    liveness: Liveness,
    /// Responses that came to their end.
    finished: u64,
    task: Option<Waker>,
}

impl Connection {
    /// Speaks HTTP/2 over this wire, once it [runs](Self::run).
    pub(super) fn new(wire: Wire, thread: &ThreadContext) -> Self {
        let now = thread.clock.now();
        let link = Http2::new(wire, Rc::clone(&thread.buffers), limits(), since_beginning(now));
        let liveness = Liveness::new(now);
        Self { state: RefCell::new(Http2State { link, slots: Vec::new(), liveness, finished: 0, task: None }) }
    }

    /// Receives and sends until the connection is over. Without streams it is kept for this time. `after_turn` is
    /// called whenever streams may have ended.
    pub(super) async fn run(&self, thread: &ThreadContext, keep: Duration, after_turn: impl Fn()) {
        let deadline = thread.deadlines.register();
        let ended = poll_fn(|context| {
            thread.clock.update();
            let polled = self.state.borrow_mut().poll(context, &deadline, keep, thread.clock.now());
            after_turn();
            polled
        });
        match ended.await {
            Ok(()) => {}
            Err(broken) => self.state.borrow_mut().lose_all(broken),
        }
    }

    /// Whether a request could be sent now.
    pub(super) fn check_room(&self) -> Result<(), OpenError> {
        self.state.borrow().check_room()
    }

    /// Whether it is not known yet how many requests it takes at a time.
    pub(super) fn is_untold(&self) -> bool {
        !self.state.borrow().link.has_settings()
    }

    /// Begins a request. Where all of its body is in memory, that is sent as well.
    pub(super) fn open(self: &Rc<Self>, asked: StreamRequest<'_>, scheme: &str) -> Result<Stream, OpenError> {
        let StreamRequest { head, body, informational, protocol } = asked;
        let mut state = self.state.borrow_mut();
        state.check_room()?;
        let link = &mut state.link;
        let asking = Asking { scheme, protocol, order: BodyOrder::InTurns, ..Asking::default() };
        let length = body.length().map_or(BodyLength::Unknown, BodyLength::Known);
        let (id, request) = match body.as_bytes() {
            _ if protocol.is_some() => {
                // Whether the server allows it is not known before its settings arrive.
                link.allows_extended_connect().ok_or(OpenError::WouldBlock)?;
                (link.begin(head, BodyLength::Unknown, asking)?, RequestProgress::Head)
            }
            Some(bytes) => (link.open(head, bytes, asking)?, RequestProgress::Whole),
            _ if length == BodyLength::Known(0) => (link.begin(head, length, asking)?, RequestProgress::Whole),
            _ => (link.begin(head, length, asking)?, RequestProgress::Head),
        };
        let slot = Rc::new(Slot::new(informational.clone()));
        state.slots.push((id, Rc::clone(&slot)));
        state.wake();
        let received_before = (state.finished > 0).then(|| state.link.received());
        Ok(Stream::new(Rc::clone(self), id, slot, request, received_before))
    }

    pub(super) fn wants_data(&self, stream: StreamId) -> bool {
        self.state.borrow().link.wants_data(stream)
    }

    pub(super) fn send_data(&self, stream: StreamId, piece: Bytes) -> Result<(), UsageError> {
        let mut state = self.state.borrow_mut();
        state.wake();
        state.link.send_data(stream, piece)
    }

    pub(super) fn send_end(&self, stream: StreamId, trailers: Option<Headers>) -> Result<(), UsageError> {
        let mut state = self.state.borrow_mut();
        state.wake();
        state.link.send_end(stream, trailers)
    }

    pub(super) fn note_consumed(&self, stream: StreamId, bytes: usize) {
        let mut state = self.state.borrow_mut();
        state.link.note_consumed(stream, bytes);
        if state.link.has_unsent() {
            state.wake();
        }
    }

    /// Bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.state.borrow().link.received()
    }

    /// An exchange leaves its stream, which is cut off unless it is over.
    pub(super) fn leave(&self, stream: StreamId) {
        let mut state = self.state.borrow_mut();
        if let Ok(place) = state.find(stream) {
            state.slots.remove(place);
        }
        state.link.reset(stream, ErrorCode::CANCEL);
        if state.link.has_unsent() {
            state.wake();
        }
    }

    /// Starts no more requests; those in flight continue.
    pub(super) fn begin_shutdown(&self) {
        let mut state = self.state.borrow_mut();
        state.link.begin_shutdown();
        state.wake();
    }
}

impl Http2State {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        deadline: &Deadline,
        keep: Duration,
        now: Moment,
    ) -> Poll<Result<(), ClientError>> {
        match &mut self.task {
            Some(task) if task.will_wake(context.waker()) => {}
            slot => *slot = Some(context.waker().clone()),
        }
        self.link.handle_timeout(since_beginning(now));
        if let Err(broken) = self.receive(context, since_beginning(now)) {
            // Sends the error to the server, as far as the socket has room.
            let _ = self.link.poll_flush(context);
            return Poll::Ready(Err(broken));
        }
        loop {
            if let Poll::Ready(Err(broken)) = self.link.poll_flush(context) {
                return Poll::Ready(Err(broken));
            }
            self.wake_wanting();
            if self.link.is_finished() {
                return Poll::Ready(Ok(()));
            }
            let is_active = self.link.active_streams() > 0;
            match self.liveness.judge(self.link.received(), is_active, keep, now) {
                Verdict::Wait(time) => {
                    let settings = self.link.deadline().map(|due| due.saturating_sub(since_beginning(now)));
                    deadline.set(settings.map_or(time, |due| due.min(time)));
                    let _ = deadline.poll_expired(context);
                    return Poll::Pending;
                }
                Verdict::Ask => self.link.send_ping(),
                Verdict::Dead => return Poll::Ready(Err(ClientError::Lost(io::ErrorKind::TimedOut.into()))),
                Verdict::Idle => self.link.begin_shutdown(),
            }
        }
    }

    /// Receives data, but not so much at once that other tasks of the thread would starve.
    fn receive(&mut self, context: &mut Context<'_>, now: Duration) -> Result<(), ClientError> {
        let most = self.link.received() + RECEIVED_AT_ONCE;
        while let Poll::Ready(event) = self.link.poll_receive(context, now) {
            self.handle(event?);
            if self.link.received() > most {
                context.waker().wake_by_ref();
                break;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response(response) => {
                self.finished += u64::from(!response.has_body && !response.is_informational());
                if let Some(slot) = self.slot(response.stream) {
                    slot.put_head(response);
                }
            }
            ClientEvent::Data { stream, data } => match self.slot(stream) {
                Some(slot) => slot.put_piece(data),
                None => self.link.note_consumed(stream, data.len()),
            },
            ClientEvent::End { stream, trailers } => {
                self.finished += 1;
                if let Some(slot) = self.slot(stream) {
                    slot.put_end(trailers);
                }
            }
            ClientEvent::Reset { stream, code } => {
                if let Some(slot) = self.slot(stream) {
                    slot.put_loss(StreamError::Reset(code));
                }
            }
            ClientEvent::GoAway { code } => tracing::debug!(%code, "a server closes a connection gracefully (GOAWAY)"),
        }
    }

    /// Wakes the exchanges whose last piece has been written and that may send the next one.
    fn wake_wanting(&mut self) {
        while let Some(stream) = self.link.next_wanting() {
            if let Some(slot) = self.slot(stream) {
                slot.wake();
            }
        }
    }

    fn check_room(&self) -> Result<(), OpenError> {
        self.link.check_room()?;
        let most = if self.link.has_settings() { MAX_STREAMS } else { STREAMS_BEFORE_SETTINGS };
        if self.link.active_streams() >= most as usize { Err(OpenError::WouldBlock) } else { Ok(()) }
    }

    /// The connection is of no more use.
    fn lose_all(&mut self, broken: ClientError) {
        let broken = Rc::new(broken);
        for (_, slot) in &self.slots {
            slot.put_loss(StreamError::ConnectionLost(Rc::clone(&broken)));
        }
        // So that no more is begun.
        self.link.begin_shutdown();
    }

    fn slot(&self, stream: StreamId) -> Option<&Slot> {
        let place = self.find(stream).ok()?;
        self.slots.get(place).map(|(_, slot)| &**slot)
    }

    fn find(&self, stream: StreamId) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&stream, |(other, _)| *other)
    }

    /// The task has something to do.
    fn wake(&self) {
        if let Some(task) = &self.task {
            task.wake_by_ref();
        }
    }
}

/// The moment, for the machine.
fn since_beginning(now: Moment) -> Duration {
    Duration::from_millis(now.milliseconds())
}

/// Streams before the server's settings have come. It may allow few and refuse the others, and they come within a round
/// trip.
const STREAMS_BEFORE_SETTINGS: u32 = 1;

/// Four fillings of a buffer.
const RECEIVED_AT_ONCE: u64 = 256 * 1024;
