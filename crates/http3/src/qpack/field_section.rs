//! A field section that is being encoded (RFC 9204 §4.5).

use alloc::vec::Vec;

use serow_message::{Headers, KnownHeader, StatusCode};
use serow_streams::{
    StreamId,
    compression::{
        integer,
        policy::{self, Policy},
        write_text, write_text_prefixed,
    },
    fields::{Name, Pseudo},
};

use super::{
    Encoder,
    prefix::Prefix,
    representation::{
        INDEXED, INDEXED_STATIC, LITERAL, LITERAL_NEVER, LITERAL_WITH_NAME, LITERAL_WITH_NAME_NEVER,
        LITERAL_WITH_STATIC_NAME,
    },
    static_table::TABLE,
};

/// A field section of one stream; without [`Self::finish`] it is not valid.
#[derive(Debug)]
#[must_use]
pub struct FieldSection<'a> {
    encoder: &'a mut Encoder,
    stream: StreamId,
    block: &'a mut Vec<u8>,
    /// Where it begins in `block`.
    start: usize,
}

impl<'a> FieldSection<'a> {
    #[inline]
    pub(super) fn new(encoder: &'a mut Encoder, stream: StreamId, block: &'a mut Vec<u8>) -> Self {
        let start = block.len();
        block.extend_from_slice(&[0; 2]);
        Self { encoder, stream, block, start }
    }

    /// Appends `:status`.
    #[inline]
    pub fn encode_status(&mut self, status: StatusCode) {
        if status == StatusCode::OK {
            return self.block.push(INDEXED | INDEXED_STATIC | STATUS_OK);
        }
        self.encode_pseudo(Pseudo::Status, status.as_str().as_bytes());
    }

    /// Appends a pseudo-header field.
    pub fn encode_pseudo(&mut self, pseudo: Pseudo, value: &[u8]) {
        self.encode_any(Name::Pseudo(pseudo), pseudo.as_str().as_bytes(), value);
    }

    /// Appends a field; its name is written in lower case (RFC 9114 §4.2). `known` is its name's [`KnownHeader`], if it
    /// has one.
    #[inline]
    pub fn encode(&mut self, name: &[u8], known: Option<KnownHeader>, value: &[u8]) {
        match known {
            Some(known) => self.encode_any(Name::Known(known), name, value),
            None => self.encode_any(Name::Other, name, value),
        }
    }

    /// Appends all fields of a list.
    pub fn encode_headers(&mut self, headers: &Headers) {
        for (name, known, value) in headers.iter_known() {
            self.encode(name, known, value);
        }
    }

    fn encode_any(&mut self, kind: Name, name: &[u8], value: &[u8]) {
        if let Some(index) = TABLE.find_field(kind, name, value) {
            return integer::encode::<6>(index, INDEXED | INDEXED_STATIC, self.block);
        }
        let never = policy::of(kind, value) == Policy::Never;
        match TABLE.find_name(kind, name) {
            Some(index) => {
                let never = if never { LITERAL_WITH_NAME_NEVER } else { 0 };
                integer::encode::<4>(index, LITERAL_WITH_NAME | LITERAL_WITH_STATIC_NAME | never, self.block);
            }
            None => {
                let never = if never { LITERAL_NEVER } else { 0 };
                write_text_prefixed::<3>(LITERAL | never, name.iter().map(u8::to_ascii_lowercase), self.block);
            }
        }
        write_text(value.iter().copied(), self.block);
    }

    /// Writes the prefix. The section is what stands in the block behind where it began.
    pub fn finish(self) {
        let _ = (self.encoder, self.stream, self.start, Prefix { required: 0, base: 0 });
    }
}

/// RFC 9204, Appendix A: the index of `:status: 200`.
const STATUS_OK: u8 = 25;
