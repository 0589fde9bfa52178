//! An HTTP/3 client connection.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow_http3::{Asking, Client, ClientEvent, ErrorCode, Follows, Limits, OpenError, ProtocolError, StreamId, Turn};
use serow_message::{BodyLength, Priority, RequestHead};
use serow_quic::{Connection, Endpoint, Http3Streams, Http3StreamsError, Piece, Sent};

use crate::ClientError;

/// An HTTP/3 connection with concurrent exchanges, each on its own stream, on a socket of its own: servers that distribute
/// connections by address see a client for each.
///
/// Times (`now`) are durations since a fixed moment, the same for all calls.
pub struct Http3 {
    endpoint: Endpoint,
    streams: Http3Streams,
    machine: Client,
    /// The parts of the bodies of requests that have not been written.
    bodies: Vec<(StreamId, Bytes)>,
    is_draining: bool,
}

impl Http3 {
    /// Starts HTTP/3 on a connection whose handshake is complete.
    pub(crate) fn new(endpoint: Endpoint, quic: Connection, limits: Limits, now: Duration) -> Self {
        let mut machine = Client::new(limits, now);
        // The limit is QUIC's, which opens the streams.
        machine.set_stream_credit(u64::MAX);
        let streams = Http3Streams::new(quic);
        Self { endpoint, streams, machine, bodies: Vec::new(), is_draining: false }
    }

    /// Begins a request with this body; [`Self::poll_flush`] sends it.
    ///
    /// # Errors
    ///
    /// If no request can be sent, or not now.
    pub fn open(&mut self, head: &RequestHead, body: &Bytes, asking: Asking<'_>) -> Result<StreamId, OpenError> {
        if self.is_draining {
            return Err(OpenError::GoAway);
        }
        self.machine.check_room()?;
        if !self.streams.can_open() {
            return Err(OpenError::WouldBlock);
        }
        let mut output = Vec::with_capacity(HEAD);
        let length = BodyLength::Known(body.len() as u64);
        let (stream, follows) = self.machine.open(head, length, asking, &mut output)?;
        self.streams.note_opened();
        // The head may refer to entries of QPACK's table.
        self.streams.write_own(&mut self.machine);
        self.streams.write(&mut self.machine, stream, output.into(), follows);
        if !body.is_empty() {
            self.bodies.push((stream, body.clone()));
            self.machine.set_ready(stream, true);
        }
        Ok(stream)
    }

    /// Sends what the windows and the kernel take; ready when nothing is left that may be sent now.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            self.streams.write_own(&mut self.machine);
            if !self.bodies.is_empty() {
                self.write_bodies();
            }
            match self.streams.quic().send(context) {
                Sent::Datagrams => {}
                Sent::Nothing => return Poll::Ready(()),
                Sent::Blocked => return Poll::Pending,
            }
        }
    }

    /// The next event of any response. Call [`Self::poll_flush`] whenever this is pending.
    ///
    /// # Errors
    ///
    /// If the connection has failed or ended. A last [`Self::poll_flush`] tells the server why.
    pub fn poll_receive(&mut self, context: &mut Context<'_>, now: Duration) -> Poll<Result<ClientEvent, ClientError>> {
        let mut has_polled = false;
        loop {
            if let Some(event) = self.machine.next_event() {
                self.streams.obey(&mut self.machine);
                if let ClientEvent::Reset { stream, .. } = event {
                    self.forget_body(stream);
                }
                return Poll::Ready(Ok(event));
            }
            self.streams.obey(&mut self.machine);
            if let Some(error) = self.machine.failure() {
                return Poll::Ready(Err(self.fail(error)));
            }
            let is_readable = self.streams.has_readable(&self.machine, |_| true);
            if is_readable {
                match self.streams.receive_next(&mut self.machine, now, |_| true) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(error) => return Poll::Ready(Err(self.fail(error))),
                }
            }
            if has_polled {
                return Poll::Pending;
            }
            self.poll_quic(context, now)?;
            has_polled = true;
        }
    }

    /// Takes what has arrived at the socket.
    fn poll_quic(&mut self, context: &mut Context<'_>, now: Duration) -> Result<(), ClientError> {
        self.endpoint.receive(context).map_err(ClientError::Lost)?;
        self.streams.quic().poll_receive(context);
        match self.streams.handle_events(&mut self.machine, now) {
            Ok(_) => Ok(()),
            Err(Http3StreamsError::Protocol(error)) => Err(self.fail(error)),
            Err(Http3StreamsError::Lost(reason)) => Err(ClientError::Lost(reason.into())),
        }
    }

    /// Resets a stream: the response is not wanted any more.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        self.forget_body(stream);
        self.machine.reset(stream, code);
        self.streams.obey(&mut self.machine);
    }

    /// Sends the priority of a response (PRIORITY_UPDATE, RFC 9218 §7.2).
    pub fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        self.machine.set_priority(stream, priority);
    }

    /// Starts a graceful shutdown: no more requests; the open ones continue.
    pub fn begin_shutdown(&mut self) {
        self.is_draining = true;
    }

    /// Whether the connection is to be [closed](Self::close).
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.machine.is_finished() || (self.is_draining && self.machine.active_streams() == 0)
    }

    /// Ends the connection (H3_NO_ERROR), and tells the server, as far as the kernel takes it.
    pub fn close(&mut self, context: &mut Context<'_>) {
        self.streams.quic().close(ErrorCode::NO_ERROR.0, "");
        let _ = self.poll_flush(context);
    }

    /// Bytes received on all streams so far, after decryption.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.streams.received()
    }

    /// Bytes of the datagrams sent and received so far.
    #[must_use]
    pub fn datagram_bytes(&mut self) -> (u64, u64) {
        let statistics = self.streams.quic().machine().stats();
        (statistics.udp_tx.bytes, statistics.udp_rx.bytes)
    }

    /// The server has violated HTTP/3.
    fn fail(&mut self, error: ProtocolError) -> ClientError {
        if let ProtocolError::Connection { code, reason } = error {
            self.streams.quic().close(code.0, reason);
        }
        ClientError::Http3(error)
    }

    /// Writes as much of the bodies as QUIC takes.
    fn write_bodies(&mut self) {
        while let Some(Turn { stream, bytes, .. }) = self.machine.next_turn(BODIES_AT_ONCE)
            && self.streams.admits(&self.machine, stream)
        {
            let Some(place) = self.bodies.iter().position(|(of, _)| *of == stream) else {
                self.machine.set_ready(stream, false);
                continue;
            };
            let body = &mut self.bodies[place].1;
            let piece = body.split_to(bytes.min(body.len()));
            let is_last = body.is_empty();
            if is_last {
                self.bodies.remove(place);
            }
            let mut header = Vec::with_capacity(FRAME_HEADER);
            let follows = self.machine.begin_data(stream, piece.len(), is_last, &mut header);
            let piece = if follows.is_ok() { piece } else { Bytes::new() };
            let piece = Piece::new(header.into(), piece);
            self.streams.write(&mut self.machine, stream, piece, follows.unwrap_or(Follows::More));
        }
    }

    fn forget_body(&mut self, stream: StreamId) {
        self.bodies.retain(|(of, _)| *of != stream);
    }
}

/// Room for a head, so that most need no second allocation.
const HEAD: usize = 256;

/// Bytes of a body that are written before others have their turn.
const BODIES_AT_ONCE: usize = 16 * 1024;

/// Room for the header of a DATA frame (RFC 9114 §7.1): a type of a byte, and a length of at most four.
const FRAME_HEADER: usize = 5;
