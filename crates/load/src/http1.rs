//! A connection's place in the run, over HTTP/1.1: one batch of requests after the other.

use std::{
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::BytesMut;
use serow_client::{ClientError, Http1, IdleHttp1};
use serow_http1::{Event, Limits, Next};
use serow_message::Method;
use serow_net::{Deadline, Readable, monotonic};

use crate::{
    Batch,
    schedule::{Permit, SchedulePlace},
    source::Kept,
    statistics::Fault,
    thread::Thread,
};

/// Sends requests until the schedule has no more.
pub(crate) async fn send(thread: &Rc<Thread>) {
    let thread = Rc::clone(thread);
    let deadline = thread.deadlines.register();
    let mut lane = Lane { deadline, thread, place: SchedulePlace::default(), connection: None, waiting: false };
    while let Some(permit) = poll_fn(|context| lane.poll_next(context)).await {
        let Some(connection) = lane.take_connection(permit).await else { continue };
        if lane.thread.delays && !lane.thread.delay().await {
            break;
        }
        let Some(batch) = lane.thread.next_batch() else { break };
        lane.exchange(connection, &batch, permit).await;
    }
}

/// One connection at a time.
struct Lane {
    thread: Rc<Thread>,
    place: SchedulePlace,
    connection: Option<IdleHttp1>,
    deadline: Deadline,
    /// Whether it waits for a permit.
    waiting: bool,
}

/// How far the requests of a batch have come.
struct BatchProgress<'a> {
    batch: &'a Batch,
    /// How many responses are whole.
    answered: usize,
    stage: ResponseProgress,
    /// The response, where a script wants to see it.
    kept: Option<Kept>,
    counts: bool,
    began: Duration,
    limit: Duration,
    /// Bytes that the connection had received before.
    received: u64,
}

/// The part of the next response that has arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseProgress {
    /// Nothing, and the connection does not know of it.
    Unannounced,
    /// Only informational responses.
    Head,
    /// The head, with this status.
    Body(u16),
}

/// How the requests of a batch ended.
enum Outcome {
    /// The last response that comes on this connection is whole.
    Answered(Next),
    Broken(ClientError),
    TimedOut,
}

impl Lane {
    /// The next permit; an idle connection that the server closes is let go of meanwhile.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Permit>> {
        let next = self.thread.schedule.poll_next(context, &mut self.place, monotonic);
        // Also if the permit came at the moment when the server closed the connection. A lane that did not wait has
        // just received a response, so its connection need not be checked.
        let waited = std::mem::replace(&mut self.waiting, next.is_pending());
        if (waited || self.waiting)
            && let Some(connection) = &mut self.connection
            && connection.poll_unusable(context).is_ready()
        {
            self.connection = None;
        }
        next
    }

    /// The idle connection, or a new one. A new one is not checked for received bytes: servers may send the tickets of TLS
    /// together with their part of the handshake.
    async fn take_connection(&mut self, permit: Permit) -> Option<Box<Http1>> {
        if let Some(idle) = self.connection.take() {
            return Some(idle.into_active_unchecked());
        }
        match self.thread.dial().await {
            Ok(wire) => Some(Box::new(Http1::new(wire, Rc::clone(&self.thread.buffers), LIMITS))),
            Err(_) => {
                self.thread.note_unconnected(usize::from(permit.counts)).await;
                None
            }
        }
    }

    /// Sends a batch and takes its responses.
    async fn exchange(&mut self, mut connection: Box<Http1>, batch: &Batch, permit: Permit) {
        let thread = &*self.thread;
        let sent = monotonic();
        thread.begin_timeout(&self.deadline);
        let mut exchange = BatchProgress {
            batch,
            answered: 0,
            stage: ResponseProgress::Unannounced,
            kept: None,
            counts: permit.counts,
            began: permit.due.unwrap_or(sent),
            limit: sent + thread.plan.timeout,
            received: connection.received(),
        };
        connection.send_written(batch.text().clone());
        let outcome = poll_fn(|context| exchange.poll(context, &mut connection, thread, &self.deadline)).await;
        thread.statistics.note_bytes(connection.received() - exchange.received);
        let unanswered = if permit.counts { batch.requests().len() - exchange.answered } else { 0 };
        self.deadline.clear();
        match outcome {
            Outcome::Answered(Next::Reuse) if thread.plan.keep_alive => match connection.into_idle() {
                Ok(connection) => self.connection = Some(connection),
                // More than was asked for: the next request must not take it for its response.
                Err(_) => thread.statistics.note_faults(Fault::Protocol, usize::from(permit.counts)),
            },
            Outcome::Answered(_) => {
                thread.statistics.note_faults(Fault::Read, unanswered);
                close(connection);
            }
            Outcome::Broken(broken) => {
                let fault = thread.judge(&broken, connection.not_understood());
                thread.statistics.note_faults(fault, unanswered);
            }
            Outcome::TimedOut => thread.statistics.note_faults(Fault::Timeout, unanswered),
        }
    }
}

/// Closes a connection that has served its turn. If the server has not closed it first, it is reset: otherwise its port
/// would be taken for a minute (TIME_WAIT, tcp(7)), and after 28,000 connections there would be none.
fn close(connection: Box<Http1>) {
    if connection.wire().socket().readable() != Readable::End {
        connection.wire().socket().reset_on_close();
    }
}

impl BatchProgress<'_> {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        connection: &mut Http1,
        thread: &Thread,
        deadline: &Deadline,
    ) -> Poll<Outcome> {
        // A response goes before an error of sending: the server may have refused before all was sent.
        let unsent = match connection.has_unsent().then(|| connection.poll_flush(context)) {
            Some(Poll::Ready(Err(broken))) => Some(broken),
            _ => None,
        };
        match self.poll_responses(context, connection, thread) {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => match unsent {
                Some(broken) => Poll::Ready(Outcome::Broken(broken)),
                None => deadline.poll_expired(context).map(|()| Outcome::TimedOut),
            },
        }
    }

    /// Takes responses until all are there.
    fn poll_responses(&mut self, context: &mut Context<'_>, connection: &mut Http1, thread: &Thread) -> Poll<Outcome> {
        loop {
            if self.stage == ResponseProgress::Unannounced {
                // The one before is whole, so there is nothing that this could interrupt.
                let _ = connection.expect(self.method());
                self.stage = ResponseProgress::Head;
            }
            match connection.poll_receive(context) {
                Poll::Ready(Ok(Event::Head(response))) if response.is_informational() => {}
                Poll::Ready(Ok(Event::Head(response))) => {
                    let status = response.head.status.as_u16();
                    self.stage = ResponseProgress::Body(status);
                    if thread.keeps_responses {
                        self.kept = Some(Kept { status, headers: response.head.headers, body: BytesMut::new() });
                    }
                }
                Poll::Ready(Ok(Event::Data(data))) => {
                    if let Some(kept) = &mut self.kept {
                        kept.body.extend_from_slice(&data);
                    }
                }
                Poll::Ready(Ok(Event::End(_))) => {
                    if let Some(next) = self.note_response(connection, thread) {
                        return Poll::Ready(Outcome::Answered(next));
                    }
                }
                Poll::Ready(Err(broken)) => return Poll::Ready(Outcome::Broken(broken)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn method(&self) -> &Method {
        &self.batch.requests()[self.answered].head.method
    }

    /// A response is whole; what becomes of the connection, where it was the last.
    fn note_response(&mut self, connection: &mut Http1, thread: &Thread) -> Option<Next> {
        let now = monotonic();
        self.answered += 1;
        match std::mem::replace(&mut self.stage, ResponseProgress::Unannounced) {
            ResponseProgress::Body(status) if now <= self.limit => {
                thread.note_response(self.counts, status, now - self.began, now);
            }
            _ => thread.statistics.note_faults(Fault::Timeout, usize::from(self.counts)),
        }
        if let Some(kept) = self.kept.take() {
            thread.show(&kept);
        }
        let next = connection.next();
        let is_last = self.answered == self.batch.requests().len();
        (is_last || next != Next::Reuse).then_some(next)
    }
}

/// A response may be as large as it likes: nothing of it is kept.
const LIMITS: Limits = Limits {
    head: 1 << 20,
    fields: 1000,
    target: 8 * 1024,
    body: u64::MAX,
    chunk_extensions: 1 << 20,
    informational: usize::MAX,
};
