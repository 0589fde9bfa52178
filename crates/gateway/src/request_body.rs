//! The body of a request for servers: without the trailers that must not be forwarded, and with the part that may have
//! to be sent again.

use std::{
    mem,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use serow_message::{Body, BodyKind, BoxError, Headers};

use crate::TrailerRule;

/// The body of a request. The part that attempts have read is kept, up to 64 KiB, until one of them gets a
/// [response](Self::release).
#[derive(Default)]
pub struct RequestBody {
    body: Body,
    rule: TrailerRule,
    /// Whether the client waits for `100 Continue`, which it gets when the body is first read.
    expects_continue: bool,
    taken: Taken,
    /// The position of the current attempt in the kept part.
    place: KeptPosition,
}

/// The part of a body that has been read.
#[derive(Debug, Default)]
enum Taken {
    /// Nothing, or all of this.
    Kept(Kept),
    /// All of this, of which the current attempt has yet to send something; no other needs it.
    LastTime(Kept),
    /// More than is kept, or no attempt needs it any more.
    #[default]
    Gone,
}

#[derive(Debug, Default)]
struct Kept {
    /// Shared with the attempt, not copied; most short bodies come in one piece.
    first: Bytes,
    /// Copied, so that many small pieces need no more memory than their bytes.
    others: Vec<u8>,
    /// How the body ended, once it has.
    end: Option<Option<Headers>>,
}

/// The part of [`Kept`] that the current attempt has not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum KeptPosition {
    First,
    Others,
    /// All of it has been read; new data follows.
    #[default]
    Behind,
}

/// The next part of a body.
#[derive(Debug)]
pub enum Piece {
    /// Data.
    Data(Bytes),
    /// Nothing follows.
    End(Option<Headers>),
}

impl RequestBody {
    /// This body, whose trailers go on by this rule.
    #[must_use]
    pub fn new(body: Body, rule: TrailerRule) -> Self {
        let taken = Taken::Kept(Kept::default());
        Self { body, rule, expects_continue: false, taken, place: KeptPosition::Behind }
    }

    /// The same, of a client that waits for `100 Continue`, or does not.
    #[must_use]
    pub fn expecting(self, expects_continue: bool) -> Self {
        Self { expects_continue, ..self }
    }

    /// Whether the client waits for `100 Continue`: nothing of the body has been read.
    #[must_use]
    pub fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// How many bytes an attempt that begins has to send, where that is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        let kept = match &self.taken {
            Taken::Kept(kept) | Taken::LastTime(kept) => kept.length() as u64,
            Taken::Gone => 0,
        };
        self.body.length().map(|rest| rest + kept)
    }

    /// All of it, where that is one piece of memory.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match (self.body.kind(), &self.taken) {
            (BodyKind::Bytes(bytes), Taken::Kept(kept)) if kept.length() == 0 => Some(bytes),
            _ => None,
        }
    }

    /// The body, which servers have not seen anything of.
    #[must_use]
    pub fn into_body(self) -> Body {
        self.body
    }

    /// Whether another attempt can send all of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.taken, Taken::Kept(_))
    }

    /// An attempt begins.
    pub fn rewind(&mut self) {
        self.place = KeptPosition::First;
    }

    /// A server has answered: nothing is sent again.
    pub fn release(&mut self) {
        self.taken = match mem::take(&mut self.taken) {
            Taken::Kept(kept) | Taken::LastTime(kept) if self.place != KeptPosition::Behind && !kept.is_empty() => {
                Taken::LastTime(kept)
            }
            Taken::Kept(_) | Taken::LastTime(_) | Taken::Gone => Taken::Gone,
        };
    }

    /// The next piece for the current attempt.
    ///
    /// # Errors
    ///
    /// Those of the body.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Piece, BoxError>> {
        if let Some(piece) = self.next_kept() {
            return Poll::Ready(Ok(piece));
        }
        self.expects_continue = false;
        let piece = match ready!(self.body.poll_next(context)).transpose()? {
            Some(frame) => match frame.into_data() {
                Ok(data) => Piece::Data(data),
                Err(frame) => Piece::End(self.rule.apply(&frame)),
            },
            None => Piece::End(None),
        };
        self.keep(&piece);
        Poll::Ready(Ok(piece))
    }

    /// The next piece that an earlier attempt took already.
    fn next_kept(&mut self) -> Option<Piece> {
        let (Taken::Kept(kept) | Taken::LastTime(kept)) = &self.taken else { return None };
        if self.place == KeptPosition::First {
            self.place = KeptPosition::Others;
            if !kept.first.is_empty() {
                return Some(Piece::Data(kept.first.clone()));
            }
        }
        if self.place == KeptPosition::Others {
            self.place = KeptPosition::Behind;
            if !kept.others.is_empty() {
                return Some(Piece::Data(Bytes::copy_from_slice(&kept.others)));
            }
        }
        kept.end.clone().map(Piece::End)
    }

    fn keep(&mut self, piece: &Piece) {
        let Taken::Kept(kept) = &mut self.taken else { return };
        match piece {
            Piece::Data(data) if kept.length() + data.len() > MAX_KEPT => self.taken = Taken::Gone,
            Piece::Data(data) if kept.first.is_empty() => kept.first = data.clone(),
            Piece::Data(data) => kept.others.extend_from_slice(data),
            Piece::End(trailers) => kept.end = Some(trailers.clone()),
        }
    }
}

impl Kept {
    fn length(&self) -> usize {
        self.first.len() + self.others.len()
    }

    fn is_empty(&self) -> bool {
        self.length() == 0 && self.end.is_none()
    }
}

/// Bytes of a body that are kept: 64 KiB, the default window of a server (RFC 9113 §6.9.2) and the memory of
/// `buffer-requests`. A client that sends more to a server that never responds fills no more memory than this.
const MAX_KEPT: usize = 64 * 1024;

#[cfg(test)]
mod tests;
