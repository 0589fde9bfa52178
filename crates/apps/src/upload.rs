//! The body of a request, whole: in memory, or in a file without a name, whose descriptor the worker gets.

use std::{future::poll_fn, sync::Arc};

use bytes::Bytes;
use serow_gateway::{BufferError, BufferSettings, BufferedBody, BufferedContent, SpooledFile};
use serow_message::Body;

use crate::{
    exchange::{Event, Exchange},
    messages,
    pool::Ticket,
    request_error::RequestError,
};

/// The body of a request. Workers are not bothered before it is whole, so that slow clients keep none of them busy.
#[derive(Debug)]
pub(crate) enum Upload {
    Nothing,
    Memory(Bytes),
    File(SpooledFile),
    /// It follows when the application asks for it.
    Later,
    /// None, but messages in both directions.
    WebSocket,
}

impl Upload {
    /// Takes all of a body.
    pub(crate) async fn of(body: Body, settings: &BufferSettings) -> Result<Self, RequestError> {
        if body.is_end() {
            return Ok(Self::Nothing);
        }
        let whole = BufferedBody::read(body, settings).await.map_err(|failure| match failure {
            BufferError::Client(error) => RequestError::RequestBody(error),
            BufferError::Storage(error) => RequestError::Storage(error),
            BufferError::SpoolFull { limit } => RequestError::SpoolFull { limit },
        })?;
        Ok(match whole.into_content() {
            BufferedContent::Memory(bytes) => Self::of_bytes(bytes),
            BufferedContent::File(file) => Self::File(file),
        })
    }

    /// Takes all of a body that is [not long](Self::is_long): it fits into one packet.
    pub(crate) async fn of_short(body: Body) -> Result<Self, RequestError> {
        if body.is_end() {
            return Ok(Self::Nothing);
        }
        body.collect(messages::PIECE).await.map(Self::of_bytes).map_err(RequestError::RequestBody)
    }

    fn of_bytes(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::Nothing } else { Self::Memory(bytes) }
    }

    /// Whether a body is worth handing over as it comes: others are here as soon as the request.
    pub(crate) fn is_long(body: &Body) -> bool {
        !body.is_end() && body.length().is_none_or(|length| length > messages::PIECE as u64)
    }

    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Nothing | Self::Later | Self::WebSocket => 0,
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(file) => file.length(),
        }
    }

    /// The file, where it is one.
    pub(crate) fn into_file(self) -> Option<SpooledFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Nothing | Self::Memory(_) | Self::Later | Self::WebSocket => None,
        }
    }
}

/// Hands a body over as the application has room for it.
pub(crate) async fn hand_over(mut body: Body, exchange: Arc<Exchange>, ticket: Ticket) {
    let mut room = 0_usize;
    loop {
        while room == 0 {
            room = poll_fn(|context| exchange.poll_given(context)).await;
        }
        let Some(link) = exchange.link() else { return };
        match body.chunk().await {
            Some(Ok(chunk)) => {
                room = room.saturating_sub(chunk.len());
                chunk.chunks(messages::PIECE).for_each(|piece| link.tell(messages::BODY_PIECE, ticket, piece));
            }
            Some(Err(error)) => {
                link.tell(messages::CANCEL, ticket, b"");
                return exchange.push(Event::Failed(RequestError::RequestBody(error)));
            }
            None => return link.tell(messages::BODY_END, ticket, b""),
        }
    }
}
