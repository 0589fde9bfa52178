//! The dynamic table (RFC 7541 §2.3.2, §4).
//!
//! The text of all entries stands in one piece of memory, one behind the other: new ones are added at its end, old ones
//! go from its front. When it is full, what is left is moved to the front, which costs less than wrapped entries would,
//! since everyone who looks at an entry needs it whole.

use alloc::{collections::VecDeque, vec::Vec};

use super::name::Name;

/// Entries, the newest of which has the lowest index.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// From the oldest on.
    entries: VecDeque<Entry>,
    text: Vec<u8>,
    /// How many bytes were ever removed from the front of `text`, modulo 2³².
    removed: u32,
    /// The sum of the entries' sizes (RFC 7541 §4.1).
    size: usize,
    capacity: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Of the bytes that ever were in `text`, the number of its first, modulo 2³².
    start: u32,
    name_length: u32,
    value_length: u32,
    name_kind: Name,
}

/// An entry, as one looks at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) name_kind: Name,
}

impl DynamicTable {
    pub(super) const fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), text: Vec::new(), removed: 0, size: 0, capacity }
    }

    /// The size it may have.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The entry of so many newer ones.
    #[inline]
    pub(super) fn get(&self, newer: usize) -> Option<Line<'_>> {
        let place = self.entries.len().checked_sub(newer + 1)?;
        let entry = self.entries.get(place)?;
        let text = &self.text[entry.start.wrapping_sub(self.removed) as usize..];
        let (name, rest) = text.split_at(entry.name_length as usize);
        Some(Line { name, value: &rest[..entry.value_length as usize], name_kind: entry.name_kind })
    }

    /// RFC 7541 §4.3.
    pub(super) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.evict(capacity);
        if self.entries.is_empty() {
            self.clear();
        }
    }

    /// Adds an entry; says whether it fitted.
    pub(super) fn insert(&mut self, name_kind: Name, name: &[u8], value: &[u8]) -> bool {
        if !self.make_room(name.len(), value.len()) {
            return false;
        }
        self.text.extend_from_slice(name);
        self.insert_value(name_kind, name.len(), value);
        true
    }

    /// Adds an entry with the name of another, which may have to leave for it (RFC 7541 §4.4).
    pub(super) fn insert_with_name_of(&mut self, newer: usize, value: &[u8]) {
        let Some(Line { name, name_kind, .. }) = self.get(newer) else { return };
        let length = name.len();
        if !self.make_room(length, value.len()) {
            return;
        }
        let place = self.entries.len() - 1 - newer;
        let start = self.entries[place].start.wrapping_sub(self.removed) as usize;
        self.text.extend_from_within(start..start + length);
        self.insert_value(name_kind, length, value);
    }

    /// Puts the newest entry's name in lower case.
    pub(super) fn lower_newest_name(&mut self) {
        if let Some(entry) = self.entries.back() {
            let start = entry.start.wrapping_sub(self.removed) as usize;
            self.text[start..start + entry.name_length as usize].make_ascii_lowercase();
        }
    }

    fn insert_value(&mut self, name_kind: Name, name_length: usize, value: &[u8]) {
        let start = self.removed.wrapping_add((self.text.len() - name_length) as u32);
        self.text.extend_from_slice(value);
        let size = name_length + value.len() + OVERHEAD;
        self.evict(self.capacity - size);
        self.size += size;
        self.entries.push_back(Entry {
            start,
            name_length: name_length as u32,
            value_length: value.len() as u32,
            name_kind,
        });
    }

    /// Sees to it that the text of a new entry has room. One that is larger than the table empties it (RFC 7541 §4.4).
    fn make_room(&mut self, name_length: usize, value_length: usize) -> bool {
        let length = name_length.saturating_add(value_length);
        if length.saturating_add(OVERHEAD) > self.capacity {
            self.clear();
            return false;
        }
        if self.text.capacity() - self.text.len() < length {
            let live = self.live();
            let dead = self.text.len() - live;
            // To move half of what there is at most is little work for each byte that was added meanwhile.
            if dead >= live {
                self.text.copy_within(dead.., 0);
                self.text.truncate(live);
                self.removed = self.removed.wrapping_add(dead as u32);
            }
            self.text.reserve(length);
        }
        true
    }

    /// Removes the oldest entries until the others are no larger than this.
    fn evict(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_front()
        {
            self.size -= (entry.name_length + entry.value_length) as usize + OVERHEAD;
        }
    }

    /// How many bytes at the end of `text` are of entries.
    fn live(&self) -> usize {
        self.size - self.entries.len() * OVERHEAD
    }

    /// Removes all entries, and gives their memory back.
    fn clear(&mut self) {
        *self = Self::new(self.capacity);
    }
}

/// What an entry counts beside its text (RFC 7541 §4.1).
pub(super) const OVERHEAD: usize = 32;
