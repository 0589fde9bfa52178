//! Receiving: what arrived is passed to the machine, and its events to the exchanges.

use std::future::Future;

use serow_http3::{Event, ProtocolError, StreamId};
use serow_message::{Handler, Request, Response};
use serow_quic::{Delivery, Http3StreamsError};

use super::{
    connection::{End, Http3},
    early_data::EarlyHandshake,
    waiting::Waiting,
};
use crate::multiplexed::{Exchanges, Multiplexed};

impl<H, C, F> Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Handles what QUIC tells; returns the connection's end.
    pub(super) fn handle_quic_events(&mut self) -> Option<End> {
        let now = self.now();
        match self.streams.handle_events(&mut self.requests.machine, now) {
            Ok(Delivery::Nothing) => {}
            Ok(Delivery::Stream) => self.waiting = Waiting::Undecided,
            Err(Http3StreamsError::Protocol(error)) => return self.fail(error),
            Err(Http3StreamsError::Lost(reason)) => {
                tracing::debug!(peer = %self.requests.connection.peer(), %reason, "a connection has ended");
                return Some(End::Lost);
            }
        }
        let credit = self.streams.request_credit();
        self.requests.machine.set_stream_credit(credit);
        self.handle_events();
        None
    }

    /// Whether there are streams to be read whose readers have room.
    pub(super) fn has_readable(&mut self) -> bool {
        let Multiplexed { machine, exchanges, .. } = &self.requests;
        let handshake = self.handshake.as_ref();
        self.streams.has_readable(machine, |stream| has_room(handshake, exchanges, stream))
    }

    /// Reads all streams that have something and whose readers have room; returns the connection's end.
    pub(super) fn read_streams(&mut self) -> Option<End> {
        let end = self.receive_streams();
        self.begin_gathered();
        end
    }

    fn receive_streams(&mut self) -> Option<End> {
        loop {
            let now = self.now();
            let Multiplexed { machine, exchanges, .. } = &mut self.requests;
            let handshake = self.handshake.as_ref();
            match self.streams.receive_next(machine, now, |stream| has_room(handshake, exchanges, stream)) {
                Ok(true) => self.handle_events(),
                Ok(false) => return None,
                Err(error) => return self.fail(error),
            }
            if let Some(error) = self.requests.machine.failure() {
                return self.fail(error);
            }
        }
    }

    /// Passes the machine's events to the exchanges, and its orders to QUIC.
    pub(super) fn handle_events(&mut self) {
        while let Some(event) = self.requests.machine.next_event() {
            let event = match &mut self.handshake {
                Some(handshake) => handshake.held.admit(event),
                None => Some(event),
            };
            match event {
                Some(Event::Request(request)) => {
                    self.waiting = Waiting::Undecided;
                    self.gather(request);
                }
                Some(event) => {
                    self.begin_gathered();
                    self.requests.handle(event);
                }
                None => {}
            }
        }
        self.streams.obey(&mut self.requests.machine);
    }

    /// If the handshake is complete now, what has waited for it goes on.
    pub(super) fn complete_handshake(&mut self) {
        let quic = self.streams.quic();
        let Some(EarlyHandshake { held, .. }) = self.handshake.take_if(|_| !quic.is_handshaking()) else { return };
        self.requests.connection = self.requests.connection.clone().with_complete_handshake();
        self.waiting = Waiting::Undecided;
        for event in held.release() {
            self.requests.handle(event);
        }
        // More may have come of them meanwhile.
        self.handle_events();
    }

    /// The client has violated the protocol.
    fn fail(&mut self, error: ProtocolError) -> Option<End> {
        tracing::debug!(peer = %self.requests.connection.peer(), %error, "closed a connection");
        match error {
            ProtocolError::Connection { code, reason } => {
                self.requests.worker.counters.note_http3_error(code);
                Some(End::Close { code, reason })
            }
            // Errors of one stream became events.
            ProtocolError::Stream { .. } => None,
        }
    }
}

/// Whether the reader of a stream has room for more.
fn has_room<F>(handshake: Option<&EarlyHandshake>, exchanges: &Exchanges<F>, stream: StreamId) -> bool {
    exchanges.waiting_pieces(stream) < PIECES_HELD && !handshake.is_some_and(|handshake| handshake.held.holds(stream))
}

/// Pieces of a body that wait for their reader. Each is the content of a packet, or less: about 64 KiB.
const PIECES_HELD: usize = 48;
