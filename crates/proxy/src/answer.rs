//! What a server answered, whichever version of HTTP it speaks.

use std::{collections::VecDeque, time::Instant};

use bytes::{Bytes, BytesMut};
use serow_message::{Body, Headers, Interim, ResponseHead, UpgradedIo};

use crate::{server::Lease, trailed::with_trailers};

/// What a server answered.
pub(crate) struct Answer {
    /// The head, as the server sent it.
    pub(crate) head: ResponseHead,
    /// What comes behind it.
    pub(crate) content: Content,
    /// When the server had the whole of a body that was sent piece by piece, if that was before it answered.
    pub(crate) asked: Option<Instant>,
}

/// What comes behind the head of a response.
pub(crate) enum Content {
    /// A body.
    Body(Body),
    /// Another protocol: the response has status 101.
    Tunnel(Box<dyn UpgradedIo>, Lease),
}

/// What came of a body and was not handed over.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) pieces: VecDeque<Bytes>,
    /// Once it has ended, its trailers.
    pub(crate) end: Option<Option<Headers>>,
}

impl Received {
    /// A body that is whole.
    pub(crate) fn into_body(self) -> Body {
        let Self { pieces, end } = self;
        let data = joined(pieces);
        match end.flatten() {
            None => data.into(),
            Some(trailers) => with_trailers(data.into(), trailers),
        }
    }
}

fn joined(mut pieces: VecDeque<Bytes>) -> Bytes {
    match (pieces.pop_front(), pieces.is_empty()) {
        (None, _) => Bytes::new(),
        (Some(only), true) => only,
        (Some(first), false) => {
            let mut whole = BytesMut::with_capacity(first.len() + pieces.iter().map(Bytes::len).sum::<usize>());
            whole.extend_from_slice(&first);
            pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
            whole.freeze()
        }
    }
}

/// Interim responses that servers send for themselves stay here: 100 is answered by whoever reads the body.
pub(crate) fn pass_on(interim: &Interim, head: ResponseHead) {
    let ResponseHead { status, mut headers, .. } = head;
    serow_message::hop_by_hop::remove(&mut headers);
    interim.send(status, headers);
}
