//! A connection that speaks HTTP/2.

mod bodies;

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use serow_http2::{Asking, Client, ClientEvent, ErrorCode, Limits, OpenError, StreamId};
use serow_message::{BodyLength, Headers, Priority, RequestHead, UsageError};
use serow_net::{Buffers, Wire};

use self::bodies::Bodies;
use crate::{ClientError, buffered_wire::Link};

/// A connection that speaks HTTP/2: many exchanges at once, each on its stream.
///
/// Moments (`now`) are durations since any fixed one, the same for all calls.
pub struct Http2 {
    link: Link,
    machine: Client,
    bodies: Bodies,
}

impl Http2 {
    /// Speaks HTTP/2 over this wire; the preface leaves with the first flush.
    #[must_use]
    pub fn new(wire: Wire, buffers: Rc<Buffers>, limits: Limits, now: Duration) -> Self {
        Self { link: Link::new(wire, buffers), machine: Client::new(limits, now), bodies: Bodies::default() }
    }

    /// Begins a request with this body; [`Self::poll_flush`] sends it.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn open(&mut self, head: &RequestHead, body: &Bytes, asking: Asking<'_>) -> Result<StreamId, OpenError> {
        let stream = self.machine.open(head, BodyLength::Known(body.len() as u64), asking)?;
        if !body.is_empty() {
            self.bodies.push_whole(stream, body.clone());
            self.machine.set_ready(stream, true);
        }
        Ok(stream)
    }

    /// Begins a request whose body comes later, piece by piece; [`Self::poll_flush`] sends it. Where the length is
    /// `Known(0)`, the request is whole.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn begin(&mut self, head: &RequestHead, length: BodyLength, asking: Asking<'_>) -> Result<StreamId, OpenError> {
        let stream = self.machine.open(head, length, asking)?;
        if length != BodyLength::Known(0) {
            self.bodies.push(stream, length);
        }
        Ok(stream)
    }

    /// Whether a request could be sent now, as far as the connection goes.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn check_room(&self) -> Result<(), OpenError> {
        self.machine.check_room()
    }

    /// Whether [`Self::poll_flush`] has something to do, apart from bodies.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.machine.has_control() || self.link.has_unsent()
    }

    /// Whether a piece of the request's body can be taken: at first, and then whenever the one before has been written,
    /// as the windows and the kernel allow. So whoever makes the body is as fast as whoever reads it.
    #[must_use]
    pub fn wants_data(&self, stream: StreamId) -> bool {
        self.bodies.wants(stream)
    }

    /// The next stream of those that want a piece again, each told once. To be asked after [`Self::poll_flush`].
    #[must_use]
    pub fn next_wanting(&mut self) -> Option<StreamId> {
        self.bodies.next_wanting()
    }

    /// Gives a piece of the request's body; [`Self::poll_flush`] sends it. A stream that is over takes it and forgets it.
    ///
    /// # Errors
    ///
    /// Where the one before has not been written, or more than was announced: then the stream is to be [`Self::reset`].
    pub fn send_data(&mut self, stream: StreamId, piece: Bytes) -> Result<(), UsageError> {
        let is_ready = !piece.is_empty();
        self.bodies.give(stream, piece)?;
        self.machine.set_ready(stream, is_ready);
        Ok(())
    }

    /// Says that nothing comes behind what was given of the body, but trailers if there are any.
    ///
    /// # Errors
    ///
    /// Where fewer bytes were given than announced: then the stream is to be [`Self::reset`].
    pub fn send_end(&mut self, stream: StreamId, trailers: Option<Headers>) -> Result<(), UsageError> {
        self.bodies.end(stream, trailers, &mut self.machine, self.link.output())
    }

    /// Ready when everything has been sent that the windows allow.
    ///
    /// # Errors
    ///
    /// When the connection is broken.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        loop {
            if self.machine.has_control() {
                self.machine.write_control(self.link.output());
            }
            if !self.bodies.is_empty() && !self.link.has_unsent() {
                self.write_bodies();
            }
            if !self.link.has_unsent() {
                return self.link.poll_flush(context);
            }
            ready!(self.link.poll_flush(context))?;
        }
    }

    /// Puts as much of the bodies as the windows allow into the output, and no more than is sent at once.
    fn write_bodies(&mut self) {
        let mut room = BODIES_AT_ONCE;
        while room > 0
            && let Some(turn) = self.machine.next_turn(room)
        {
            room = room.saturating_sub(self.bodies.write(turn, &mut self.machine, self.link.output()));
        }
    }

    /// The next event of any response. What was received may have to be answered, and may let through what waited for a
    /// window, without any event: [`Self::poll_flush`] comes next, whenever this is pending. The windows of
    /// [`ClientEvent::Data`] are given back by [`Self::note_consumed`].
    ///
    /// # Errors
    ///
    /// When the connection is broken or over. What is to be told the server in that case leaves with a last
    /// [`Self::poll_flush`].
    pub fn poll_receive(&mut self, context: &mut Context<'_>, now: Duration) -> Poll<Result<ClientEvent, ClientError>> {
        loop {
            if let Some(event) = self.machine.receive(&mut self.link.input, now)? {
                // RFC 9113 §8.1: a response may be whole before its request; that may still be read.
                if let ClientEvent::Reset { stream, .. } = event {
                    self.bodies.remove(stream);
                }
                return Poll::Ready(Ok(event));
            }
            if ready!(self.link.poll_fill(context))? == 0 {
                return Poll::Ready(Err(ClientError::Closed));
            }
        }
    }

    /// So many bytes of a body were taken: the server may send as many more.
    #[inline]
    pub fn note_consumed(&mut self, stream: StreamId, bytes: usize) {
        self.machine.note_consumed(stream, bytes);
    }

    /// Cuts a stream off.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        self.bodies.remove(stream);
        self.machine.reset(stream, code);
    }

    /// Says how urgent a response is (RFC 9218 §7.1).
    pub fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        self.machine.set_priority(stream, priority);
    }

    /// Sends a PING, so that a server that is there says something: [`Self::received`] grows by the answer.
    pub fn send_ping(&mut self) {
        self.machine.send_ping();
    }

    /// Whether the server's settings have come: what it allows is known.
    #[must_use]
    pub fn has_settings(&self) -> bool {
        self.machine.has_settings()
    }

    /// Whether the server takes an extended CONNECT (RFC 8441 §3); `None` as long as its settings have not come.
    #[must_use]
    pub fn allows_extended_connect(&self) -> Option<bool> {
        self.machine.has_settings().then(|| self.machine.allows_extended_connect())
    }

    /// How many streams are open.
    #[must_use]
    pub fn active_streams(&self) -> usize {
        self.machine.active_streams()
    }

    /// Opens no more requests; those that are open go on.
    pub fn begin_shutdown(&mut self) {
        self.machine.begin_shutdown();
    }

    /// Whether the connection is to be closed once all is flushed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.machine.is_finished()
    }

    /// When [`Self::handle_timeout`] is to be called, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.machine.deadline()
    }

    /// The deadline may have passed.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.machine.handle_timeout(now);
    }

    /// Bytes received so far, as they were inside TLS.
    #[inline]
    #[must_use]
    pub fn received(&self) -> u64 {
        self.link.received()
    }

    /// What was received and not understood: after a [`ClientError::Http2`] it begins with what broke the rules.
    #[must_use]
    pub fn not_understood(&self) -> &[u8] {
        &self.link.input
    }

    /// The wire, for what TLS agreed upon.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.link.wire
    }
}

/// Bytes of bodies written before the kernel is offered any: four frames, so that a call is worth its cost.
const BODIES_AT_ONCE: usize = 64 * 1024;
