//! An exchange over HTTP/1.1: the request on its way to a server, and the response on its way back.
//!
//! Until the head of the response is there, the task of the client's connection does the work. What is left of the body then
//! is moved by a task of its own, which hands it over piece by piece, as the client takes it.

use std::{
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
    time::Instant,
};

use serow_client::{Broken, Http1};
use serow_gateway::Asked;
use serow_http1::{Event, Framing, ReceivedResponse};
use serow_message::{Body, BodyLength, BoxError, Feeder, Incoming, Interim, RequestHead, StatusCode, Wanted};

use crate::{
    answer::{Answer, Content, Received, pass_on},
    failure::{Cause, Failure, Processed},
    feeding::{Cut, Fed, fed_by},
    lease::Lease,
    patience::{Patience, Waiting},
    request_body::{Piece, RequestBody},
    request_head,
    thread_local_pool::ThreadLocalPool,
};

/// An exchange that is under way.
pub(crate) struct Exchange {
    pool: Rc<ThreadLocalPool>,
    lease: Lease,
    /// Boxed, since it is moved often.
    connection: Box<Http1>,
    patience: Patience,
    request: Outgoing,
    body: RequestBody,
    asked: Option<Instant>,
    is_reused: bool,
    /// Bytes that had come before.
    received_before: u64,
    /// When all of it has to be over.
    until: Option<Instant>,
}

/// What of the request is to be sent.
enum Outgoing {
    /// The body, or what is left of it.
    Body,
    /// All of it was handed to the connection.
    Whole,
    /// The server takes no more; what it says about that is waited for.
    Refused(Broken),
}

impl Exchange {
    /// An exchange on this connection, which served others before, or did not.
    pub(crate) fn new(
        pool: Rc<ThreadLocalPool>,
        lease: Lease,
        connection: Box<Http1>,
        is_reused: bool,
        until: Option<Instant>,
    ) -> Self {
        let (patience, request, body) = (Patience::new(&pool), Outgoing::Whole, RequestBody::default());
        let received_before = connection.received();
        Self { pool, lease, connection, patience, request, body, asked: None, is_reused, received_before, until }
    }

    /// Sends the request, and waits for the response. The body is taken from where it is only when something of it is
    /// wanted; interim responses go on to the client. Where there is no response, the body is given back, for another attempt.
    pub(crate) async fn response(
        &mut self,
        head: &RequestHead,
        body: &mut RequestBody,
        interim: &Interim,
    ) -> Result<ReceivedResponse, Failure> {
        let length = body.length().map_or(BodyLength::Unknown, BodyLength::Known);
        let has_body = self
            .connection
            .send_head(head, length)
            .map_err(|misuse| Failure::of_exchange(Cause::Unsayable(misuse.to_string()), Processed::Never))?;
        if has_body {
            (self.request, self.body) = (Outgoing::Body, std::mem::take(body));
            // A server of HTTP/1.1 does not say that it left a request alone.
            if !head.method.is_idempotent() && !self.pool.upstream.settings().retries.all_methods {
                self.body.release();
            }
        }
        let response = poll_fn(|context| self.poll_head(context, interim)).await;
        match response {
            Ok(_) => self.body.release(),
            Err(_) if has_body => *body = std::mem::take(&mut self.body),
            Err(_) => {}
        }
        response
    }

    /// What is behind the head of the response.
    pub(crate) fn into_answer(
        self,
        response: ReceivedResponse,
        request: &request_head::Outgoing,
    ) -> Result<Answer, Failure> {
        let ReceivedResponse { head, framing } = response;
        let asked = self.asked;
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            let Self { connection, lease, .. } = self;
            return Ok(Answer { head, content: Content::Tunnel(Box::new(connection.into_tunnel()), lease), asked });
        }
        let body = self.into_body(framing, request);
        let body = body.map_err(|broken| Failure::of_exchange(Cause::Broken(broken.into()), Processed::Maybe))?;
        Ok(Answer { head, content: Content::Body(body), asked })
    }

    fn poll_head(&mut self, context: &mut Context<'_>, interim: &Interim) -> Poll<Result<ReceivedResponse, Failure>> {
        loop {
            match self.poll_send(context) {
                Ok(waiting) => self.patience.wait_for(waiting),
                Err(error) => return Poll::Ready(Err(Failure::of_exchange(Cause::Body(error), Processed::Maybe))),
            }
            match self.connection.poll_receive(context) {
                Poll::Ready(Ok(Event::Head(response))) if response.is_interim() => pass_on(interim, response.head),
                Poll::Ready(Ok(Event::Head(response))) => return Poll::Ready(Ok(response)),
                // There is none before a head.
                Poll::Ready(Ok(Event::Data(_) | Event::End(_))) => {}
                Poll::Ready(Err(broken)) => return Poll::Ready(Err(self.broken(broken))),
                Poll::Pending => {
                    return self
                        .patience
                        .poll_over(context)
                        .map(|time| Err(Failure::of_exchange(Cause::TimedOut(time), Processed::Maybe)));
                }
            }
        }
    }

    /// Moves the request's body on, as far as the server takes it and the client gives it; says what is waited for then. The
    /// error is the client's.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Result<Waiting, BoxError> {
        loop {
            if self.connection.has_unsent() {
                match self.connection.poll_flush(context) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(broken)) => {
                        self.request = Outgoing::Refused(broken);
                        return Ok(Waiting::Beginning);
                    }
                    Poll::Pending => return Ok(Waiting::Taking),
                }
            }
            let Outgoing::Body = self.request else { return Ok(Waiting::Beginning) };
            let Poll::Ready(piece) = self.body.poll_next(context) else { return Ok(Waiting::Nothing) };
            match piece? {
                Piece::Data(data) => {
                    self.connection.send_data(&data)?;
                    // It took what there was: its time begins again.
                    self.patience.note_progress();
                }
                Piece::End(trailers) => {
                    self.connection.send_end(trailers.as_ref())?;
                    self.request = Outgoing::Whole;
                    self.asked = Some(Instant::now());
                }
            }
        }
    }

    /// What a connection that broke before the response says of the request.
    fn broken(&mut self, broken: Broken) -> Failure {
        let nothing_came = self.connection.received() == self.received_before;
        let closed = matches!(broken, Broken::Closed | Broken::Lost(_));
        let processed = if self.is_reused && closed && nothing_came { Processed::Unlikely } else { Processed::Maybe };
        let cause = match std::mem::replace(&mut self.request, Outgoing::Whole) {
            Outgoing::Refused(first) => first,
            Outgoing::Body | Outgoing::Whole => broken,
        };
        Failure::of_exchange(Cause::Broken(cause.into()), processed)
    }

    /// The body behind the head. What came along with the head is taken at once: most responses are whole by then.
    fn into_body(mut self, framing: Framing, request: &request_head::Outgoing) -> Result<Body, Broken> {
        let mut received = Received::default();
        while let Some(event) = self.connection.receive_received()? {
            match event {
                Event::Data(data) => received.push(data),
                Event::End(trailers) => received.end = Some(trailers),
                Event::Head(_) => {}
            }
            if received.end.is_some() {
                break;
            }
        }
        if let Some(None) = received.end {
            self.finish();
            return Ok(received.into_body());
        }
        let (feeder, incoming) = Incoming::channel(framing.length());
        self.patience.wait_for(Waiting::Nothing);
        tokio::task::spawn_local(self.feed(received, feeder, request.asked()));
        Ok(incoming.into())
    }

    /// Hands the response over as it is asked for.
    async fn feed(mut self, mut received: Received, feeder: Feeder, asked: Asked) {
        let until = self.until;
        match fed_by(until, poll_fn(|context| self.poll_feed(&mut received, &feeder, context))).await {
            Ok(Fed::Whole) => self.finish(),
            Ok(Fed::Abandoned) => {}
            Err(cut) => cut.tell(&feeder, &self.pool, self.lease.server(), &asked),
        }
    }

    fn poll_feed(
        &mut self,
        received: &mut Received,
        feeder: &Feeder,
        context: &mut Context<'_>,
    ) -> Poll<Result<Fed, Cut>> {
        loop {
            // The client may still be sending; where it fails, it will hear of it elsewhere.
            if self.poll_send(context).is_err() {
                return Poll::Ready(Ok(Fed::Abandoned));
            }
            match feeder.poll_wanted(context) {
                Poll::Ready(Wanted::More) => {}
                Poll::Ready(Wanted::Nothing) => return Poll::Ready(Ok(Fed::Abandoned)),
                Poll::Pending => {
                    self.patience.wait_for(Waiting::Nothing);
                    return Poll::Pending;
                }
            }
            if let Some(data) = received.pop() {
                feeder.push(data, context);
                continue;
            }
            if let Some(trailers) = received.end.take() {
                feeder.finish(trailers);
                return Poll::Ready(Ok(Fed::Whole));
            }
            match self.connection.poll_receive(context) {
                Poll::Ready(Ok(Event::Data(data))) => {
                    self.patience.note_progress();
                    received.push(data);
                }
                Poll::Ready(Ok(Event::End(trailers))) => received.end = Some(trailers),
                Poll::Ready(Ok(Event::Head(_))) => {}
                Poll::Ready(Err(broken)) => {
                    return Poll::Ready(Err(Cut::lost(&broken)));
                }
                Poll::Pending => {
                    self.patience.wait_for(Waiting::GoingOn);
                    if feeder.poll_abandoned(context).is_ready() {
                        return Poll::Ready(Ok(Fed::Abandoned));
                    }
                    return self.patience.poll_over(context).map(|time| Err(Cut::silent(time)));
                }
            }
        }
    }

    /// The exchange is over: the connection may serve another.
    fn finish(self) {
        let Self { pool, lease, connection, patience, .. } = self;
        drop(patience);
        pool.keep_connection(lease.server(), connection);
    }
}
