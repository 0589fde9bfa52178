//! The fields of a message, decoded from a header block and judged (RFC 9113 §8.2, §8.3): in any message, either role.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use bytes::{Bytes, BytesMut};
use serow_message::{Headers, Known, ReceivedFields, Span, hop_by_hop, is_token_byte};

use crate::{
    Limits,
    hpack::{DecodeError, DecodedField, Decoder, Name, Pseudo},
};

/// What stood in a header block.
#[derive(Debug)]
pub(crate) struct Fields {
    text: Bytes,
    list: ReceivedFields,
    pseudo: [Option<Place>; PSEUDO],
    /// What is wrong with them; then they are not all there.
    pub(crate) problem: Option<Problem>,
}

/// Why a message cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// RFC 9113 §8.1.1.
    Malformed(&'static str),
    /// More than [`Limits::head`] or [`Limits::fields`].
    TooLarge,
    /// A `:path` longer than [`Limits::target`].
    TargetTooLong,
}

/// Where the value of a pseudo-header field stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    length: u32,
}

/// One for each [`Pseudo`].
const PSEUDO: usize = 6;

impl Fields {
    /// Decodes a whole block. What the limits forbid is decoded too, and not kept: the peer's table has changed by it.
    #[inline]
    pub(crate) fn decode(
        decoder: &mut Decoder,
        block: &[u8],
        limits: &Limits,
        text: &mut Text,
    ) -> Result<Self, DecodeError> {
        text.scratch.clear();
        let mut collector = Collector {
            text,
            list: ReceivedFields::with_capacity(USUAL_FIELDS),
            pseudo: [None; PSEUDO],
            problem: None,
            size: 0,
            regular: false,
            cookie: Vec::new(),
            limits,
        };
        decoder.decode(block, |field| {
            collector.take(&field);
            ControlFlow::Continue(())
        })?;
        Ok(collector.finish())
    }

    /// The value of a pseudo-header field.
    #[inline]
    pub(crate) fn pseudo(&self, pseudo: Pseudo) -> Option<&[u8]> {
        let place = self.pseudo[pseudo as usize]?;
        self.text.get(place.start as usize..)?.get(..place.length as usize)
    }

    /// The same, as a slice of the head.
    #[inline]
    pub(crate) fn pseudo_bytes(&self, pseudo: Pseudo) -> Option<Bytes> {
        let Place { start, length } = self.pseudo[pseudo as usize]?;
        Some(self.text.slice(start as usize..(start + length) as usize))
    }

    /// Whether there is any pseudo-header field.
    pub(crate) fn has_pseudo(&self) -> bool {
        self.pseudo.iter().any(Option::is_some)
    }

    /// The other fields.
    #[inline]
    pub(crate) fn into_headers(self) -> Headers {
        if self.list.is_empty() {
            return Headers::new();
        }
        // The spans were made from this text.
        self.list.into_headers(self.text).unwrap_or_default()
    }
}

/// Where the text of heads is put together, and kept.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// That of the head which is decoded.
    scratch: Vec<u8>,
    /// Room for the next ones: heads that are gone leave theirs, so that mostly nothing is allocated for one.
    room: BytesMut,
}

impl Text {
    /// The decoded text.
    #[inline]
    fn take(&mut self) -> Bytes {
        if self.room.capacity() < self.scratch.len() {
            self.room.reserve(self.scratch.len().max(USUAL_HEAD));
        }
        self.room.extend_from_slice(&self.scratch);
        if self.scratch.capacity() > MOST_KEPT {
            self.scratch = Vec::new();
        }
        self.room.split().freeze()
    }
}

/// Takes the fields of one block, in their order.
struct Collector<'a> {
    text: &'a mut Text,
    list: ReceivedFields,
    pseudo: [Option<Place>; PSEUDO],
    problem: Option<Problem>,
    /// RFC 9113 §6.5.2.
    size: usize,
    /// Whether a field was seen behind which no pseudo-header field may stand.
    regular: bool,
    cookie: Vec<u8>,
    limits: &'a Limits,
}

impl Collector<'_> {
    #[inline]
    fn take(&mut self, field: &DecodedField<'_>) {
        if self.problem.is_some() {
            return;
        }
        self.size += field.name.len() + field.value.len() + FIELD_OVERHEAD;
        let outcome = match field.name_kind {
            Name::Pseudo(pseudo) => self.take_pseudo(pseudo, field.value),
            Name::Known(known) => self.take_known(known, field.value),
            Name::Other => self.take_other(field.name, field.value),
        };
        let outcome = outcome.and_then(|()| check_value(field.value));
        if let Err(problem) = outcome {
            self.problem = Some(problem);
        }
    }

    /// RFC 9113 §8.3: before all other fields, and each once.
    #[inline]
    fn take_pseudo(&mut self, pseudo: Pseudo, value: &[u8]) -> Result<(), Problem> {
        if self.regular {
            return Err(Problem::Malformed("a pseudo-header field behind other fields"));
        }
        if self.pseudo[pseudo as usize].is_some() {
            return Err(Problem::Malformed("a pseudo-header field stands there twice"));
        }
        if pseudo == Pseudo::Path && value.len() > self.limits.target {
            return Err(Problem::TargetTooLong);
        }
        if pseudo == Pseudo::Authority && !value.is_empty() {
            // Handlers know it by this name (RFC 9113 §8.3.1).
            self.push(Some(Known::Host), b"host", value)?;
        } else {
            self.check_size()?;
            self.text.scratch.extend_from_slice(value);
        }
        let start = (self.text.scratch.len() - value.len()) as u32;
        self.pseudo[pseudo as usize] = Some(Place { start, length: value.len() as u32 });
        Ok(())
    }

    #[inline]
    fn take_known(&mut self, known: Known, value: &[u8]) -> Result<(), Problem> {
        self.regular = true;
        match known {
            // RFC 9113 §8.2.3: may come in pieces, which others do not know.
            Known::Cookie => {
                self.check_size()?;
                if !self.cookie.is_empty() {
                    self.cookie.extend_from_slice(b"; ");
                }
                self.cookie.extend_from_slice(value);
                Ok(())
            }
            // RFC 9113 §8.3.1: the two must not speak of different places.
            Known::Host => match self.pseudo[Pseudo::Authority as usize] {
                Some(Place { start, length }) if length > 0 => {
                    let authority = &self.text.scratch[start as usize..(start + length) as usize];
                    if authority.eq_ignore_ascii_case(value) { Ok(()) } else { Err(TWO_HOSTS) }
                }
                _ => self.push(Some(known), known.as_str().as_bytes(), value),
            },
            // RFC 9113 §8.2.2.
            Known::Te if value.eq_ignore_ascii_case(b"trailers") => {
                self.push(Some(known), known.as_str().as_bytes(), value)
            }
            _ if hop_by_hop::NAMES.contains(&known) => {
                Err(Problem::Malformed("a field that speaks of an HTTP/1.1 connection"))
            }
            _ => self.push(Some(known), known.as_str().as_bytes(), value),
        }
    }

    #[inline]
    fn take_other(&mut self, name: &[u8], value: &[u8]) -> Result<(), Problem> {
        self.regular = true;
        check_name(name)?;
        self.push(None, name, value)
    }

    #[inline]
    fn push(&mut self, known: Option<Known>, name: &[u8], value: &[u8]) -> Result<(), Problem> {
        self.check_size()?;
        let text = &mut self.text.scratch;
        let name_start = text.len();
        text.reserve(name.len() + value.len());
        text.extend_from_slice(name);
        text.extend_from_slice(value);
        let span = Span {
            name_start,
            name_length: name.len(),
            value_start: name_start + name.len(),
            value_length: value.len(),
        };
        self.list.push_recognised(known, span).map_err(|_| Problem::TooLarge)
    }

    /// A small block can stand for a large head: "HPACK bomb" (CVE-2016-6581).
    #[inline]
    fn check_size(&self) -> Result<(), Problem> {
        if self.size > self.limits.head || self.list.len() >= self.limits.fields {
            return Err(Problem::TooLarge);
        }
        Ok(())
    }

    #[inline]
    fn finish(mut self) -> Fields {
        if !self.cookie.is_empty() {
            let cookie = core::mem::take(&mut self.cookie);
            if let Err(problem) = self.push(Some(Known::Cookie), b"cookie", &cookie) {
                self.problem.get_or_insert(problem);
            }
        }
        Fields { text: self.text.take(), list: self.list, pseudo: self.pseudo, problem: self.problem }
    }
}

/// RFC 9113 §8.2.1: a token without capitals. A colon, as unknown pseudo-header fields have it (§8.3), is none.
#[inline]
fn check_name(name: &[u8]) -> Result<(), Problem> {
    let right = name.iter().fold(!name.is_empty(), |right, &byte| right & NAME_BYTES[usize::from(byte)]);
    if right { Ok(()) } else { Err(Problem::Malformed("the name of a field has a byte that must not be in it")) }
}

/// RFC 9113 §8.2.1, and as HTTP/1 has it, no other control characters either: handlers write values to logs.
#[inline]
fn check_value(value: &[u8]) -> Result<(), Problem> {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if has_control(value) {
        return Err(Problem::Malformed("the value of a field has a control character"));
    }
    if is_space(value.first()) || is_space(value.last()) {
        return Err(Problem::Malformed("the value of a field begins or ends with white space"));
    }
    Ok(())
}

/// Looks at many bytes at once; at the end some are looked at twice.
#[inline]
fn has_control(value: &[u8]) -> bool {
    if let Some(last) = value.last_chunk::<16>() {
        let (chunks, _) = value.as_chunks::<16>();
        return chunks.iter().chain([last]).any(any_control);
    }
    if let (Some(first), Some(last)) = (value.first_chunk::<8>(), value.last_chunk::<8>()) {
        return any_control(first) | any_control(last);
    }
    value.iter().any(|byte| any_control(&[*byte]))
}

#[inline]
fn any_control<const N: usize>(bytes: &[u8; N]) -> bool {
    let mut wrong = 0;
    for &byte in bytes {
        wrong |= u8::from(byte < b' ') & u8::from(byte != b'\t') | u8::from(byte == 0x7f);
    }
    wrong != 0
}

/// The bytes of tokens, without capitals.
static NAME_BYTES: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = is_token_byte(byte as u8) && !(byte as u8).is_ascii_uppercase();
        byte += 1;
    }
    bytes
};

const TWO_HOSTS: Problem = Problem::Malformed(":authority and Host are for different hosts");

/// RFC 9113 §6.5.2: counted for each field.
const FIELD_OVERHEAD: usize = 32;

/// Bytes of the head of a browser's request, without its cookies.
const USUAL_HEAD: usize = 1024;

/// What a larger head needed is not kept.
const MOST_KEPT: usize = 4 * USUAL_HEAD;

/// Fields of a browser's request; the list is made with room for them at once.
const USUAL_FIELDS: usize = 16;
