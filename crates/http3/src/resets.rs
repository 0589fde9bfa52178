//! Streams that are cut off by the peer, or over its mistakes (RFC 9114 §4.1.1, §8).

use crate::{
    ErrorCode, ProtocolError, StreamId, StreamOrder,
    connection::{Connection, Peer},
    received_event::ReceivedEvent,
    stream::{Receiving, Stream},
};

impl Connection {
    /// RESET_STREAM.
    pub(crate) fn handle_reset(&mut self, id: StreamId, code: ErrorCode) -> Result<(), ProtocolError> {
        match self.streams.peek(id).map(|stream| (stream.receiving, stream.fin)) {
            // Its message is whole, or not wanted: this is no news.
            Some((Receiving::Done, _)) | Some((_, true)) => Ok(()),
            // RFC 9114 §4.1: there is no response without a request.
            Some((Receiving::Head, false)) if self.peer == Peer::Client => {
                self.handle_cut_off(id, code, ErrorCode::REQUEST_INCOMPLETE)
            }
            Some(_) => self.handle_cut_off(id, code, ErrorCode::REQUEST_CANCELLED),
            None => self.handle_cut_off_idle(id),
        }
    }

    /// STOP_SENDING: the peer wants nothing of our message. RFC 9000 §3.5: our side is reset, with its code.
    pub(crate) fn handle_stop(&mut self, id: StreamId, code: ErrorCode) -> Result<(), ProtocolError> {
        match self.streams.peek(id).map(Stream::has_sent_all) {
            // RFC 9114 §4.1: the server does without the rest of the request; its response goes on.
            Some(false) if self.peer == Peer::Server && code == ErrorCode::NO_ERROR => {
                self.orders.push_back(StreamOrder::Reset { stream: id, code });
                self.give_up_sending(id);
                Ok(())
            }
            Some(false) => self.handle_cut_off(id, code, code),
            None if self.streams.is_idle(id) => self.handle_cut_off_idle(id),
            // A message that was written may still wait to be sent.
            Some(true) | None => {
                self.orders.push_back(StreamOrder::Reset { stream: id, code });
                Ok(())
            }
        }
    }

    /// The peer has cut a stream off.
    fn handle_cut_off(&mut self, id: StreamId, code: ErrorCode, ours: ErrorCode) -> Result<(), ProtocolError> {
        let is_known = self.streams.peek(id).is_some_and(|stream| stream.is_known);
        self.order_ends(id, ours);
        self.forget(id);
        self.counters.reset_by_peer += 1;
        if is_known {
            self.received_events.push(ReceivedEvent::Reset { stream: id, code });
        }
        // CVE-2023-44487: each may have started work that is now for nothing.
        self.note_reset()
    }

    /// The peer has cut off a stream of which nothing has come, or one that is over.
    fn handle_cut_off_idle(&mut self, id: StreamId) -> Result<(), ProtocolError> {
        if self.peer == Peer::Server || !self.streams.is_idle(id) {
            return Ok(());
        }
        self.note_opened(id)?;
        self.counters.opened += 1;
        self.counters.reset_by_peer += 1;
        self.order_both(id, ErrorCode::REQUEST_INCOMPLETE);
        self.note_reset()
    }

    /// The peer made a mistake within a stream (RFC 9114 §8).
    #[cold]
    pub(crate) fn handle_stream_error(&mut self, id: StreamId, code: ErrorCode) -> Result<(), ProtocolError> {
        let is_known = self.streams.peek(id).is_some_and(|stream| stream.is_known);
        self.cut_off(id, code);
        if is_known {
            self.received_events.push(ReceivedEvent::Reset { stream: id, code });
        }
        self.note_reset()
    }
}
