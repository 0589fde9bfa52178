//! The client's signals about the order of its streams (RFC 9218 §7.2).

use serow_message::Priority;

use crate::{ProtocolError, StreamId, connection::Connection, control_stream::wrong_number};

impl Connection {
    /// RFC 9218 §7.2.
    pub(crate) fn handle_priority_update(&mut self, id: StreamId, value: &[u8]) -> Result<(), ProtocolError> {
        if id.get() & 3 != 0 {
            return Err(wrong_number("PRIORITY_UPDATE for a stream that is none of requests"));
        }
        if id.get() / 4 >= self.stream_credit {
            return Err(wrong_number("PRIORITY_UPDATE for a stream that may not be opened"));
        }
        let priority = Priority::parse(value);
        if let Some(stream) = self.streams.find(id) {
            stream.said_priority = true;
            self.set_priority(id, priority);
        } else if self.streams.is_idle(id) {
            // Streams may open in any order, and only QUIC limits their number: nothing is too much.
            let _ = self.early.keep(id, priority, 0, usize::MAX);
        }
        Ok(())
    }

    /// Gives a stream another priority.
    pub(crate) fn set_priority(&mut self, id: StreamId, priority: Priority) {
        let Some(stream) = self.streams.find(id) else { return };
        let before = stream.claim();
        stream.priority = priority;
        if stream.scheduled {
            self.scheduler.reprioritise(id, before, stream.claim());
        }
    }
}
