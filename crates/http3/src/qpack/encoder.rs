//! The encoder's end of the dynamic table (RFC 9204 §2.1).

use alloc::vec::Vec;

use serow_streams::{
    StreamId,
    compression::{DynamicTable, Hash, Recent, integer, write_text, write_text_prefixed},
    fields::Name,
};

use super::{
    DecoderStreamError, FieldSection,
    acknowledgement::{Acknowledgement, Acknowledgements},
    instruction::{DUPLICATE, INSERT, INSERT_WITH_NAME, SET_CAPACITY, STATIC_NAME},
    prefix::Prefix,
    static_table::TABLE,
    unacknowledged::{Section, Unacknowledged},
};

/// Encodes the field sections of one direction of a connection.
///
/// When a stream is reset on which sections were sent, there is nothing to do here: what they refer to stays in the
/// table until the peer acknowledges them or cancels the stream (RFC 9204 §2.2.2.2), and it has to do either.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    recent: Recent,
    /// The peer's SETTINGS_QPACK_MAX_TABLE_CAPACITY, which prefixes depend on.
    announced: usize,
    /// The peer's SETTINGS_QPACK_BLOCKED_STREAMS.
    blocked: usize,
    /// How many entries were ever added.
    inserted: u64,
    /// How many of them the peer is known to have: the Known Received Count (RFC 9204 §2.1.4).
    known: u64,
    sections: Unacknowledged,
    acknowledgements: Acknowledgements,
    /// Instructions for the encoder stream. Entries that the peer has not acknowledged are not evicted, so that it holds
    /// those of one table at most.
    output: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// It uses the static table only, until the peer's settings arrive; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            table: DynamicTable::new(0),
            recent: Recent::new(),
            announced: 0,
            blocked: 0,
            inserted: 0,
            known: 0,
            sections: Unacknowledged::new(),
            acknowledgements: Acknowledgements::new(),
            output: Vec::new(),
        }
    }

    /// The peer's SETTINGS_QPACK_MAX_TABLE_CAPACITY, in bytes, and SETTINGS_QPACK_BLOCKED_STREAMS. The table has 4,096
    /// bytes at most, whatever the peer allows.
    ///
    /// Where settings of an earlier connection were used for 0-RTT, the capacity cannot change any more (RFC 9204
    /// §3.2.3): once the table has entries, only `blocked` is taken.
    pub fn set_limits(&mut self, capacity: usize, blocked: usize) {
        self.blocked = blocked;
        if self.inserted == 0 {
            self.announced = capacity;
            self.table.set_capacity(capacity.min(MAX_CAPACITY));
        }
    }

    /// Gives back memory that is kept for the next section; the table stays.
    pub fn release_memory(&mut self) {
        self.output.shrink_to_fit();
        self.sections.release_memory();
    }

    /// Begins a field section of a stream, which is appended to `block`: encode its fields, in their order, then
    /// [finish](FieldSection::finish) it.
    ///
    /// It may depend on instructions for the encoder stream: see [`Self::write`].
    #[inline]
    pub fn begin<'a>(&'a mut self, stream: StreamId, block: &'a mut Vec<u8>) -> FieldSection<'a> {
        FieldSection::new(self, stream, block)
    }

    /// Whether there is something to send on the encoder stream.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Appends what is to be sent on the encoder stream, before the sections that were encoded last, which may refer to
    /// it. The caller asks only for what flow control lets it send (RFC 9204 §2.1.3): while more than some hundred bytes
    /// wait here, sections refer to no entry that the peer does not have, so that they cannot wait for each other.
    pub fn write(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }

    /// Takes the next bytes of the peer's decoder stream, in pieces of any length.
    ///
    /// # Errors
    ///
    /// After an error the encoder is of no more use, and neither is the connection.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), DecoderStreamError> {
        let mut rest = bytes;
        while let Some(instruction) = self.acknowledgements.next(&mut rest)? {
            match instruction {
                Acknowledgement::Section(stream) => {
                    let required = self.sections.acknowledge(stream).ok_or(DecoderStreamError::Acknowledgement)?;
                    self.known = self.known.max(required);
                }
                Acknowledgement::Cancellation(stream) => self.sections.cancel(stream),
                Acknowledgement::Increment(count) => {
                    if count == 0 || count > self.inserted - self.known {
                        return Err(DecoderStreamError::Increment);
                    }
                    self.known += count;
                }
            }
        }
        Ok(())
    }

    /// How many entries were ever added.
    #[inline]
    pub(super) fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Whether another section of a stream may refer to the table.
    #[inline]
    pub(super) fn may_refer(&self, stream: StreamId) -> bool {
        self.table.capacity() > 0 && self.sections.has_room(stream)
    }

    /// Whether the peer is known to have an entry.
    #[inline]
    pub(super) fn is_known(&self, absolute: u64) -> bool {
        absolute < self.known
    }

    /// Whether a section of this stream may refer to entries that the peer is not known to have.
    pub(super) fn may_block(&self, stream: StreamId) -> bool {
        self.output.len() <= MAX_UNSENT && self.sections.may_block(stream, self.known, self.blocked)
    }

    /// A section was encoded.
    #[inline]
    pub(super) fn finish_section(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// The prefix of a section.
    pub(super) fn write_prefix(&self, prefix: Prefix, block: &mut Vec<u8>) {
        prefix.encode(self.announced, block);
    }

    /// The absolute index of the last entry with this well-known name, if it has this value.
    #[inline]
    pub(super) fn find_known(&self, kind: Name, value: &[u8]) -> Option<u64> {
        let newer = self.newer_than(self.recent.find_name(Hash::of_name(kind, b"")));
        self.table.is_known(newer, kind, value).then(|| self.absolute(newer))
    }

    /// The absolute index of the last entry with this name.
    pub(super) fn find_name(&self, kind: Name, name: &[u8], hash: Hash) -> Option<u64> {
        let newer = self.newer_than(self.recent.find_name(hash));
        let line = self.table.get(newer)?;
        line.is_named(kind, name).then(|| self.absolute(newer))
    }

    /// The absolute indexes of the newest entry of this field, and of the newest that the peer is known to have.
    pub(super) fn find_field(&self, kind: Name, name: &[u8], value: &[u8], hashes: Hashes) -> Option<(u64, u64)> {
        let numbers = self.recent.find_field(hashes.field).into_iter();
        let places = numbers.map(|number| self.newer_than(number));
        let mut entries =
            places.filter(|newer| self.table.is(*newer, kind, name, value)).map(|newer| self.absolute(newer));
        let newest = entries.next()?;
        let known = if self.is_known(newest) { None } else { entries.find(|absolute| self.is_known(*absolute)) };
        Some((newest, known.unwrap_or(newest)))
    }

    /// From now on this entry is the one to look at first for its name.
    pub(super) fn note_name(&mut self, absolute: u64, hashes: Hashes) {
        self.recent.note_name(hashes.name, absolute as u16);
    }

    /// Whether a field of this hash came before, not long ago; from now on it did.
    pub(super) fn is_repeated(&mut self, hashes: Hashes) -> bool {
        self.recent.is_repeated(hashes.field)
    }

    /// Adds an entry, if it has room; `oldest` is the first that the current section refers to.
    pub(super) fn insert(&mut self, kind: Name, name: &[u8], value: &[u8], hashes: Hashes, oldest: u64) -> Option<u64> {
        let text = name.len() + value.len();
        if text > self.table.capacity() / SHARE || !self.table.has_room(text, self.evictable(oldest)) {
            return None;
        }
        if self.inserted == 0 {
            integer::encode::<5>(self.table.capacity(), SET_CAPACITY, &mut self.output);
        }
        if let Some(index) = TABLE.find_name(kind, name) {
            integer::encode::<6>(index, INSERT_WITH_NAME | STATIC_NAME, &mut self.output);
        } else if let Some(absolute) = self.find_name(kind, name, hashes.name) {
            integer::encode_long::<6>(self.inserted - 1 - absolute, INSERT_WITH_NAME, &mut self.output);
        } else {
            write_text_prefixed::<5>(INSERT, name.iter().map(u8::to_ascii_lowercase), &mut self.output);
        }
        write_text(value.iter().copied(), &mut self.output);
        // Only a decoder needs the error of a field.
        self.table.insert(kind, name, value, None);
        if kind == Name::Other {
            self.table.lower_newest_name();
        }
        Some(self.note_insert(hashes))
    }

    /// Whether an entry is among the next that leave the table: a reference would keep them, and with them what should
    /// leave (RFC 9204 §2.1.1.1).
    #[inline]
    pub(super) fn is_old(&self, absolute: u64) -> bool {
        let newer = (self.inserted - 1 - absolute) as usize;
        newer >= self.table.len() - self.table.len() / OLD && !self.table.has_room(self.table.capacity() / OLD, 0)
    }

    /// Adds a copy of an entry, if it has room; `oldest` is the first that the current section refers to.
    pub(super) fn duplicate(&mut self, absolute: u64, hashes: Hashes, oldest: u64) -> Option<u64> {
        let newer = (self.inserted - 1 - absolute) as usize;
        let line = self.table.get(newer)?;
        if !self.table.has_room(line.name.len() + line.value.len(), self.evictable(oldest)) {
            return None;
        }
        integer::encode::<5>(newer, DUPLICATE, &mut self.output);
        self.table.duplicate(newer);
        Some(self.note_insert(hashes))
    }

    /// Notes the entry that was added last; gives its absolute index.
    fn note_insert(&mut self, hashes: Hashes) -> u64 {
        let absolute = self.inserted;
        self.recent.note_name(hashes.name, absolute as u16);
        self.recent.note_field(hashes.field, absolute as u16);
        self.inserted += 1;
        absolute
    }

    /// How many of the oldest entries may be evicted: those that the peer has, and to which no section refers that it may
    /// have yet to decode (RFC 9204 §2.1.1).
    fn evictable(&self, oldest: u64) -> usize {
        let first = self.inserted - self.table.len() as u64;
        let kept = self.known.min(self.sections.oldest()).min(oldest);
        kept.saturating_sub(first) as usize
    }

    /// How many entries are newer than that of this number, if it is there.
    #[inline]
    fn newer_than(&self, number: u16) -> usize {
        usize::from((self.inserted as u16).wrapping_sub(number).wrapping_sub(1))
    }

    #[inline]
    fn absolute(&self, newer: usize) -> u64 {
        self.inserted - 1 - newer as u64
    }
}

/// The hashes of a field.
#[derive(Clone, Copy)]
pub(super) struct Hashes {
    pub(super) name: Hash,
    field: Hash,
}

impl Hashes {
    #[inline]
    pub(super) fn of(kind: Name, name: &[u8], value: &[u8]) -> Self {
        let name = Hash::of_name(kind, name);
        Self { name, field: name.with_value(value) }
    }
}

/// As the table of HPACK has at first: what it holds is gone after some dozens of messages either way.
const MAX_CAPACITY: usize = 4096;

/// Bytes that wait for flow control of the encoder stream, until sections stop depending on them: more than one message
/// adds as a rule.
const MAX_UNSENT: usize = 1024;

/// A field larger than this part of the table gets no entry, since it would push out most others.
const SHARE: usize = 2;

/// The oldest third of a full table is copied as it is referred to. A quarter makes the lists of qifs 1 % larger, a half
/// 2 %, no copies 2 % (6 % where streams must not be blocked).
const OLD: usize = 3;
