//! The end of streams and of the connection.

use bytes::Bytes;
use serow_streams::Sending;

use crate::{
    ErrorCode, OwnStream, ProtocolError, StreamId, StreamOrder,
    connection::{Connection, Peer, Shutdown},
    frame,
    received_event::ReceivedEvent,
    stream::{Reading, Receiving, Stream},
    varint,
};

impl Connection {
    /// Something on the stream is done: forgets it if all is. A server that has responded does without the rest of a
    /// request that nobody reads (RFC 9114 §4.1).
    #[inline]
    pub(crate) fn conclude(&mut self, id: StreamId) {
        let Some(stream) = self.streams.peek(id) else { return };
        if stream.is_over() {
            self.forget(id);
        } else if stream.has_sent_all() && matches!(stream.receiving, Receiving::Discarded(_)) && !stream.is_at_end() {
            self.stop(id, ErrorCode::NO_ERROR);
        }
    }

    /// Asks the peer to send no more on a stream; what has come of it, and was not looked at, is dropped.
    pub(crate) fn stop(&mut self, id: StreamId, code: ErrorCode) {
        let Some(stream) = self.streams.find(id) else { return };
        if stream.receiving != Receiving::Done {
            stream.receiving = Receiving::Done;
            self.held -= stream.reading.held();
            stream.reading = Reading::between();
            if !stream.fin {
                self.orders.push_back(StreamOrder::Stop { stream: id, code });
            }
            stream.input = Bytes::new();
            self.blocked.retain(|(blocked, _)| *blocked != id);
            self.decoder.cancel(id);
        }
        self.conclude(id);
    }

    /// The peer wants nothing of our message any more; its own goes on.
    pub(crate) fn give_up_sending(&mut self, id: StreamId) {
        let Some(stream) = self.streams.find(id) else { return };
        stream.sending = Sending::Done;
        stream.head = None;
        stream.informational.clear();
        stream.schedule(&mut self.scheduler);
        self.conclude(id);
    }

    /// Cuts a stream off.
    #[cold]
    pub(crate) fn cut_off(&mut self, id: StreamId, code: ErrorCode) {
        if self.streams.peek(id).is_some() {
            self.order_ends(id, code);
            self.received_events.drop_of(id);
            self.forget(id);
            self.counters.reset_by_us += 1;
        }
    }

    /// Has what is open of a stream ended.
    pub(crate) fn order_ends(&mut self, id: StreamId, code: ErrorCode) {
        let Some(stream) = self.streams.peek(id) else { return };
        let (sent, received) = (stream.has_sent_all(), stream.receiving == Receiving::Done || stream.fin);
        // A message that was written may still wait to be sent, where the peer's message is not whole.
        if !sent || !received {
            self.orders.push_back(StreamOrder::Reset { stream: id, code });
        }
        if !received {
            self.orders.push_back(StreamOrder::Stop { stream: id, code });
        }
    }

    /// Has both sides of a stream ended of which nothing is kept.
    pub(crate) fn order_both(&mut self, id: StreamId, code: ErrorCode) {
        self.orders.push_back(StreamOrder::Reset { stream: id, code });
        self.orders.push_back(StreamOrder::Stop { stream: id, code });
        self.decoder.cancel(id);
    }

    /// Forgets a stream, and its events that were not taken.
    pub(crate) fn forget(&mut self, id: StreamId) {
        let Some(stream) = self.streams.remove(id) else { return };
        if stream.scheduled {
            self.scheduler.remove(id, stream.claim());
        }
        if stream.receiving == Receiving::Done {
            return;
        }
        self.held -= stream.reading.held();
        self.blocked.retain(|(blocked, _)| *blocked != id);
        self.received_events.drop_of(id);
        // RFC 9204 §2.2.2.2.
        self.decoder.cancel(id);
    }

    /// Ends the connection over an error.
    #[cold]
    pub(crate) fn fail(&mut self, code: ErrorCode, reason: &'static str) {
        if !matches!(self.shutdown, Shutdown::Failed(_)) {
            self.shutdown = Shutdown::Failed(ProtocolError::new(code, reason));
        }
    }

    /// Tells the peer to open no more streams (RFC 9114 §5.2). Those on their way are still served.
    pub(crate) fn begin_shutdown(&mut self) {
        if self.shutdown != Shutdown::Open {
            return;
        }
        match self.peer {
            // RFC 9114 §5.2: the last number that a stream of requests can have.
            Peer::Client => self.go_away(Shutdown::Announced, varint::MAX - 3),
            // It pushes nothing anyhow.
            Peer::Server => self.go_away(Shutdown::From(StreamId::CONNECTION), 0),
        }
    }

    /// The peer has received the GOAWAY, or had the time to: streams that it opens from now on are rejected.
    pub(crate) fn finish_shutdown(&mut self) {
        if self.shutdown == Shutdown::Announced {
            let first = self.streams.next();
            self.go_away(Shutdown::From(first), first.get());
        }
    }

    fn go_away(&mut self, shutdown: Shutdown, number: u64) {
        self.shutdown = shutdown;
        frame::write_go_away(number, self.own.waiting(OwnStream::Control));
    }

    /// A server does not look at this stream, nor at those above.
    pub(crate) fn refuse_from(&mut self, first: StreamId) {
        loop {
            let last = self.streams.iter().next_back().map(|stream| stream.id);
            let Some(id) = last.filter(|id| *id >= first) else { return };
            self.order_ends(id, ErrorCode::REQUEST_CANCELLED);
            self.forget(id);
            self.received_events.push(ReceivedEvent::Reset { stream: id, code: ErrorCode::REQUEST_REJECTED });
        }
    }

    /// Whether nothing is left to be done but to send what is written, and close.
    pub(crate) fn is_finished(&self) -> bool {
        match self.shutdown {
            // A client that knows which stream is the last closes the connection itself, or is given time to do so.
            Shutdown::From(_) if self.peer == Peer::Client => self.is_abandoned(),
            Shutdown::Open | Shutdown::Announced => self.is_abandoned(),
            Shutdown::From(_) => self.streams.len() == 0,
            Shutdown::Failed(_) => true,
        }
    }

    /// Whether the peer has said that it opens no more streams, and none is open.
    fn is_abandoned(&self) -> bool {
        self.peer_go_away.is_some() && self.streams.len() == 0
    }

    /// Whether a request has begun to come, and its head is not whole.
    pub(crate) fn is_within_head(&self) -> bool {
        let is_open = |stream: &Stream| stream.receiving == Receiving::Head;
        self.peer == Peer::Client && self.streams.iter().any(is_open)
    }
}
