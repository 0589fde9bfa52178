//! The response of a server, whichever version of HTTP it speaks.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use serow_gateway::{send_informational, with_trailers};
use serow_message::{Body, Headers, InformationalSender, ResponseHead, StatusCode};
use tokio::time::Instant;

use crate::tunnel::ServerTunnel;

/// The response of a server.
pub(crate) struct ServerResponse {
    /// The head, as the server sent it.
    pub(crate) head: ResponseHead,
    /// Its body, or a tunnel.
    pub(crate) content: ResponseContent,
    /// When the server had the whole of a body that was sent piece by piece, if that was before it answered.
    pub(crate) asked: Option<Instant>,
    /// Whether only the end of the connection says where the body ends.
    pub(crate) is_unframed: bool,
}

/// The part of a response after its head.
pub(crate) enum ResponseContent {
    /// A body.
    Body(Body),
    /// Another protocol: the response has status 101.
    Tunnel(ServerTunnel),
}

/// The part of a body that was received but not forwarded.
#[derive(Default)]
pub(crate) struct ReceivedBody {
    /// The first piece, which usually is the only one: a queue would need an allocation.
    first: Option<Bytes>,
    others: VecDeque<Bytes>,
    /// Once it has ended, its trailers.
    pub(crate) end: Option<Option<Headers>>,
}

impl ReceivedBody {
    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        match self.first {
            None => self.first = Some(piece),
            Some(_) => self.others.push_back(piece),
        }
    }

    /// Takes the first piece.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        std::mem::replace(&mut self.first, self.others.pop_front())
    }

    /// How many bytes there are.
    pub(crate) fn length(&self) -> usize {
        self.first.iter().chain(&self.others).map(Bytes::len).sum()
    }

    /// A body that is whole.
    pub(crate) fn into_body(self) -> Body {
        let Self { first, others, end } = self;
        let data = first.map_or_else(Bytes::new, |first| joined(first, &others));
        match end.flatten() {
            None => data.into(),
            Some(trailers) => with_trailers(data.into(), trailers),
        }
    }
}

/// Whether a server that responds so to an unsent body does not want it: curl stops to send at the same statuses. Behind
/// others, servers that do not know `Expect` may still read it.
pub(crate) fn is_refusal(status: StatusCode) -> bool {
    status.as_u16() >= 300
}

fn joined(first: Bytes, others: &VecDeque<Bytes>) -> Bytes {
    if others.is_empty() {
        return first;
    }
    let mut whole = BytesMut::with_capacity(first.len() + others.iter().map(Bytes::len).sum::<usize>());
    whole.extend_from_slice(&first);
    others.iter().for_each(|piece| whole.extend_from_slice(piece));
    whole.freeze()
}

/// Forwards an informational response. Hop-by-hop fields are removed, and those that are meant for this server: they name
/// places that clients must not know. 100 Continue is sent when the body is read.
pub(crate) fn pass_on(informational: &InformationalSender, head: ResponseHead) {
    let ResponseHead { status, mut headers, .. } = head;
    serow_message::hop_by_hop::remove(&mut headers);
    send_informational(informational, status, headers);
}
