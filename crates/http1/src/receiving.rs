//! Where in a message the next byte from the peer stands; the same in both roles.

use bytes::{Bytes, BytesMut};
use serow_message::Headers;

use crate::{
    Limits, ProtocolError,
    body::{BodyEvent, BodyReceiver},
    head::HeadProgress,
};

/// A received part of a message.
#[derive(Debug)]
pub enum Event<H> {
    /// A whole head.
    Head(H),
    /// A piece of the body.
    Data(Bytes),
    /// The end of the body, with its trailers if there were any. Comes for every message but a request whose framing is
    /// [`Framing::None`](crate::Framing::None): that one is whole with its head.
    End(Option<Headers>),
}

/// The part of a message that is being received.
#[derive(Debug)]
pub(crate) enum Receiving {
    Head(HeadProgress),
    Body(BodyReceiver),
    Done,
    /// The peer broke a rule. The bytes behind it are not looked at: they could be taken for a message.
    Broken(ProtocolError),
}

impl Receiving {
    /// At the beginning of a message.
    pub(crate) fn head() -> Self {
        Self::Head(HeadProgress::default())
    }

    /// Takes the next event behind the head.
    #[inline]
    pub(crate) fn receive_behind_head<H>(
        &mut self,
        input: &mut BytesMut,
        limits: &Limits,
    ) -> Result<Option<Event<H>>, ProtocolError> {
        match self {
            Self::Head(_) | Self::Done => Ok(None),
            Self::Broken(error) => Err(*error),
            Self::Body(body) => Ok(body.receive(input, limits)?.map(|event| match event {
                BodyEvent::Data(data) => Event::Data(data),
                BodyEvent::End(trailers) => {
                    *self = Self::Done;
                    Event::End(trailers)
                }
            })),
        }
    }
}
