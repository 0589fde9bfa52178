//! The end of streams and of the connection.

use serow_streams::Sending;

use crate::{
    ErrorCode, ProtocolError, Sender, StreamId,
    connection::{Connection, SHUTDOWN_PING, Shutdown},
    frame,
    stream::Receiving,
};

impl Connection {
    /// Our side of the stream of this place is done: forgets the stream if the other is, too.
    #[inline]
    pub(crate) fn conclude(&mut self, place: usize) {
        let Some(stream) = self.streams.at(place) else { return };
        if stream.is_over() {
            self.forget_at(place);
        } else if stream.sending == Sending::Done
            && stream.head.is_none()
            && let Receiving::Discarded(left) = stream.receiving
            && self.peer == Sender::Client
        {
            // RFC 9113 §8.1: the response is whole, and the rest of the request is of no use. Where it may well be on
            // its way, it is taken in: cutting the stream off would hide a mistake in it, and an end of it costs less.
            if stream.is_not_worth_the_rest(left) {
                let id = stream.id;
                self.cut_off(id, ErrorCode::NO_ERROR);
            } else if !stream.unfinished {
                stream.unfinished = true;
                self.unfinished += 1;
            }
        }
    }

    /// Cuts off the streams whose response is complete and whose request is not; says whether there was one.
    #[cold]
    pub(crate) fn reset_unfinished(&mut self) -> bool {
        let any = self.unfinished > 0;
        loop {
            let next = self.streams.iter().find(|stream| stream.unfinished).map(|stream| stream.id);
            let Some(id) = next else { break };
            self.cut_off(id, ErrorCode::NO_ERROR);
        }
        any
    }

    /// How many streams are open, without those.
    pub(crate) fn active_streams(&self) -> usize {
        self.streams.len() - self.unfinished as usize
    }

    /// Forgets a stream; what of it nobody has used does not count any more.
    #[inline]
    pub(crate) fn forget(&mut self, id: StreamId) {
        if let Some(place) = self.streams.place(id) {
            self.forget_at(place);
        }
    }

    #[inline]
    fn forget_at(&mut self, place: usize) {
        let Some(stream) = self.streams.at(place) else { return };
        if stream.scheduled {
            self.scheduler.remove(stream.id, stream.claim());
        }
        let held = stream.receive_window.held();
        self.unfinished -= u32::from(stream.unfinished);
        self.streams.remove_at(place);
        if held > 0 {
            self.release_connection(held);
        }
    }

    /// Cuts a stream off, alive or not.
    #[cold]
    pub(crate) fn cut_off(&mut self, id: StreamId, code: ErrorCode) {
        self.forget(id);
        self.ended = self.ended.filter(|ended| *ended != id);
        self.streams.note_cut_off(id);
        self.counters.reset_by_us += 1;
        frame::write_reset_stream(id, code, &mut self.control);
    }

    /// Ends the connection over an error.
    #[cold]
    pub(crate) fn fail(&mut self, code: ErrorCode, reason: &'static str) {
        if matches!(self.shutdown, Shutdown::Failed(_)) {
            return;
        }
        let last = self.last_looked_at();
        frame::write_go_away(last, code, reason.as_bytes(), &mut self.control);
        self.shutdown = Shutdown::Failed(ProtocolError::Connection { code, reason });
        self.block = None;
    }

    /// Tells the peer to open no more streams (RFC 9113 §6.8). Those on their way are still served.
    pub(crate) fn begin_shutdown(&mut self) {
        if self.shutdown != Shutdown::Open {
            return;
        }
        if self.peer == Sender::Server {
            // It opens none.
            self.shutdown = Shutdown::Last(StreamId::CONNECTION);
            return frame::write_go_away(StreamId::CONNECTION, ErrorCode::NO_ERROR, b"", &mut self.control);
        }
        self.shutdown = Shutdown::Announced;
        frame::write_go_away(StreamId::MAX, ErrorCode::NO_ERROR, b"", &mut self.control);
        frame::write_ping(*SHUTDOWN_PING, false, &mut self.control);
    }

    /// The peer has received the GOAWAY: it opens no further streams.
    pub(crate) fn finish_shutdown(&mut self) {
        if self.shutdown != Shutdown::Announced {
            return;
        }
        let last = self.streams.highest();
        self.shutdown = Shutdown::Last(last);
        frame::write_go_away(self.last_looked_at(), ErrorCode::NO_ERROR, b"", &mut self.control);
    }

    /// Whether nothing is left to be done but to flush and close.
    pub(crate) fn is_finished(&self) -> bool {
        match self.shutdown {
            Shutdown::Open => self.peer_sent_goaway && self.active_streams() == 0,
            Shutdown::Announced => false,
            Shutdown::Last(_) => self.active_streams() == 0,
            Shutdown::Failed(_) => true,
        }
    }

    /// The last stream of the peer's that was, or may have been, looked at. A server opens none.
    fn last_looked_at(&self) -> StreamId {
        match (self.peer, self.shutdown) {
            (Sender::Server, _) => StreamId::CONNECTION,
            (_, Shutdown::Last(last)) => last,
            _ => self.streams.highest(),
        }
    }
}
