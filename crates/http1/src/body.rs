//! A body on its way in, whatever its framing.

use bytes::{Bytes, BytesMut};
use serow_message::Headers;

use crate::{
    Framing, Limits, ProtocolError,
    chunked::{Chunked, Piece},
};

/// Finds the end of a body.
#[derive(Debug)]
pub(crate) enum Body {
    /// So many bytes are still to come.
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// The part of a body at the front of the input.
pub(crate) enum BodyEvent {
    Data(Bytes),
    End(Option<Headers>),
}

/// Counts what a body has brought, against the limit.
#[derive(Debug)]
pub(crate) struct BodyReceiver {
    body: Body,
    received: u64,
}

impl BodyReceiver {
    /// The receiver of a body with this framing. A body that is too long is refused where its length is announced, and
    /// all bytes before that are passed on, so that the result does not depend on how the input was split.
    pub(crate) fn new(framing: Framing, limits: &Limits) -> Result<Self, ProtocolError> {
        let body = match framing {
            Framing::None => Body::Length(0),
            Framing::Length(length) if length > limits.body => return Err(ProtocolError::BodyTooLarge),
            Framing::Length(length) => Body::Length(length),
            Framing::Chunked => Body::Chunked(Chunked::default()),
            Framing::UntilClose => Body::UntilClose,
        };
        Ok(Self { body, received: 0 })
    }

    /// Bytes still to come of a body whose length was announced.
    pub(crate) fn left(&self) -> Option<u64> {
        match self.body {
            Body::Length(left) => Some(left),
            Body::Chunked(_) | Body::UntilClose => None,
        }
    }

    /// The next bytes came another way. Returns whether the body has as many, and is of announced length.
    pub(crate) fn pass(&mut self, bytes: u64) -> bool {
        let Body::Length(left) = &mut self.body else { return false };
        let Some(rest) = left.checked_sub(bytes) else { return false };
        *left = rest;
        self.received += bytes;
        true
    }

    pub(crate) fn receive(
        &mut self,
        input: &mut BytesMut,
        limits: &Limits,
    ) -> Result<Option<BodyEvent>, ProtocolError> {
        let room = limits.body.saturating_sub(self.received);
        let event = match &mut self.body {
            Body::Length(0) => Some(BodyEvent::End(None)),
            _ if input.is_empty() => None,
            Body::Length(left) => {
                let count = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= count as u64;
                Some(BodyEvent::Data(input.split_to(count).freeze()))
            }
            Body::Chunked(chunked) => chunked.receive(input, room, limits)?.map(|piece| match piece {
                Piece::Data(data) => BodyEvent::Data(data),
                Piece::End(trailers) => BodyEvent::End(trailers),
            }),
            Body::UntilClose if room == 0 => return Err(ProtocolError::BodyTooLarge),
            Body::UntilClose => {
                let count = usize::try_from(room).unwrap_or(usize::MAX).min(input.len());
                Some(BodyEvent::Data(input.split_to(count).freeze()))
            }
        };
        if let Some(BodyEvent::Data(data)) = &event {
            self.received += data.len() as u64;
        }
        Ok(event)
    }

    /// The connection ended: only a body that lasts until then is whole.
    pub(crate) fn handle_end(&self) -> Result<(), ProtocolError> {
        match self.body {
            Body::UntilClose | Body::Length(0) => Ok(()),
            Body::Length(_) | Body::Chunked(_) => Err(ProtocolError::Incomplete),
        }
    }
}
