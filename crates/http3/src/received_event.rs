//! The results of received bytes, for either role.

use alloc::collections::VecDeque;

use bytes::Bytes;
use serow_message::{Headers, RequestHead, StatusCode};

use crate::{ErrorCode, ReceivedRequest, ReceivedResponse, StreamId};

/// A result of received bytes, which each role turns into its own event.
#[derive(Debug)]
pub(crate) enum ReceivedEvent {
    Request(ReceivedRequest),
    Refused { stream: StreamId, status: StatusCode, head: Option<RequestHead>, reason: &'static str },
    Response(ReceivedResponse),
    Data { stream: StreamId, data: Bytes },
    End { stream: StreamId, trailers: Option<Headers> },
    Reset { stream: StreamId, code: ErrorCode },
    GoAway,
}

impl ReceivedEvent {
    /// The stream it is about.
    pub(crate) fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Request(request) => Some(request.stream),
            Self::Response(response) => Some(response.stream),
            Self::Refused { stream, .. }
            | Self::Data { stream, .. }
            | Self::End { stream, .. }
            | Self::Reset { stream, .. } => Some(*stream),
            Self::GoAway => None,
        }
    }
}

/// Those that nobody has taken yet. Each stream has one at most, and behind it its reset.
#[derive(Debug, Default)]
pub(crate) struct ReceivedEvents {
    waiting: VecDeque<ReceivedEvent>,
    /// The stream of the one that was taken last: more may follow from what was received on it.
    pub(crate) taken: Option<StreamId>,
}

impl ReceivedEvents {
    #[inline]
    pub(crate) fn push(&mut self, event: ReceivedEvent) {
        self.waiting.push_back(event);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<ReceivedEvent> {
        let event = self.waiting.pop_front()?;
        self.taken = event.stream();
        Some(event)
    }

    /// Drops those of a stream that is over; the event that it was refused stays.
    pub(crate) fn drop_of(&mut self, stream: StreamId) {
        self.waiting.retain(|event| event.stream() != Some(stream) || matches!(event, ReceivedEvent::Refused { .. }));
    }

    /// Drops the body of a stream that nobody reads; says whether anything was dropped.
    pub(crate) fn drop_body(&mut self, stream: StreamId) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|event| {
            event.stream() != Some(stream) || !matches!(event, ReceivedEvent::Data { .. } | ReceivedEvent::End { .. })
        });
        self.waiting.len() < before
    }
}
