//! A connection that speaks HTTP/2.

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use serow_http2::{Asking, Client, ClientEvent, ErrorCode, Limits, OpenError, StreamId};
use serow_message::{BodyLength, Priority, RequestHead};
use serow_net::{Buffers, Wire};

use crate::{Broken, link::Link};

/// A connection that speaks HTTP/2: many exchanges at once, each on its stream.
///
/// Moments (`now`) are durations since any fixed one, the same for all calls.
pub struct Http2 {
    link: Link,
    machine: Client,
    /// Bodies that have not been sent whole.
    bodies: Vec<(StreamId, Bytes)>,
}

impl Http2 {
    /// Speaks HTTP/2 over this wire; the preface leaves with the first flush.
    #[must_use]
    pub fn new(wire: Wire, buffers: Rc<Buffers>, limits: Limits, now: Duration) -> Self {
        Self { link: Link::new(wire, buffers), machine: Client::new(limits, now), bodies: Vec::new() }
    }

    /// Begins a request with this body; [`Self::poll_flush`] sends it.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn open(&mut self, head: &RequestHead, body: &Bytes, asking: Asking<'_>) -> Result<StreamId, OpenError> {
        let stream = self.machine.open(head, BodyLength::Known(body.len() as u64), asking)?;
        if !body.is_empty() {
            self.bodies.push((stream, body.clone()));
            self.machine.set_ready(stream, true);
        }
        Ok(stream)
    }

    /// Ready when everything has been sent that the windows allow.
    ///
    /// # Errors
    ///
    /// When the connection is broken.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
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
        while let Some(turn) = self.machine.next_turn(room) {
            let Some(place) = self.bodies.iter().position(|(stream, _)| *stream == turn.stream) else {
                self.machine.set_ready(turn.stream, false);
                continue;
            };
            let body = &mut self.bodies[place].1;
            let piece = body.split_to(turn.bytes.min(body.len()));
            let end = body.is_empty();
            room = room.saturating_sub(piece.len());
            // A stream that is over takes nothing more, and needs nothing.
            let taken = self.machine.write_data(turn.stream, &piece, end, self.link.output());
            if end || taken.is_err() {
                self.bodies.swap_remove(place);
            }
            if room == 0 {
                break;
            }
        }
    }

    /// The next event of any response. What was received may have to be answered, and may let through what waited for a
    /// window, without any event: [`Self::poll_flush`] comes next, whenever this is pending. The windows of [`ClientEvent::Data`] are given back by [`Self::note_consumed`].
    ///
    /// # Errors
    ///
    /// When the connection is broken or over. What is to be told the server in that case leaves with a last
    /// [`Self::poll_flush`].
    pub fn poll_receive(&mut self, context: &mut Context<'_>, now: Duration) -> Poll<Result<ClientEvent, Broken>> {
        loop {
            if let Some(event) = self.machine.receive(&mut self.link.input, now)? {
                if let ClientEvent::Reset { stream, .. } | ClientEvent::End { stream, .. } = event
                    && !self.bodies.is_empty()
                {
                    self.bodies.retain(|(of, _)| *of != stream);
                }
                return Poll::Ready(Ok(event));
            }
            if ready!(self.link.poll_fill(context))? == 0 {
                return Poll::Ready(Err(Broken::Closed));
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
        self.bodies.retain(|(of, _)| *of != stream);
        self.machine.reset(stream, code);
    }

    /// Says how urgent a response is (RFC 9218 §7.1).
    pub fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        self.machine.set_priority(stream, priority);
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

    /// What was received and not understood: after a [`Broken::Http2`] it begins with what broke the rules.
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
