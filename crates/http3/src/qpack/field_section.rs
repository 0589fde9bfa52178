//! A field section that is being encoded (RFC 9204 §4.5).

use alloc::vec::Vec;

use serow_message::{Headers, KnownHeader, StatusCode};
use serow_streams::{
    StreamId,
    compression::{
        Hash, integer,
        policy::{self, Policy},
        write_text, write_text_prefixed,
    },
    fields::{Name, Pseudo},
};

use super::{
    Encoder,
    encoder::Hashes,
    prefix::Prefix,
    representation::{
        INDEXED, INDEXED_STATIC, LITERAL, LITERAL_NEVER, LITERAL_POST_BASE, LITERAL_POST_BASE_NEVER, LITERAL_WITH_NAME,
        LITERAL_WITH_NAME_NEVER, LITERAL_WITH_STATIC_NAME, POST_BASE,
    },
    static_table::TABLE,
    unacknowledged::Section,
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
    /// How many entries there were when it began.
    base: u64,
    /// One more than the absolute index of the newest entry that it refers to.
    required: u64,
    /// The absolute index of the oldest entry that it refers to.
    oldest: u64,
    /// Whether it may refer to the table.
    may_refer: bool,
    /// Whether it may refer to entries that the peer is not known to have, once somebody has asked.
    may_block: Option<bool>,
}

impl<'a> FieldSection<'a> {
    #[inline]
    pub(super) fn new(encoder: &'a mut Encoder, stream: StreamId, block: &'a mut Vec<u8>) -> Self {
        let start = block.len();
        block.extend_from_slice(&[0; USUAL_PREFIX]);
        let (base, may_refer) = (encoder.inserted(), encoder.may_refer(stream));
        Self { encoder, stream, block, start, base, required: 0, oldest: u64::MAX, may_refer, may_block: None }
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
        self.encode_known(Name::Pseudo(pseudo), value);
    }

    /// Appends a field; its name is written in lower case (RFC 9114 §4.2). `known` is its name's [`KnownHeader`], if it
    /// has one.
    #[inline]
    pub fn encode(&mut self, name: &[u8], known: Option<KnownHeader>, value: &[u8]) {
        match known {
            Some(known) => self.encode_known(Name::Known(known), value),
            None => self.encode_any(Name::Other, name, value),
        }
    }

    /// Appends all fields of a list.
    pub fn encode_headers(&mut self, headers: &Headers) {
        for (name, known, value) in headers.iter_known() {
            self.encode(name, known, value);
        }
    }

    /// Appends a field of a well-known name. Most often its value is the one that was last sent with this name.
    #[inline]
    fn encode_known(&mut self, kind: Name, value: &[u8]) {
        match self.encoder.find_known(kind, value) {
            Some(absolute) if self.can_refer(absolute) && !self.encoder.is_old(absolute) => {
                self.write_reference(absolute)
            }
            _ => self.encode_any(kind, kind.text().as_bytes(), value),
        }
    }

    /// Appends any field.
    #[inline(never)]
    fn encode_any(&mut self, kind: Name, name: &[u8], value: &[u8]) {
        if let Some(index) = TABLE.find_field(kind, name, value) {
            return integer::encode::<6>(index, INDEXED | INDEXED_STATIC, self.block);
        }
        let policy = policy::of(kind, value);
        if policy == Policy::Never || !self.may_refer {
            return self.write_literal(kind, name, value, policy);
        }
        let hashes = Hashes::of(kind, name, value);
        let entry = match self.encoder.find_field(kind, name, value, hashes) {
            Some((newest, known)) => Some(self.renewed(newest, known, hashes)),
            None if self.is_worth_entry(kind, policy) || self.encoder.is_repeated(hashes) => {
                self.encoder.insert(kind, name, value, hashes, self.oldest)
            }
            None => None,
        };
        match entry {
            Some(absolute) if self.can_refer(absolute) => self.write_reference(absolute),
            _ => self.write_literal(kind, name, value, policy),
        }
    }

    /// Whether a field gets an entry when it comes for the first time. It does not where the section cannot refer to it
    /// yet, which would send it twice, nor if its name means nothing to us: what is in the table stays until the peer
    /// acknowledges it, so that an entry which was not worth it costs more than with HPACK.
    ///
    /// Tried with the lists of qifs, 714,850 bytes without a table. With one of 4,096 bytes, and acknowledgements before
    /// the next message: 218,000 bytes where 100 streams may be blocked (ls-qpack 212,000, nghttp3 234,000), 241,000
    /// where none may (ls-qpack 230,000, nghttp3 375,000). An entry for each unknown name makes them 250,000 and
    /// 241,000, an entry for what cannot be referred to yet 218,000 and 368,000.
    fn is_worth_entry(&mut self, kind: Name, policy: Policy) -> bool {
        policy == Policy::Index && kind != Name::Other && self.may_block()
    }

    /// The entry of a field to refer to: the newest; a copy of it if it is about to leave the table; or, while the
    /// section cannot refer to that, one that the peer has.
    fn renewed(&mut self, newest: u64, known: u64, hashes: Hashes) -> u64 {
        if !self.can_refer(newest) {
            return known;
        }
        self.encoder.note_name(newest, hashes);
        if !self.encoder.is_old(newest) {
            return newest;
        }
        let copy = self.encoder.duplicate(newest, hashes, self.oldest.min(newest));
        copy.filter(|copy| self.can_refer(*copy)).unwrap_or(newest)
    }

    /// Whether the section may refer to an entry: one that the peer has, or may wait for.
    #[inline]
    fn can_refer(&mut self, absolute: u64) -> bool {
        self.may_refer && (self.encoder.is_known(absolute) || self.may_block())
    }

    /// Whether the section may refer to entries that the peer is not known to have.
    fn may_block(&mut self) -> bool {
        *self.may_block.get_or_insert_with(|| self.encoder.may_block(self.stream))
    }

    /// Writes an indexed field line (RFC 9204 §4.5.2, §4.5.3).
    #[inline]
    fn write_reference(&mut self, absolute: u64) {
        self.note_reference(absolute);
        match absolute.checked_sub(self.base) {
            Some(index) => integer::encode_long::<4>(index, POST_BASE, self.block),
            None => integer::encode_long::<6>(self.base - 1 - absolute, INDEXED, self.block),
        }
    }

    #[inline]
    fn note_reference(&mut self, absolute: u64) {
        self.required = self.required.max(absolute + 1);
        self.oldest = self.oldest.min(absolute);
    }

    /// Writes a literal (RFC 9204 §4.5.4, §4.5.5, §4.5.6).
    fn write_literal(&mut self, kind: Name, name: &[u8], value: &[u8], policy: Policy) {
        let never = |bit| if policy == Policy::Never { bit } else { 0 };
        if let Some(index) = TABLE.find_name(kind, name) {
            let pattern = LITERAL_WITH_NAME | LITERAL_WITH_STATIC_NAME | never(LITERAL_WITH_NAME_NEVER);
            integer::encode::<4>(index, pattern, self.block);
        } else if let Some(absolute) = self.encoder.find_name(kind, name, Hash::of_name(kind, name))
            && self.can_refer(absolute)
        {
            self.note_reference(absolute);
            match absolute.checked_sub(self.base) {
                Some(index) => {
                    let pattern = LITERAL_POST_BASE | never(LITERAL_POST_BASE_NEVER);
                    integer::encode_long::<3>(index, pattern, self.block);
                }
                None => {
                    let pattern = LITERAL_WITH_NAME | never(LITERAL_WITH_NAME_NEVER);
                    integer::encode_long::<4>(self.base - 1 - absolute, pattern, self.block);
                }
            }
        } else {
            let pattern = LITERAL | never(LITERAL_NEVER);
            write_text_prefixed::<3>(pattern, name.iter().map(u8::to_ascii_lowercase), self.block);
        }
        write_text(value.iter().copied(), self.block);
    }

    /// Ends the section: it is what stands in the block from where it began.
    #[inline]
    pub fn finish(self) {
        // Without references the prefix has zeros only.
        if self.required > 0 {
            self.finish_with_references();
        }
    }

    fn finish_with_references(self) {
        let Self { encoder, stream, block, start, base, required, oldest, .. } = self;
        encoder.finish_section(Section { stream, required, oldest });
        // How long the prefix is, only its numbers tell. It is written behind the lines and moved in front of them.
        let end = block.len();
        encoder.write_prefix(Prefix { required, base }, block);
        let longer = block.len() - end - USUAL_PREFIX;
        block[start + USUAL_PREFIX..].rotate_right(longer);
        let end = block.len() - USUAL_PREFIX;
        block.copy_within(end.., start);
        block.truncate(end);
    }
}

/// The bytes of a prefix with two small numbers.
const USUAL_PREFIX: usize = 2;

/// RFC 9204, Appendix A: the index of `:status: 200`.
const STATUS_OK: u8 = 25;
