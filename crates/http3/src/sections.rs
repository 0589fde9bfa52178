//! Field sections (RFC 9114 §4.1, RFC 9204), received: heads and trailers.

use alloc::{boxed::Box, vec::Vec};

use bytes::Bytes;
use serow_streams::fields::Problem;

use crate::{
    ErrorCode, ProtocolError, StreamId,
    connection::{Connection, Peer, unexpected},
    qpack::{DecodeError, Decoded},
    received_event::ReceivedEvent,
    stream::{Reading, Receiving},
};

impl Connection {
    /// HEADERS begin.
    #[inline]
    pub(crate) fn begin_section(&mut self, id: StreamId, length: u64) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let most = self.limits.section() as u64;
        let Some(stream) = self.streams.find(id) else { return Ok(None) };
        match stream.receiving {
            // RFC 9114 §4.1.
            Receiving::Trailers => return Err(unexpected("HEADERS behind the trailers")),
            // RFC 9114 §4.4.
            Receiving::Body if stream.exchange.connect => return Err(unexpected("HEADERS within a tunnel")),
            Receiving::Discarded(_) => {
                // RFC 9204 §2.2.2.2: its references are not used.
                stream.reading = Reading::Skipped(length);
                self.decoder.cancel(id);
                return self.calm().map(|()| None);
            }
            _ if length > most => return self.handle_large_section(id),
            Receiving::Head | Receiving::Body | Receiving::Done => {}
        }
        match usize::try_from(length) {
            // Decoded where it stands.
            Ok(length) if length <= stream.input.len() => {
                let section = stream.input.split_to(length);
                self.handle_section(id, section)
            }
            _ => {
                stream.reading = Reading::Section(Vec::new(), length);
                Ok(None)
            }
        }
    }

    /// A field section of more bytes than are taken: nothing of it is kept.
    #[cold]
    fn handle_large_section(&mut self, id: StreamId) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let is_head = self.streams.peek(id).is_some_and(|stream| stream.receiving == Receiving::Head);
        if is_head && self.peer == Peer::Client {
            return Ok(Some(self.refuse_head(id)));
        }
        let (code, reason) = (ErrorCode::EXCESSIVE_LOAD, "a field section is too large");
        Err(ProtocolError::Stream { stream: id, code, reason })
    }

    /// A whole field section.
    #[inline]
    pub(crate) fn handle_section(
        &mut self,
        id: StreamId,
        section: Bytes,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let limits = self.limits.of_messages();
        let mut collector = self.fields.collect(&limits);
        let decoded = self.decoder.decode(id, &section, |field| collector.take(&field)).map_err(section_error)?;
        collector.finish();
        let Some(stream) = self.streams.find(id) else { return Ok(None) };
        if let Decoded::Blocked(required) = decoded {
            // The slice may keep far more from being freed.
            let section = Bytes::copy_from_slice(&section);
            self.held += section.len();
            stream.reading = Reading::Blocked(section);
            self.blocked.push((id, required));
            return Ok(None);
        }
        match (stream.receiving, self.peer) {
            (Receiving::Head, Peer::Client) => self.handle_request(id).map(Some),
            (Receiving::Head, Peer::Server) => self.handle_response(id).map(Some),
            _ => self.handle_trailers(id).map(|()| None),
        }
    }

    /// The entries have come that a stream waits for.
    pub(crate) fn unblock(&mut self, id: StreamId) -> Result<(), ProtocolError> {
        let Some(stream) = self.streams.find(id) else { return Ok(()) };
        let Reading::Blocked(section) = core::mem::replace(&mut stream.reading, Reading::between()) else {
            return Ok(());
        };
        // As if it came now, with what came behind it.
        stream.reading = Reading::Section(section.into(), 0);
        self.advance(id)
    }

    /// A second field section ends the message (RFC 9114 §4.1).
    fn handle_trailers(&mut self, id: StreamId) -> Result<(), ProtocolError> {
        let trailers = self.fields.take_trailers().map_err(|problem| {
            let (code, reason) = match problem {
                Problem::Malformed(reason) => (ErrorCode::MESSAGE_ERROR, reason),
                Problem::TooLarge | Problem::TargetTooLong => (ErrorCode::EXCESSIVE_LOAD, "the trailers are too large"),
            };
            ProtocolError::Stream { stream: id, code, reason }
        })?;
        let Some(stream) = self.streams.find(id) else { return Ok(()) };
        stream.trailers = (!trailers.is_empty()).then(|| Box::new(trailers));
        stream.receiving = Receiving::Trailers;
        Ok(())
    }
}

#[cold]
fn section_error(error: DecodeError) -> ProtocolError {
    let code = match error {
        DecodeError::Unread => ErrorCode::EXCESSIVE_LOAD,
        _ => ErrorCode::QPACK_DECOMPRESSION_FAILED,
    };
    ProtocolError::new(code, error.reason())
}
