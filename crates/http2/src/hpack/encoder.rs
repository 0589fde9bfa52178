//! From fields to field blocks (RFC 7541 §3).

use alloc::vec::Vec;

use serow_message::{Headers, KnownHeader, StatusCode};

use serow_streams::{
    compression::{
        DynamicTable, Hash, Recent, integer,
        policy::{self, Policy},
        write_text,
    },
    fields::{Name, Pseudo},
};

use super::{DEFAULT_CAPACITY, static_table};

/// Encodes the field blocks of one direction of a connection, in their order.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    recent: Recent,
    /// How many entries were ever added, modulo 2¹⁶.
    inserted: u16,
    update: Option<SizeUpdate>,
}

/// The size updates to send with the next block (RFC 7541 §4.2).
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

    /// The peer's SETTINGS_HEADER_TABLE_SIZE. The table follows it, but is never larger than ours; the next block
    /// contains the size update.
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
        if status == StatusCode::OK {
            self.write_update(block);
            return block.push(INDEXED | STATUS_OK);
        }
        self.encode_pseudo(Pseudo::Status, status.as_str().as_bytes(), block);
    }

    /// Appends a pseudo-header field.
    pub fn encode_pseudo(&mut self, pseudo: Pseudo, value: &[u8], block: &mut Vec<u8>) {
        self.write_update(block);
        // Most are in the static table.
        match static_table::index_of_field(Name::Pseudo(pseudo), value) {
            Some(index) => block.push(INDEXED | index),
            None => self.encode_known(Name::Pseudo(pseudo), value, block),
        }
    }

    /// Appends a field; its name is written in lower case (RFC 9113 §8.2.1). `known` is its name's [`KnownHeader`], if
    /// it has one.
    #[inline]
    pub fn encode(&mut self, name: &[u8], known: Option<KnownHeader>, value: &[u8], block: &mut Vec<u8>) {
        self.write_update(block);
        match known {
            Some(known) => self.encode_known(Name::Known(known), value, block),
            None => self.encode_any(Name::Other, name, value, block),
        }
    }

    /// Appends all fields of a list.
    pub fn encode_headers(&mut self, headers: &Headers, block: &mut Vec<u8>) {
        for (name, known, value) in headers.iter_known() {
            self.encode(name, known, value, block);
        }
    }

    /// Appends a field of a well-known name. Most often its value is the one that was last sent with this name.
    #[inline]
    fn encode_known(&mut self, kind: Name, value: &[u8], block: &mut Vec<u8>) {
        let last = self.newer_than(self.recent.find_name(Hash::of_name(kind, b"")));
        if self.table.is_known(last, kind, value) {
            integer::encode::<7>(FIRST_DYNAMIC + last, INDEXED, block);
        } else {
            self.encode_any(kind, kind.text().as_bytes(), value, block);
        }
    }

    /// Appends any field.
    #[inline(never)]
    fn encode_any(&mut self, kind: Name, name: &[u8], value: &[u8], block: &mut Vec<u8>) {
        let name_hash = Hash::of_name(kind, name);
        if let Some(index) = static_table::index_of_field(kind, value) {
            return block.push(INDEXED | index);
        }
        let policy = policy::of(kind, value);
        let name_index = static_table::index_of_name(kind, name).or_else(|| self.index_of_name(kind, name, name_hash));
        if policy == Policy::Never {
            return write_literal(integer::encode::<4>, NEVER_INDEXED, name_index, name, value, block);
        }
        let hash = name_hash.with_value(value);
        for number in self.recent.find_field(hash) {
            let newer = self.newer_than(number);
            if self.table.is(newer, kind, name, value) {
                self.recent.note_name(name_hash, number);
                return integer::encode::<7>(FIRST_DYNAMIC + newer, INDEXED, block);
            }
        }
        let fits = name.len() + value.len() <= self.table.capacity() / SHARE;
        if !fits || policy == Policy::IndexRepeated && !self.recent.is_repeated(hash) {
            return write_literal(integer::encode::<4>, NOT_INDEXED, name_index, name, value, block);
        }
        write_literal(integer::encode::<6>, WITH_INDEXING, name_index, name, value, block);
        // Only a decoder needs the error of a field.
        if self.table.insert(kind, name, value, None) {
            if kind == Name::Other {
                self.table.lower_newest_name();
            }
            self.recent.note_name(name_hash, self.inserted);
            self.recent.note_field(hash, self.inserted);
            self.inserted = self.inserted.wrapping_add(1);
        }
    }

    /// How many entries are newer than that of this number, if it is there.
    #[inline]
    fn newer_than(&self, number: u16) -> usize {
        usize::from(self.inserted.wrapping_sub(number).wrapping_sub(1))
    }

    /// The index of the last entry with this name.
    fn index_of_name(&self, kind: Name, name: &[u8], hash: Hash) -> Option<usize> {
        let newer = self.newer_than(self.recent.find_name(hash));
        let line = self.table.get(newer)?;
        line.is_named(kind, name).then_some(FIRST_DYNAMIC + newer)
    }

    #[inline]
    fn write_update(&mut self, block: &mut Vec<u8>) {
        if let Some(update) = self.update {
            update.write(block);
            self.update = None;
        }
    }
}

impl SizeUpdate {
    #[cold]
    fn write(self, block: &mut Vec<u8>) {
        if self.smallest < self.last {
            integer::encode::<5>(self.smallest, SIZE_UPDATE, block);
        }
        integer::encode::<5>(self.last, SIZE_UPDATE, block);
    }
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

/// RFC 7541, Appendix A: the index of `:status: 200`.
const STATUS_OK: u8 = 8;

/// RFC 7541 §2.3.3: the index of the newest entry.
const FIRST_DYNAMIC: usize = static_table::COUNT + 1;

/// RFC 7541 §6: how each kind of field begins.
const INDEXED: u8 = 0x80;
const WITH_INDEXING: u8 = 0x40;
const SIZE_UPDATE: u8 = 0x20;
const NEVER_INDEXED: u8 = 0x10;
const NOT_INDEXED: u8 = 0x00;

/// A field larger than this part of the table gets no entry, since it would push out most others.
const SHARE: usize = 2;
