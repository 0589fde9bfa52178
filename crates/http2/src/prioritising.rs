//! The client's signals about the order of its streams (RFC 9218 §7, and its predecessor RFC 7540 §5.3).

use serow_message::Priority;

use crate::{
    ErrorCode, ProtocolError, Sender, StreamId,
    connection::{Connection, wrong},
    frame::Dependency,
    streams::Gone,
};

impl Connection {
    /// In HEADERS. RFC 7540 §5.3.1: a stream cannot depend on itself; RFC 9113 no longer says it, and nobody does it.
    pub(crate) fn check_dependency(stream: StreamId, dependency: Dependency) -> Result<(), ProtocolError> {
        if dependency.on == stream {
            let (code, reason) = (ErrorCode::PROTOCOL_ERROR, "a stream that depends on itself");
            return Err(ProtocolError::Stream { stream, code, reason });
        }
        Ok(())
    }

    /// RFC 9113 §6.3: for a stream in any state.
    pub(crate) fn handle_priority(&mut self, stream: StreamId, dependency: Dependency) -> Result<(), ProtocolError> {
        Self::check_dependency(stream, dependency)?;
        match self.streams.peek(stream) {
            Some(alive) if alive.said_priority => {}
            Some(_) => {
                if let Some(priority) = self.dependencies.handle(stream, dependency) {
                    self.set_priority(stream, priority);
                }
            }
            None if matches!(self.gone(stream), Gone::Idle | Gone::PassedOver) => {
                self.dependencies.handle_idle(stream, dependency);
            }
            None => {}
        }
        Ok(())
    }

    /// RFC 9218 §7.1.
    pub(crate) fn handle_priority_update(&mut self, stream: StreamId, value: &[u8]) -> Result<(), ProtocolError> {
        if self.peer == Sender::Server {
            return Err(wrong("PRIORITY_UPDATE from a server"));
        }
        // It is for a push that was never promised.
        if !stream.is_of_client() {
            return Err(wrong("PRIORITY_UPDATE for an idle stream of the server"));
        }
        let priority = Priority::parse(value);
        self.dependencies.ignore();
        if let Some(alive) = self.streams.find(stream) {
            alive.said_priority = true;
            self.set_priority(stream, priority);
        } else if self.gone(stream) == Gone::Idle {
            self.early
                .keep(stream, priority, self.streams.len(), self.limits.streams as usize)
                .map_err(|_| wrong("PRIORITY_UPDATE for more streams than may be open"))?;
        }
        Ok(())
    }

    /// Gives a stream another priority.
    pub(crate) fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        let Some(stream) = self.streams.find(stream) else { return };
        let before = stream.claim();
        stream.priority = priority;
        if stream.scheduled {
            self.scheduler.reprioritise(stream.id, before, stream.claim());
        }
    }
}
