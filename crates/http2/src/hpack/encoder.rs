//! From fields to field blocks (RFC 7541 §3).

use alloc::vec::Vec;

use serow_message::{Headers, Known, StatusCode};

use super::{
    DEFAULT_CAPACITY,
    dynamic_table::DynamicTable,
    huffman, integer,
    name::{Name, Pseudo},
    policy::{self, Policy},
    recent::{Hash, Recent},
    static_table,
};

/// Encodes the field blocks of one direction of a connection, in their order.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    recent: Recent,
    /// How many entries were ever added, modulo 2¹⁶.
    inserted: u16,
    update: Option<SizeUpdate>,
}

/// What the peer is told at the next block (RFC 7541 §4.2).
#[derive(Clone, Copy, Debug)]
struct SizeUpdate {
    /// The smallest size since the last block.
    smallest: usize,
    last: usize,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// Its table has 4,096 bytes at most, which the peer allows until it says otherwise.
    #[must_use]
    pub const fn new() -> Self {
        Self { table: DynamicTable::new(DEFAULT_CAPACITY), recent: Recent::new(), inserted: 0, update: None }
    }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE. The table follows it, but is never larger than ours; the peer is told at the
    /// next block.
    pub fn set_capacity(&mut self, capacity: usize) {
        let last = capacity.min(DEFAULT_CAPACITY);
        if last == self.table.capacity() && self.update.is_none() {
            return;
        }
        let smallest = self.update.map_or(last, |update| update.smallest.min(last));
        self.update = Some(SizeUpdate { smallest, last });
        self.table.set_capacity(last);
    }

    /// Appends `:status`.
    pub fn encode_status(&mut self, status: StatusCode, block: &mut Vec<u8>) {
        self.encode_pseudo(Pseudo::Status, status.as_str().as_bytes(), block);
    }

    /// Appends a pseudo-header field.
    pub fn encode_pseudo(&mut self, pseudo: Pseudo, value: &[u8], block: &mut Vec<u8>) {
        self.encode_field(Name::Pseudo(pseudo), pseudo.as_str().as_bytes(), value, block);
    }

    /// Appends a field; its name is written in lower case (RFC 9113 §8.2.1). `known` is its name's [`Known`], if it has one.
    pub fn encode(&mut self, name: &[u8], known: Option<Known>, value: &[u8], block: &mut Vec<u8>) {
        match known {
            Some(known) => self.encode_field(Name::Known(known), known.as_str().as_bytes(), value, block),
            None => self.encode_field(Name::Other, name, value, block),
        }
    }

    /// Appends all fields of a list.
    pub fn encode_headers(&mut self, headers: &Headers, block: &mut Vec<u8>) {
        for (name, known, value) in headers.iter_known() {
            self.encode(name, known, value, block);
        }
    }

    fn encode_field(&mut self, kind: Name, name: &[u8], value: &[u8], block: &mut Vec<u8>) {
        if let Some(update) = self.update.take() {
            write_update(update, block);
        }
        let static_name = static_table::index_of_name(kind, name);
        if let Some(index) = static_name.and_then(|index| static_field(index, kind, value)) {
            return integer::encode::<7>(index, INDEXED, block);
        }
        let name_hash = Hash::of_name(kind, name);
        let named = self.find(name_hash, kind, name);
        if let Some(index) = named.filter(|index| self.has_value(*index, value)) {
            return integer::encode::<7>(index, INDEXED, block);
        }
        let policy = policy::of(kind, value);
        let name_index = static_name.or(named);
        if policy == Policy::Never {
            return write_literal(integer::encode::<4>, NEVER_INDEXED, name_index, name, value, block);
        }
        let hash = name_hash.with_value(value);
        if let Some(index) = self.find(hash, kind, name).filter(|index| self.has_value(*index, value)) {
            self.recent.note(name_hash, self.inserted.wrapping_sub((index - static_table::COUNT) as u16));
            return integer::encode::<7>(index, INDEXED, block);
        }
        let fits = name.len() + value.len() <= self.table.capacity() / SHARE;
        if !fits || policy == Policy::IndexRepeated && !self.recent.is_repeated(hash) {
            return write_literal(integer::encode::<4>, NOT_INDEXED, name_index, name, value, block);
        }
        write_literal(integer::encode::<6>, WITH_INDEXING, name_index, name, value, block);
        self.insert(kind, name, value, [name_hash, hash]);
    }

    /// The index of the entry of this hash, if it has this name.
    fn find(&self, hash: Hash, kind: Name, name: &[u8]) -> Option<usize> {
        let newer = self.inserted.wrapping_sub(self.recent.find(hash)?).wrapping_sub(1);
        let line = self.table.get(usize::from(newer))?;
        let same = line.name_kind == kind && (kind != Name::Other || line.name.eq_ignore_ascii_case(name));
        same.then_some(static_table::COUNT + 1 + usize::from(newer))
    }

    fn has_value(&self, index: usize, value: &[u8]) -> bool {
        self.table.get(index - static_table::COUNT - 1).is_some_and(|line| line.value == value)
    }

    fn insert(&mut self, kind: Name, name: &[u8], value: &[u8], hashes: [Hash; 2]) {
        if !self.table.insert(kind, name, value) {
            return;
        }
        if kind == Name::Other {
            self.table.lower_newest_name();
        }
        for hash in hashes {
            self.recent.note(hash, self.inserted);
        }
        self.inserted = self.inserted.wrapping_add(1);
    }
}

/// The index of the static entry with this name, of which the first is given, and this value.
#[inline]
fn static_field(first: usize, kind: Name, value: &[u8]) -> Option<usize> {
    let entries = static_table::ENTRIES[first - 1..].iter().take_while(|entry| entry.name_kind == kind);
    entries.zip(first..).find(|(entry, _)| entry.value == value).map(|(_, index)| index)
}

#[cold]
fn write_update(update: SizeUpdate, block: &mut Vec<u8>) {
    if update.smallest < update.last {
        integer::encode::<5>(update.smallest, SIZE_UPDATE, block);
    }
    integer::encode::<5>(update.last, SIZE_UPDATE, block);
}

/// Writes a literal (RFC 7541 §6.2).
#[inline]
fn write_literal(
    write_index: impl Fn(usize, u8, &mut Vec<u8>),
    pattern: u8,
    name_index: Option<usize>,
    name: &[u8],
    value: &[u8],
    block: &mut Vec<u8>,
) {
    write_index(name_index.unwrap_or(0), pattern, block);
    if name_index.is_none() {
        write_text(name.iter().map(u8::to_ascii_lowercase), block);
    }
    write_text(value.iter().copied(), block);
}

/// Writes a string (RFC 7541 §5.2), in Huffman code where that is shorter.
fn write_text(text: impl ExactSizeIterator<Item = u8> + Clone, block: &mut Vec<u8>) {
    let length = huffman::encoded_length(text.clone());
    if length < text.len() {
        integer::encode::<7>(length, HUFFMAN, block);
        huffman::encode(text, block);
    } else {
        integer::encode::<7>(text.len(), 0, block);
        block.extend(text);
    }
}

/// RFC 7541 §6: how each kind of field begins.
const INDEXED: u8 = 0x80;
const WITH_INDEXING: u8 = 0x40;
const SIZE_UPDATE: u8 = 0x20;
const NEVER_INDEXED: u8 = 0x10;
const NOT_INDEXED: u8 = 0x00;

/// RFC 7541 §5.2: the bit that says that a string is in Huffman code.
const HUFFMAN: u8 = 0x80;

/// A field larger than this part of the table gets no entry, since it would push out most others.
const SHARE: usize = 2;
