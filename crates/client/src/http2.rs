//! An HTTP/2 client connection.

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

/// An HTTP/2 connection with concurrent exchanges, each on its own stream.
///
/// Times (`now`) are durations since a fixed moment, the same for all calls.
pub struct Http2 {
    link: Link,
    machine: Client,
    bodies: Bodies,
}

impl Http2 {
    /// Starts HTTP/2 on this wire; the first flush sends the preface.
    #[must_use]
    pub fn new(wire: Wire, buffers: Rc<Buffers>, limits: Limits, now: Duration) -> Self {
        Self { link: Link::new(wire, buffers), machine: Client::new(limits, now), bodies: Bodies::default() }
    }

    /// Begins a request with this body; [`Self::poll_flush`] sends it.
    ///
    /// # Errors
    ///
    /// If no request can be sent, or not now.
    pub fn open(&mut self, head: &RequestHead, body: &Bytes, asking: Asking<'_>) -> Result<StreamId, OpenError> {
        let stream = self.machine.open(head, BodyLength::Known(body.len() as u64), asking)?;
        if !body.is_empty() {
            self.bodies.push_whole(stream, body.clone());
            self.machine.set_ready(stream, true);
        }
        Ok(stream)
    }

    /// Begins a request whose body follows piece by piece; [`Self::poll_flush`] sends it. If the length is `Known(0)`,
    /// the request is complete.
    ///
    /// # Errors
    ///
    /// If no request can be sent, or not now.
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
    /// If no request can be sent, or not now.
    pub fn check_room(&self) -> Result<(), OpenError> {
        self.machine.check_room()
    }

    /// Whether [`Self::poll_flush`] has something to do, apart from bodies.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.machine.has_control() || self.link.has_unsent()
    }

    /// Whether the connection accepts a piece of the request's body: at first, and then whenever the previous one has
    /// been written, as the windows and the kernel allow. So there is back-pressure from the server to the producer of
    /// the body.
    #[must_use]
    pub fn wants_data(&self, stream: StreamId) -> bool {
        self.bodies.wants(stream)
    }

    /// The next stream that accepts a piece again; returns each once. Call it after [`Self::poll_flush`].
    #[must_use]
    pub fn next_wanting(&mut self) -> Option<StreamId> {
        self.bodies.next_wanting()
    }

    /// Queues a piece of the request's body; [`Self::poll_flush`] sends it. A stream that has ended discards it.
    ///
    /// # Errors
    ///
    /// If the previous piece has not been written, or the body is longer than announced: then [`Self::reset`] the
    /// stream.
    pub fn send_data(&mut self, stream: StreamId, piece: Bytes) -> Result<(), UsageError> {
        let is_ready = !piece.is_empty();
        self.bodies.give(stream, piece)?;
        self.machine.set_ready(stream, is_ready);
        Ok(())
    }

    /// Ends the request's body, with trailers if there are any.
    ///
    /// # Errors
    ///
    /// If the body is shorter than announced: then [`Self::reset`] the stream.
    pub fn send_end(&mut self, stream: StreamId, trailers: Option<Headers>) -> Result<(), UsageError> {
        self.bodies.end(stream, trailers, &mut self.machine, self.link.output())
    }

    /// Ready when everything has been sent that the windows allow.
    ///
    /// # Errors
    ///
    /// If the connection fails.
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

    /// Writes as much of the bodies into the output as the windows allow, and at most as much as is sent at once.
    fn write_bodies(&mut self) {
        let mut room = BODIES_AT_ONCE;
        while room > 0
            && let Some(turn) = self.machine.next_turn(room)
        {
            room = room.saturating_sub(self.bodies.write(turn, &mut self.machine, self.link.output()));
        }
    }

    /// The next event of any response. Received frames may need an answer, or open a window, without an event: call
    /// [`Self::poll_flush`] whenever this is pending. [`Self::note_consumed`] returns the window of
    /// [`ClientEvent::Data`].
    ///
    /// # Errors
    ///
    /// If the connection has failed or ended. A last [`Self::poll_flush`] sends the GOAWAY in that case.
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

    /// Notes that this many bytes of a body were consumed: the server may send as many more.
    #[inline]
    pub fn note_consumed(&mut self, stream: StreamId, bytes: usize) {
        self.machine.note_consumed(stream, bytes);
    }

    /// Resets a stream.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        self.bodies.remove(stream);
        self.machine.reset(stream, code);
    }

    /// Sends the priority of a response (PRIORITY_UPDATE, RFC 9218 §7.1).
    pub fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        self.machine.set_priority(stream, priority);
    }

    /// Sends a PING to check that the server is alive: its answer increases [`Self::received`].
    pub fn send_ping(&mut self) {
        self.machine.send_ping();
    }

    /// Whether the server's SETTINGS have been received.
    #[must_use]
    pub fn has_settings(&self) -> bool {
        self.machine.has_settings()
    }

    /// Whether the server supports extended CONNECT (RFC 8441 §3); `None` before its SETTINGS have been received.
    #[must_use]
    pub fn allows_extended_connect(&self) -> Option<bool> {
        self.machine.has_settings().then(|| self.machine.allows_extended_connect())
    }

    /// The number of open streams.
    #[must_use]
    pub fn active_streams(&self) -> usize {
        self.machine.active_streams()
    }

    /// Starts a graceful shutdown: no more requests; the open ones continue.
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

    /// Handles a deadline that has passed.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.machine.handle_timeout(now);
    }

    /// Bytes received so far, after decryption.
    #[inline]
    #[must_use]
    pub fn received(&self) -> u64 {
        self.link.received()
    }

    /// The input that was not parsed: after a [`ClientError::Http2`] it begins with the offending bytes.
    #[must_use]
    pub fn not_understood(&self) -> &[u8] {
        &self.link.input
    }

    /// The wire, for the result of the TLS handshake.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.link.wire
    }
}

/// Bytes of bodies written before they are sent: four frames, enough to be worth a system call.
const BODIES_AT_ONCE: usize = 64 * 1024;
