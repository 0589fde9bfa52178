//! The layout of the table: a header, buckets with a link each, and behind them the entries.
//!
//! All numbers are in the byte order of the machine, and aligned to eight bytes, except links.

use serow_net::{OutsideError, SharedMemory};

use super::table::{Entry, Fault};

/// The header of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// The keys of the hash of names, with which clients cannot choose names of one bucket.
    pub(super) keys: [u64; 2],
    /// Where the next entry begins.
    pub(super) end: usize,
    /// The size of all entries, as the limit counts it.
    pub(super) live: usize,
    /// The bytes that removed entries still occupy.
    pub(super) dead: usize,
    /// No entry expires earlier.
    pub(super) next_expiry: f64,
    /// When expired entries were last removed.
    pub(super) swept: f64,
}

impl Header {
    /// That of an empty table.
    pub(super) fn new(keys: [u64; 2]) -> Self {
        Self { keys, end: ENTRIES, live: 0, dead: 0, next_expiry: f64::INFINITY, swept: f64::NEG_INFINITY }
    }

    /// Reads it; `None` if nothing was ever written.
    pub(super) fn read(memory: &SharedMemory) -> Result<Option<Self>, Fault> {
        let words: [u64; HEADER_WORDS] = read_words(memory, 0)?;
        let [format, changing, key, other_key, end, live, dead, next_expiry, swept] = words;
        if words == [0; HEADER_WORDS] {
            return Ok(None);
        }
        if changing != 0 {
            return Err(Fault::Interrupted);
        }
        let (end, live, dead) = (length(end)?, length(live)?, length(dead)?);
        let room = end.checked_sub(ENTRIES).ok_or(Fault::Invalid)?;
        let is_valid = format == FORMAT
            && end <= memory.length()
            && end.is_multiple_of(ALIGNMENT)
            && live <= MAX_BYTES
            && dead <= room;
        if !is_valid {
            return Err(Fault::Invalid);
        }
        let (next_expiry, swept) = (f64::from_bits(next_expiry), f64::from_bits(swept));
        Ok(Some(Self { keys: [key, other_key], end, live, dead, next_expiry, swept }))
    }

    /// Writes it, except the mark of a change.
    pub(super) fn write(&self, memory: &SharedMemory) -> Result<(), OutsideError> {
        let Self { keys: [key, other_key], end, live, dead, next_expiry, swept } = *self;
        let numbers = [key, other_key, end as u64, live as u64, dead as u64, next_expiry.to_bits(), swept.to_bits()];
        write_words(memory, FORMAT_PLACE, &[FORMAT])?;
        write_words(memory, CHANGING_PLACE + ALIGNMENT, &numbers)
    }
}

/// Marks the table as being changed, or as complete.
pub(super) fn mark(memory: &SharedMemory, is_changing: bool) -> Result<(), OutsideError> {
    write_words(memory, CHANGING_PLACE, &[u64::from(is_changing)])
}

/// Whether the memory is empty or has a table of this format, perhaps an invalid one.
pub(super) fn is_of_this_format(memory: &SharedMemory) -> bool {
    let format = read_words::<1>(memory, FORMAT_PLACE);
    memory.length() >= MEMORY_BYTES
        && format.is_ok_and(|[format]| format ^ FORMAT > u64::from(u8::MAX) || format == FORMAT)
}

/// The fixed part of an entry; its name follows, and its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryHead {
    /// Where the entry begins.
    pub(super) offset: usize,
    /// Bytes from there to the next entry.
    pub(super) slot: usize,
    /// The next entry of the bucket, or 0.
    pub(super) next: u32,
    pub(super) kind: Kind,
    pub(super) name_length: usize,
    /// When it ends: infinite without a lifetime.
    pub(super) expires: f64,
    /// The bits of a number, or the length of a text.
    pub(super) value: u64,
    /// That of the name.
    pub(super) hash: u64,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Removed,
    Number,
    Text,
}

impl EntryHead {
    /// That of a new entry, which has no place yet.
    pub(super) fn new(name: &[u8], entry: &Entry, expires: f64, hash: u64) -> Self {
        let text = entry.text().len();
        let (kind, value) = match entry {
            Entry::Number(number) => (Kind::Number, number.to_bits()),
            Entry::Text(_) => (Kind::Text, text as u64),
        };
        let slot = (HEAD_BYTES + name.len() + text).next_multiple_of(ALIGNMENT);
        Self { offset: 0, slot, next: 0, kind, name_length: name.len(), expires, value, hash }
    }

    /// Reads and checks that of the entry at this offset: all of it is before the end of the entries.
    pub(super) fn read(memory: &SharedMemory, offset: usize, end: usize) -> Result<Self, Fault> {
        if offset < ENTRIES || !offset.is_multiple_of(ALIGNMENT) {
            return Err(Fault::Invalid);
        }
        let [places, kind, expires, value, hash] = read_words(memory, offset)?;
        let (slot, next) = halves(places);
        let (kind, name_length) = halves(kind);
        let kind = match kind {
            0 => Kind::Removed,
            1 => Kind::Number,
            2 => Kind::Text,
            _ => return Err(Fault::Invalid),
        };
        let (slot, name_length) = (slot as usize, name_length as usize);
        let head = Self { offset, slot, next, kind, name_length, expires: f64::from_bits(expires), value, hash };
        let used =
            HEAD_BYTES.checked_add(name_length).zip(head.text_length()).and_then(|(one, other)| one.checked_add(other));
        let is_within = offset.checked_add(slot).is_some_and(|next| next <= end);
        let is_valid = is_within && slot.is_multiple_of(ALIGNMENT) && used.is_some_and(|used| used <= slot);
        if is_valid { Ok(head) } else { Err(Fault::Invalid) }
    }

    pub(super) fn write(&self, memory: &SharedMemory) -> Result<(), OutsideError> {
        let kind = match self.kind {
            Kind::Removed => 0,
            Kind::Number => 1,
            Kind::Text => 2,
        };
        let (places, kind) = (joined(self.slot as u32, self.next), joined(kind, self.name_length as u32));
        write_words(memory, self.offset, &[places, kind, self.expires.to_bits(), self.value, self.hash])
    }

    /// `None` if it is longer than any memory.
    fn text_length(&self) -> Option<usize> {
        if self.kind == Kind::Text { usize::try_from(self.value).ok() } else { Some(0) }
    }

    /// The size of the entry, as the limit counts it.
    pub(super) fn size(&self) -> usize {
        ENTRY_BYTES + self.name_length + self.text_length().unwrap_or(usize::MAX / 2)
    }

    pub(super) fn is_alive(&self, now: f64) -> bool {
        self.kind != Kind::Removed && now < self.expires
    }

    pub(super) fn name_place(&self) -> usize {
        self.offset + HEAD_BYTES
    }

    pub(super) fn text_place(&self) -> usize {
        self.name_place() + self.name_length
    }

    /// Where the link to the next entry of the bucket is.
    pub(super) fn next_place(&self) -> usize {
        self.offset + LINK_IN_WORD
    }

    pub(super) fn value_place(&self) -> usize {
        self.offset + 3 * ALIGNMENT
    }
}

/// Where the link of a bucket is.
pub(super) fn bucket_place(hash: u64) -> usize {
    HEADER_BYTES + hash as usize % BUCKETS * LINK_BYTES
}

pub(super) fn read_link(memory: &SharedMemory, place: usize) -> Result<u32, OutsideError> {
    let mut link = [0; LINK_BYTES];
    memory.read(place, &mut link)?;
    Ok(u32::from_ne_bytes(link))
}

pub(super) fn write_link(memory: &SharedMemory, place: usize, link: u32) -> Result<(), OutsideError> {
    memory.write(place, &link.to_ne_bytes())
}

/// Empties all buckets.
pub(super) fn empty_buckets(memory: &SharedMemory) -> Result<(), OutsideError> {
    let zeros = [0; 4096];
    (HEADER_BYTES..ENTRIES).step_by(zeros.len()).try_for_each(|place| memory.write(place, &zeros))
}

pub(super) fn write_words(memory: &SharedMemory, place: usize, words: &[u64]) -> Result<(), OutsideError> {
    let mut words = words.iter().enumerate();
    words.try_for_each(|(index, word)| memory.write(place + index * ALIGNMENT, &word.to_ne_bytes()))
}

fn read_words<const COUNT: usize>(memory: &SharedMemory, place: usize) -> Result<[u64; COUNT], OutsideError> {
    let mut words = [[0; ALIGNMENT]; COUNT];
    memory.read(place, words.as_flattened_mut())?;
    Ok(words.map(u64::from_ne_bytes))
}

/// Both halves of a word, the first in memory first.
fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

fn joined(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

fn length(number: u64) -> Result<usize, Fault> {
    usize::try_from(number).map_err(|_| Fault::Invalid)
}

/// The size of all entries: as much as one state of a script may have.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// The bytes that the limit counts for an entry beside its name and text: more than it takes here, since the limit
/// stays the same when the layout changes.
pub(super) const ENTRY_BYTES: usize = 96;

/// So many removed bytes are not worth a compaction.
pub(super) const SLACK: usize = 1 << 20;

/// A table is compacted when removed entries occupy more than the others and the slack, so that each byte is moved once
/// on average; hence twice the limit.
pub(crate) const MEMORY_BYTES: usize = ENTRIES + 2 * MAX_BYTES + SLACK;

/// The limit has room for 174,762 entries: 1.3 in a bucket.
pub(super) const BUCKETS: usize = 1 << 17;

/// How the table is laid out; another layout or limit gets another last byte.
const FORMAT: u64 = u64::from_be_bytes(*b"SerowSD\x01");

const FORMAT_PLACE: usize = 0;
const CHANGING_PLACE: usize = ALIGNMENT;
const HEADER_WORDS: usize = 9;
/// A page.
const HEADER_BYTES: usize = 4096;
/// Where entries begin.
pub(super) const ENTRIES: usize = HEADER_BYTES + BUCKETS * LINK_BYTES;
const HEAD_BYTES: usize = 5 * ALIGNMENT;
const LINK_BYTES: usize = size_of::<u32>();
/// In the first word of an entry, behind its length.
const LINK_IN_WORD: usize = LINK_BYTES;
const ALIGNMENT: usize = size_of::<u64>();
