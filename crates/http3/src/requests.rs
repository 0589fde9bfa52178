//! The requests that a server receives, and those it refuses by itself.

use serow_message::{BodyLength, Headers, Priority, StatusCode, Version};
use serow_streams::{
    ResponseContext,
    request::{self, Accepted, Answer, Rejected},
};

use crate::{
    ErrorCode, ProtocolError, StreamId,
    connection::{Connection, Peer},
    qpack::Pseudo,
    received_event::ReceivedEvent,
    receiving::MAX_DISCARDED,
    stream::Receiving,
};

impl Connection {
    /// A request's head has come.
    #[inline]
    pub(crate) fn handle_request(&mut self, id: StreamId) -> Result<ReceivedEvent, ProtocolError> {
        let end = self.streams.peek(id).is_some_and(|stream| stream.is_at_end());
        let limits = self.limits.of_messages();
        let Accepted { request, content, exchange } =
            match request::accept(&mut self.fields, Version::HTTP_3, id, end, &limits) {
                Ok(accepted) => accepted,
                Err(rejected) => return self.reject(id, end, *rejected),
            };
        self.idle_frames.earn(EARNED_BY_REQUEST);
        if let Some(stream) = self.streams.find(id) {
            stream.receiving = if end { Receiving::Done } else { Receiving::Body };
            stream.content = content;
            stream.exchange = exchange;
            // RFC 9218 §7: what PRIORITY_UPDATE said is the latest, also where it came ahead of the request.
            if !stream.said_priority
                && let Some(priority) = Priority::of_fields(&request.head.headers)
            {
                stream.priority = priority;
                stream.said_priority = true;
            }
        }
        Ok(ReceivedEvent::Request(request))
    }

    /// A request that no handler gets.
    #[cold]
    fn reject(&mut self, id: StreamId, end: bool, rejected: Rejected) -> Result<ReceivedEvent, ProtocolError> {
        let Rejected { answer, reason, head } = rejected;
        let status = match answer {
            // RFC 9114 §4.1.2.
            Answer::Reset => {
                self.cut_off(id, ErrorCode::MESSAGE_ERROR);
                self.note_reset()?;
                StatusCode::BAD_REQUEST
            }
            Answer::Status(status) => {
                let head_only = match &head {
                    Some(head) => head.method == "HEAD",
                    None => self.fields.pseudo(Pseudo::Method) == Some(b"HEAD"),
                };
                if let Some(stream) = self.streams.find(id) {
                    stream.receiving = if end { Receiving::Done } else { Receiving::Body };
                    stream.exchange = ResponseContext { head_only, ..ResponseContext::default() };
                }
                self.answer(id, status);
                if let Some(stream) = self.streams.find(id)
                    && stream.receiving == Receiving::Body
                {
                    stream.receiving = Receiving::Discarded(MAX_DISCARDED);
                }
                status
            }
        };
        Ok(ReceivedEvent::Refused { stream: id, status, head, reason })
    }

    /// A head has more bytes than are taken. Nothing more of the request is read.
    #[cold]
    pub(crate) fn refuse_head(&mut self, id: StreamId) -> ReceivedEvent {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        self.answer(id, status);
        self.stop(id, ErrorCode::NO_ERROR);
        ReceivedEvent::Refused { stream: id, status, head: None, reason: "the head of a request is too large" }
    }

    /// A body has grown too large: its client may send without end. A client's response is of no use then.
    #[cold]
    pub(crate) fn refuse_body(&mut self, id: StreamId) -> Result<ReceivedEvent, ProtocolError> {
        if self.peer == Peer::Server {
            let (code, reason) = (ErrorCode::REQUEST_CANCELLED, "the body is too large");
            return Err(ProtocolError::Stream { stream: id, code, reason });
        }
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        self.answer(id, status);
        self.stop(id, ErrorCode::NO_ERROR);
        Ok(ReceivedEvent::Refused { stream: id, status, head: None, reason: "the body is too large" })
    }

    /// Answers a request without a handler. Where a response has begun, it goes on.
    fn answer(&mut self, id: StreamId, status: StatusCode) {
        if self.queue_head(id, status, Headers::new(), BodyLength::Known(0)).is_ok()
            && let Some(head) = self.streams.find(id).and_then(|stream| stream.head.as_mut())
        {
            head.is_refusal = true;
        }
    }
}

/// A request may well come with a few frames that bring nothing, as PRIORITY_UPDATE and reserved ones.
const EARNED_BY_REQUEST: u32 = 4;
