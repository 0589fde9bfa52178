//! A connection's place in the run, over HTTP/2 and HTTP/3: many requests at once.

mod connection;
mod http2;
mod http3;
mod in_flight;

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use bytes::BytesMut;
use serow_client::ClientError;
use serow_net::{Deadline, monotonic};
use serow_streams::{ClientEvent, OpenError, StreamId};

use self::in_flight::{InFlight, Request, RequestSource};
pub(crate) use self::{connection::Connection, http2::LIMITS as HTTP2_LIMITS, http3::LIMITS as HTTP3_LIMITS};
use crate::{
    Batch,
    schedule::{Permit, SchedulePlace},
    source::Kept,
    statistics::Fault,
    thread::Thread,
};

/// Sends requests over HTTP/2 until the schedule has no more.
pub(crate) async fn send_http2(thread: &Rc<Thread>) {
    send::<serow_client::Http2>(thread).await;
}

/// Sends requests over HTTP/3 until the schedule has no more.
pub(crate) async fn send_http3(thread: &Rc<Thread>) {
    send::<serow_client::Http3>(thread).await;
}

async fn send<C: Connection>(thread: &Rc<Thread>) {
    let mut place = SchedulePlace::default();
    let deadline = thread.deadlines.register();
    let mut next = None;
    let mut refused = VecDeque::new();
    loop {
        if next.is_none() && refused.is_empty() {
            let Some(permit) = poll_fn(|context| thread.schedule.poll_next(context, &mut place, monotonic)).await
            else {
                break;
            };
            next = thread.next_batch().map(|batch| Pending { permit, batch, opened: 0 });
        }
        let connection = match C::dial(thread).await {
            Ok(connection) => connection,
            Err(_) => {
                let lost = next.take().filter(|pending| pending.permit.counts);
                let lost = lost.map_or(0, |pending| pending.unopened());
                let refused = refused.drain(..).filter(|request: &Request| request.counts).count();
                thread.note_unconnected(lost + refused).await;
                continue;
            }
        };
        let mut lanes = Lanes {
            thread,
            place: &mut place,
            deadline: &deadline,
            connection,
            next: next.take(),
            refused: &mut refused,
            pause: thread.delays.then(|| Box::pin(thread.delay()) as Pause<'_>),
            in_flight: InFlight::new(C::FIRST_STREAM, C::STREAM_DISTANCE),
            stage: ConnectionStage::Opening,
        };
        poll_fn(|context| lanes.poll(context)).await;
        next = lanes.next;
    }
}

/// One connection, with all that is in flight on it.
struct Lanes<'a, C> {
    thread: &'a Thread,
    place: &'a mut SchedulePlace,
    deadline: &'a Deadline,
    connection: C,
    next: Option<Pending>,
    /// Requests that the server refused on this connection or one before; they go first on the next.
    refused: &'a mut VecDeque<Request>,
    /// The delay that the script wants before the next request.
    pause: Option<Pause<'a>>,
    in_flight: InFlight,
    stage: ConnectionStage,
}

/// A delay before a request; its result says whether the request is still to be sent.
type Pause<'a> = Pin<Box<dyn Future<Output = bool> + 'a>>;

/// A batch that may be sent, of which some requests have not been.
struct Pending {
    permit: Permit,
    batch: Rc<Batch>,
    /// How many of the batch are in flight.
    opened: usize,
}

/// Whether requests are opened on a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionStage {
    Opening,
    /// No more; those in flight are awaited.
    Finishing,
}

impl Pending {
    /// Requests of the batch that are not in flight.
    fn unopened(&self) -> usize {
        self.batch.requests().len() - self.opened
    }
}

impl<C: Connection> Lanes<'_, C> {
    /// Ready when the connection has nothing more to do.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let received = self.connection.received();
            let outcome = self.take_events(context);
            self.thread.statistics.note_bytes(self.connection.received() - received);
            if let Err(broken) = outcome {
                return self.end_broken(context, &broken);
            }
            self.open_requests(context);
            if let Poll::Ready(Err(broken)) = self.connection.poll_flush(context) {
                return self.end_broken(context, &broken);
            }
            if self.in_flight.count() == 0 && self.stage == ConnectionStage::Finishing {
                self.connection.begin_shutdown();
            }
            if self.connection.is_finished() {
                self.connection.close(context, self.thread.plan.keep_alive);
                return Poll::Ready(());
            }
            if self.deadline.poll_expired(context).is_pending() {
                return Poll::Pending;
            }
            self.handle_timeout();
        }
    }

    /// Opens what may be opened.
    fn open_requests(&mut self, context: &mut Context<'_>) {
        while self.stage == ConnectionStage::Opening && self.in_flight.count() < self.thread.plan.streams {
            if let Some(request) = self.refused.pop_front() {
                match self.open_again(request) {
                    Poll::Ready(()) => continue,
                    Poll::Pending => return,
                }
            }
            if self.next.is_none() {
                let Poll::Ready(permit) = self.thread.schedule.poll_next(context, self.place, monotonic) else {
                    return;
                };
                self.next =
                    permit.and_then(|permit| Some(Pending { permit, batch: self.thread.next_batch()?, opened: 0 }));
                if self.thread.delays && self.next.is_some() {
                    self.pause = Some(Box::pin(self.thread.delay()));
                }
            }
            if let Some(pause) = &mut self.pause {
                let Poll::Ready(goes_on) = pause.as_mut().poll(context) else { return };
                self.pause = None;
                self.next.take_if(|_| !goes_on);
            }
            match &mut self.next {
                None => self.stage = ConnectionStage::Finishing,
                Some(pending) => {
                    let opened = open_next(&mut self.connection, pending, self.thread);
                    let is_last = pending.unopened() == 0;
                    match opened {
                        Ok(request) => self.begin(request),
                        Err(OpenError::WouldBlock) => return,
                        Err(OpenError::GoAway) => self.stage = ConnectionStage::Finishing,
                        Err(OpenError::Usage) => {
                            self.thread.statistics.note_faults(Fault::Protocol, usize::from(pending.permit.counts));
                        }
                    }
                    if is_last {
                        self.next = None;
                    }
                }
            }
        }
    }

    /// Sends a request again that was refused; pending while there is no room for it.
    fn open_again(&mut self, request: Request) -> Poll<()> {
        match open(&mut self.connection, &request.source, self.thread) {
            Ok(()) => self.begin(Request { sent: monotonic(), status: 0, kept: None, ..request }),
            Err(error @ (OpenError::WouldBlock | OpenError::GoAway)) => {
                self.refused.push_front(request);
                if error == OpenError::WouldBlock {
                    return Poll::Pending;
                }
                self.stage = ConnectionStage::Finishing;
            }
            Err(OpenError::Usage) => self.thread.statistics.note_faults(Fault::Protocol, usize::from(request.counts)),
        }
        Poll::Ready(())
    }

    fn begin(&mut self, request: Request) {
        if self.in_flight.count() == 0 {
            self.thread.begin_timeout(self.deadline);
        }
        self.in_flight.push(request);
        if !self.thread.plan.keep_alive {
            self.stage = ConnectionStage::Finishing;
        }
    }

    /// Takes what has come.
    fn take_events(&mut self, context: &mut Context<'_>) -> Result<(), ClientError> {
        while let Poll::Ready(event) = self.connection.poll_receive(context, monotonic()) {
            match event? {
                ClientEvent::Response(response) if response.is_informational() => {}
                ClientEvent::Response(response) => {
                    let (status, keeps) = (response.head.status.as_u16(), self.thread.keeps_responses);
                    if let Some(request) = self.in_flight.find(response.stream) {
                        request.status = status;
                        let headers = response.head.headers;
                        request.kept = keeps.then(|| Kept { status, headers, body: BytesMut::new() });
                    }
                    if !response.has_body {
                        self.finish(response.stream);
                    }
                }
                ClientEvent::Data { stream, data } => {
                    self.connection.note_consumed(stream, data.len());
                    if self.thread.keeps_responses
                        && let Some(Request { kept: Some(kept), .. }) = self.in_flight.find(stream)
                    {
                        kept.body.extend_from_slice(&data);
                    }
                }
                ClientEvent::End { stream, .. } => self.finish(stream),
                ClientEvent::Reset { stream, code } if code == C::REFUSED => self.note_refusal(stream),
                ClientEvent::Reset { stream, .. } => self.lose(stream, Fault::Protocol),
                ClientEvent::GoAway { .. } => self.stage = ConnectionStage::Finishing,
            }
        }
        Ok(())
    }

    /// A whole response has come.
    fn finish(&mut self, stream: StreamId) {
        let Some(request) = self.take(stream) else { return };
        let now = monotonic();
        if now > request.sent + self.thread.plan.timeout {
            self.thread.statistics.note_faults(Fault::Timeout, usize::from(request.counts));
        } else {
            self.thread.note_response(request.counts, request.status, now - request.began, now);
        }
        if let Some(kept) = request.kept {
            self.thread.show(&kept);
        }
    }

    /// The server never looked at a request (RFC 9113 §8.7, RFC 9114 §4.1.1), so it goes to another connection.
    fn note_refusal(&mut self, stream: StreamId) {
        let Some(mut request) = self.take(stream) else { return };
        self.stage = ConnectionStage::Finishing;
        if request.source.refusals == MAX_REFUSALS {
            return self.thread.statistics.note_faults(Fault::Read, usize::from(request.counts));
        }
        request.source.refusals += 1;
        if request.counts {
            self.thread.statistics.note_sent_again();
        }
        // Of those refused by one GOAWAY, the last comes first.
        self.refused.push_front(request);
    }

    /// There will be no whole response.
    fn lose(&mut self, stream: StreamId, fault: Fault) {
        if let Some(request) = self.take(stream) {
            self.thread.statistics.note_faults(fault, usize::from(request.counts));
        }
    }

    /// The connection is of no more use.
    fn end_broken(&mut self, context: &mut Context<'_>, broken: &ClientError) -> Poll<()> {
        let fault = self.thread.judge(broken, self.connection.not_understood());
        self.thread.statistics.note_faults(fault, self.in_flight.counted());
        self.deadline.clear();
        // The last frames for the server, as far as the kernel takes them.
        let _ = self.connection.poll_flush(context);
        Poll::Ready(())
    }

    /// Some may have waited too long.
    fn handle_timeout(&mut self) {
        let now = monotonic();
        self.connection.handle_timeout(now);
        let timeout = self.thread.plan.timeout;
        // They were sent in the order of their streams, so the oldest is the first whose time is over.
        while let Some((stream, sent)) = self.in_flight.oldest() {
            if sent + timeout > now {
                return self.deadline.set(sent + timeout - now);
            }
            self.connection.reset(stream, C::CANCELLED);
            self.lose(stream, Fault::Timeout);
        }
    }

    /// Takes a request off the list.
    fn take(&mut self, stream: StreamId) -> Option<Request> {
        let request = self.in_flight.take(stream);
        if self.in_flight.count() == 0 {
            self.deadline.clear();
        }
        request
    }
}

/// Opens the next request of those that may be sent. One that cannot be sent at all is passed over.
fn open_next<C: Connection>(connection: &mut C, pending: &mut Pending, thread: &Thread) -> Result<Request, OpenError> {
    let source = RequestSource { batch: Rc::clone(&pending.batch), number: pending.opened, refusals: 0 };
    let opened = open(connection, &source, thread);
    if !matches!(opened, Err(OpenError::WouldBlock | OpenError::GoAway)) {
        pending.opened += 1;
    }
    opened?;
    let sent = monotonic();
    let Permit { due, counts } = pending.permit;
    Ok(Request { counts, began: due.unwrap_or(sent), sent, status: 0, kept: None, source })
}

/// Opens a stream with this request.
fn open<C: Connection>(connection: &mut C, source: &RequestSource, thread: &Thread) -> Result<(), OpenError> {
    let written = &source.batch.requests()[source.number];
    connection.open(&written.head, &written.body, thread.plan.origin.scheme_name(), None).map(drop)
}

/// How often a request is sent again. A server that leaves refuses it once, or twice where the next leaves too; one
/// that refuses each stream must not be asked for ever.
const MAX_REFUSALS: u32 = 10;
