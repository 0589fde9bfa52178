//! The fields of a message, decoded from a header block and judged (RFC 9113 §8.2, §8.3): in any message, either role.

use alloc::vec::Vec;
use core::ops::{ControlFlow, Range};

use bytes::{Bytes, BytesMut};
use serow_message::{Headers, KnownHeader, ReceivedFields, Span, content::NO_TRAILERS, hop_by_hop};

use crate::MessageLimits;

mod decoded_field;
mod field_error;
mod name;

pub use self::{
    decoded_field::{DecodedField, ENTRY_OVERHEAD},
    field_error::FieldError,
    name::{Name, Pseudo},
};

/// The fields of the header block that was decoded last, and room for the next ones.
#[derive(Debug, Default)]
pub struct Fields {
    /// Where heads are put together. Those that are gone leave their room, so that mostly nothing is allocated for one.
    room: BytesMut,
    /// The text of the head, until its fields are taken.
    text: Bytes,
    /// Where the fields stand in it. It is kept for idle connections, too, so it is small.
    list: ReceivedFields<4>,
    pseudo: [ValuePlace; PSEUDO],
    /// The error in them, if there is one; then they are not all there.
    pub problem: Option<Problem>,
}

/// Why a message cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// RFC 9113 §8.1.1.
    Malformed(&'static str),
    /// More than [`MessageLimits::head`] or [`MessageLimits::fields`].
    TooLarge,
    /// A `:path` longer than [`MessageLimits::target`].
    TargetTooLong,
}

/// Where the value of a pseudo-header field stands, if there is one.
#[derive(Clone, Copy, Debug)]
struct ValuePlace {
    start: u32,
    length: u32,
}

impl ValuePlace {
    /// No limit lets a head become so long.
    const NONE: Self = Self { start: u32::MAX, length: 0 };

    #[inline]
    fn range(self) -> Option<Range<usize>> {
        let start = self.start as usize;
        (self.start != Self::NONE.start).then_some(start..start + self.length as usize)
    }
}

impl Default for ValuePlace {
    fn default() -> Self {
        Self::NONE
    }
}

/// One for each [`Pseudo`].
const PSEUDO: usize = 6;

impl Fields {
    /// Takes the fields of one block in place of those of the last: show each of them to the collector, then
    /// [finish](Collector::finish).
    #[inline]
    pub fn collect<'a>(&'a mut self, limits: &'a MessageLimits) -> Collector<'a> {
        self.room.clear();
        self.text = Bytes::new();
        self.list.clear();
        self.pseudo = [ValuePlace::NONE; PSEUDO];
        self.problem = None;
        Collector { fields: self, size: 0, regular: false, cookie: Vec::new(), limits }
    }

    /// The value of a pseudo-header field.
    #[inline]
    pub fn pseudo(&self, pseudo: Pseudo) -> Option<&[u8]> {
        self.text.get(self.pseudo[pseudo as usize].range()?)
    }

    /// The same, as a slice of the head.
    #[inline]
    pub fn pseudo_bytes(&self, pseudo: Pseudo) -> Option<Bytes> {
        Some(self.text.slice(self.pseudo[pseudo as usize].range()?))
    }

    /// Whether there is any pseudo-header field.
    fn has_pseudo(&self) -> bool {
        self.pseudo.iter().any(|place| place.range().is_some())
    }

    /// The fields of trailers: those that may stand there (RFC 9110 §6.5.1).
    ///
    /// # Errors
    ///
    /// The error in them; pseudo-header fields are malformed (RFC 9113 §8.1, RFC 9114 §4.3).
    pub fn take_trailers(&mut self) -> Result<Headers, Problem> {
        if self.has_pseudo() {
            return Err(Problem::Malformed("a pseudo-header field in trailers"));
        }
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let mut trailers = self.take_headers();
        if trailers.contains_any(&NO_TRAILERS) {
            for name in NO_TRAILERS {
                trailers.remove(name);
            }
        }
        Ok(trailers)
    }

    /// The other fields. Nothing of the message is left then.
    #[inline]
    pub fn take_headers(&mut self) -> Headers {
        let text = core::mem::take(&mut self.text);
        if self.list.is_empty() {
            return Headers::new();
        }
        // The spans were made from this text.
        self.list.to_headers(text).unwrap_or_default()
    }

    /// Appends to the text; says where.
    #[inline]
    fn add(&mut self, text: &[u8]) -> usize {
        let start = self.room.len();
        if self.room.capacity() - start < text.len() {
            self.room.reserve(text.len().max(USUAL_HEAD));
        }
        self.room.extend_from_slice(text);
        start
    }
}

/// Takes the fields of one block, in their order. Fields beyond the limits are not kept.
#[derive(Debug)]
pub struct Collector<'a> {
    fields: &'a mut Fields,
    /// RFC 9113 §6.5.2.
    size: usize,
    /// Whether a field was seen behind which no pseudo-header field may stand.
    regular: bool,
    cookie: Vec<u8>,
    limits: &'a MessageLimits,
}

impl Collector<'_> {
    /// Takes the next field; breaks where the rest of the block changes nothing.
    #[inline]
    pub fn take(&mut self, field: &DecodedField<'_>) -> ControlFlow<()> {
        self.judge(field);
        if self.is_decided() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    #[inline]
    fn judge(&mut self, field: &DecodedField<'_>) {
        // Whatever is wrong, the refusal of HEAD has no content.
        if self.fields.problem.is_some() && !matches!(field.name_kind, Name::Pseudo(Pseudo::Method)) {
            return;
        }
        self.size += field.name.len() + field.value.len() + FIELD_OVERHEAD;
        let outcome = match field.name_kind {
            Name::Pseudo(pseudo) => self.take_pseudo(pseudo, field.value),
            Name::Known(known) => self.take_known(known, field.value),
            Name::Other => self.take_other(field),
        };
        let outcome = outcome.and_then(|()| field.error.map_or(Ok(()), |error| Err(malformed(error))));
        if let Err(problem) = outcome {
            self.fields.problem.get_or_insert(problem);
        }
    }

    /// Whether the other fields change nothing: there is a problem, and the method, which the refusal depends on, is
    /// known or comes no more. The rest of an HPACK bomb is only skipped.
    #[inline]
    fn is_decided(&self) -> bool {
        let has_method = || self.fields.pseudo[Pseudo::Method as usize].range().is_some();
        self.fields.problem.is_some() && (self.regular || has_method())
    }

    /// RFC 9113 §8.3: before all other fields, and each once.
    #[inline]
    fn take_pseudo(&mut self, pseudo: Pseudo, value: &[u8]) -> Result<(), Problem> {
        if self.regular {
            return Err(Problem::Malformed("a pseudo-header field behind other fields"));
        }
        if self.fields.pseudo[pseudo as usize].range().is_some() {
            return Err(Problem::Malformed("a pseudo-header field stands there twice"));
        }
        if pseudo == Pseudo::Path && value.len() > self.limits.target {
            return Err(Problem::TargetTooLong);
        }
        if pseudo == Pseudo::Authority && !value.is_empty() {
            // Handlers know it by this name (RFC 9113 §8.3.1).
            self.push(KnownHeader::Host, value)?;
        } else {
            self.check_size()?;
            self.fields.add(value);
        }
        let start = (self.fields.room.len() - value.len()) as u32;
        self.fields.pseudo[pseudo as usize] = ValuePlace { start, length: value.len() as u32 };
        Ok(())
    }

    #[inline]
    fn take_known(&mut self, known: KnownHeader, value: &[u8]) -> Result<(), Problem> {
        self.regular = true;
        match known {
            // RFC 9113 §8.2.3: may come in pieces, which others do not know.
            KnownHeader::Cookie => {
                self.check_size()?;
                if !self.cookie.is_empty() {
                    self.cookie.extend_from_slice(b"; ");
                }
                self.cookie.extend_from_slice(value);
                Ok(())
            }
            // RFC 9113 §8.3.1: the two must not speak of different places.
            KnownHeader::Host => {
                match self.fields.pseudo[Pseudo::Authority as usize].range() {
                    Some(authority) if !authority.is_empty() => {
                        if self.fields.room[authority].eq_ignore_ascii_case(value) { Ok(()) } else { Err(TWO_HOSTS) }
                    }
                    _ => self.push(known, value),
                }
            }
            // RFC 9113 §8.2.2.
            KnownHeader::Te if value.eq_ignore_ascii_case(b"trailers") => self.push(known, value),
            _ if hop_by_hop::NAMES.contains(&known) => {
                Err(Problem::Malformed("a field that speaks of an HTTP/1.1 connection"))
            }
            _ => self.push(known, value),
        }
    }

    #[inline]
    fn take_other(&mut self, field: &DecodedField<'_>) -> Result<(), Problem> {
        self.regular = true;
        if field.error == Some(FieldError::Name) {
            return Err(malformed(FieldError::Name));
        }
        self.check_size()?;
        let (name, value) = (field.name, field.value);
        let name_start = self.fields.add(name);
        self.fields.add(value);
        let span = Span {
            name_start,
            name_length: name.len(),
            value_start: name_start + name.len(),
            value_length: value.len(),
            is_line: false,
        };
        self.fields.list.push_recognised(None, span).map_err(|_| Problem::TooLarge)
    }

    #[inline]
    fn push(&mut self, known: KnownHeader, value: &[u8]) -> Result<(), Problem> {
        self.check_size()?;
        let start = self.fields.add(value);
        self.fields.list.push_known(known, start, value.len()).map_err(|_| Problem::TooLarge)
    }

    /// A small block can stand for a large head: "HPACK bomb" (CVE-2016-6581).
    #[inline]
    fn check_size(&self) -> Result<(), Problem> {
        if self.size > self.limits.head || self.fields.list.len() >= self.limits.fields {
            return Err(Problem::TooLarge);
        }
        Ok(())
    }

    /// The block has ended.
    #[inline]
    pub fn finish(mut self) {
        if !self.cookie.is_empty() {
            let cookie = core::mem::take(&mut self.cookie);
            if let Err(problem) = self.push(KnownHeader::Cookie, &cookie) {
                self.fields.problem.get_or_insert(problem);
            }
        }
        let fields = self.fields;
        fields.text = fields.room.split().freeze();
        if fields.text.len() > MAX_KEPT {
            fields.room = BytesMut::new();
        }
    }
}

/// RFC 9113 §8.2.1.
#[cold]
fn malformed(error: FieldError) -> Problem {
    Problem::Malformed(match error {
        FieldError::Name => "the name of a field has a byte that must not be in it",
        FieldError::Control => "the value of a field has a control character",
        FieldError::Space => "the value of a field begins or ends with white space",
    })
}

const TWO_HOSTS: Problem = Problem::Malformed(":authority and Host are for different hosts");

/// RFC 9113 §6.5.2: counted for each field.
const FIELD_OVERHEAD: usize = 32;

/// Bytes of the head of a browser's request, without its cookies.
const USUAL_HEAD: usize = 1024;

/// Bytes of a head whose memory is kept for the next one; that of a larger head is given back.
const MAX_KEPT: usize = 4 * USUAL_HEAD;
