//! The responses that a client receives.

use serow_message::Version;
use serow_streams::response::{self, Accepted};

use crate::{
    ErrorCode, ProtocolError, ReceivedResponse, StreamId, connection::Connection, received_event::ReceivedEvent,
    stream::Receiving,
};

impl Connection {
    /// A response's head has come, or an informational one.
    pub(crate) fn handle_response(&mut self, id: StreamId) -> Result<ReceivedEvent, ProtocolError> {
        let error = |code, reason| Err(ProtocolError::Stream { stream: id, code, reason });
        let Some(stream) = self.streams.find(id) else { return error(ErrorCode::REQUEST_CANCELLED, "no such stream") };
        let (end, most) = (stream.is_at_end(), self.limits.body);
        let accepted = response::accept(&mut self.fields, Version::HTTP_3, stream.exchange, end, most);
        let Accepted { head, length, content } = match accepted {
            Ok(accepted) => accepted,
            Err(reason) => return error(ErrorCode::MESSAGE_ERROR, reason),
        };
        let informational = head.status.is_informational();
        if informational {
            stream.informational_received += 1;
            if stream.informational_received > MAX_INFORMATIONAL {
                return error(ErrorCode::EXCESSIVE_LOAD, "too many informational responses");
            }
        } else {
            stream.receiving = if end { Receiving::Done } else { Receiving::Body };
            stream.content = content;
            stream.exchange.tunnel = stream.exchange.connect && head.status.is_success();
            stream.exchange.connect = stream.exchange.tunnel;
            self.conclude(id);
        }
        let has_body = !end && !informational;
        Ok(ReceivedEvent::Response(ReceivedResponse { stream: id, head, has_body, length }))
    }
}

/// Informational responses to one request (RFC 9110 §15.2). A server that sends them for ever keeps a processor busy
/// for nothing; one that reports its progress, or has hints for each part of a page, sends some dozens.
const MAX_INFORMATIONAL: u8 = 64;
