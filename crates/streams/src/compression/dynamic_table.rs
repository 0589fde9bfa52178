//! The dynamic table (RFC 7541 §2.3.2, §4).
//!
//! The text of all entries stands in one piece of memory, one behind the other: new ones are added at its end, old ones
//! go from its front. When it is full, what is left is moved to the front, which costs less than wrapped entries would,
//! since everyone who looks at an entry needs it whole.

use alloc::{collections::VecDeque, vec::Vec};

use crate::fields::{DecodedField, ENTRY_OVERHEAD, FieldError, Name};

/// Entries, the newest of which has the lowest index.
#[derive(Debug)]
pub struct DynamicTable {
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
    error: Option<FieldError>,
}

impl Entry {
    /// RFC 7541 §4.1.
    fn size(&self) -> usize {
        (self.name_length + self.value_length) as usize + ENTRY_OVERHEAD
    }
}

/// An entry, as one looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// Which name it is.
    pub name_kind: Name,
    /// The error that makes a message with this field malformed.
    pub error: Option<FieldError>,
}

impl Line<'_> {
    /// Whether this is its name, whatever the case.
    pub fn is_named(&self, kind: Name, name: &[u8]) -> bool {
        self.name_kind == kind && (kind != Name::Other || self.name.eq_ignore_ascii_case(name))
    }
}

impl<'a> Line<'a> {
    /// As it is shown.
    #[inline]
    #[must_use]
    pub fn into_field(self, never_indexed: bool) -> DecodedField<'a> {
        DecodedField { name: self.name, value: self.value, name_kind: self.name_kind, never_indexed, error: self.error }
    }
}

impl DynamicTable {
    /// An empty one, which may have so many bytes; allocates nothing.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { entries: VecDeque::new(), text: Vec::new(), removed: 0, size: 0, capacity }
    }

    /// The size it may have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of so many newer ones.
    #[inline]
    pub fn get(&self, newer: usize) -> Option<Line<'_>> {
        let entry = self.entry(newer)?;
        let (name, value) = self.text_of(entry).split_at_checked(entry.name_length as usize)?;
        Some(Line { name, value, name_kind: entry.name_kind, error: entry.error })
    }

    /// Whether the entry of so many newer ones has this well-known name, and this value.
    #[inline(always)]
    pub fn is_known(&self, newer: usize, name_kind: Name, value: &[u8]) -> bool {
        let Some(entry) = self.entry(newer) else { return false };
        if entry.value_length as usize != value.len() || entry.name_kind != name_kind {
            return false;
        }
        let start = entry.start.wrapping_sub(self.removed) as usize + entry.name_length as usize;
        self.text.get(start..start + value.len()) == Some(value)
    }

    /// Whether the entry of so many newer ones is this field, whatever the case of its name.
    pub fn is(&self, newer: usize, name_kind: Name, name: &[u8], value: &[u8]) -> bool {
        self.get(newer).is_some_and(|line| line.is_named(name_kind, name) && line.value == value)
    }

    #[inline]
    fn entry(&self, newer: usize) -> Option<&Entry> {
        // With no entry or too few it wraps around, and there is none.
        self.entries.get(self.entries.len().wrapping_sub(newer + 1))
    }

    #[inline]
    fn text_of(&self, entry: &Entry) -> &[u8] {
        let start = entry.start.wrapping_sub(self.removed) as usize;
        let length = entry.name_length as usize + entry.value_length as usize;
        &self.text[start..start + length]
    }

    /// Whether an entry with so many bytes of text fits if no others are evicted than so many of the oldest.
    #[inline]
    pub fn has_room(&self, text: usize, evictable: usize) -> bool {
        let needed = self.size.saturating_add(text).saturating_add(ENTRY_OVERHEAD);
        needed <= self.capacity || self.can_evict(needed - self.capacity, evictable)
    }

    /// Whether so many of the oldest entries have this size together, at least.
    fn can_evict(&self, mut excess: usize, evictable: usize) -> bool {
        let mut oldest = self.entries.iter().take(evictable);
        while excess > 0 {
            let Some(entry) = oldest.next() else { return false };
            excess = excess.saturating_sub(entry.size());
        }
        true
    }

    /// RFC 7541 §4.3.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.evict(capacity);
        if self.entries.is_empty() {
            self.clear();
        }
    }

    /// Adds an entry; says whether it fitted.
    pub fn insert(&mut self, name_kind: Name, name: &[u8], value: &[u8], error: Option<FieldError>) -> bool {
        if !self.make_room(name.len(), value.len()) {
            return false;
        }
        self.text.extend_from_slice(name);
        self.insert_value(name_kind, name.len(), value, error);
        true
    }

    /// Adds an entry with the name of another, which may have to leave for it (RFC 7541 §4.4).
    pub fn insert_with_name_of(&mut self, newer: usize, value: &[u8], error: Option<FieldError>) {
        let Some(Line { name, name_kind, .. }) = self.get(newer) else { return };
        let length = name.len();
        if !self.make_room(length, value.len()) {
            return;
        }
        self.copy_text(newer, length);
        self.insert_value(name_kind, length, value, error);
    }

    /// Adds a copy of an entry, which may have to leave for it (RFC 9204 §4.3.4); says whether it is there.
    pub fn duplicate(&mut self, newer: usize) -> bool {
        let Some(Line { name, value, name_kind, error }) = self.get(newer) else { return false };
        let (name_length, value_length) = (name.len(), value.len());
        // As large as one that is there, it fits.
        self.make_room(name_length, value_length);
        self.copy_text(newer, name_length + value_length);
        self.push(name_kind, name_length, value_length, error);
        true
    }

    /// Appends the beginning of an entry's text to that of all.
    fn copy_text(&mut self, newer: usize, length: usize) {
        let place = self.entries.len() - 1 - newer;
        let start = self.entries[place].start.wrapping_sub(self.removed) as usize;
        self.text.extend_from_within(start..start + length);
    }

    /// Puts the newest entry's name in lower case.
    pub fn lower_newest_name(&mut self) {
        if let Some(entry) = self.entries.back() {
            let start = entry.start.wrapping_sub(self.removed) as usize;
            self.text[start..start + entry.name_length as usize].make_ascii_lowercase();
        }
    }

    fn insert_value(&mut self, name_kind: Name, name_length: usize, value: &[u8], error: Option<FieldError>) {
        self.text.extend_from_slice(value);
        self.push(name_kind, name_length, value.len(), error);
    }

    /// Adds the entry of the text that was appended last.
    fn push(&mut self, name_kind: Name, name_length: usize, value_length: usize, error: Option<FieldError>) {
        let start = self.removed.wrapping_add((self.text.len() - name_length - value_length) as u32);
        let size = name_length + value_length + ENTRY_OVERHEAD;
        self.evict(self.capacity - size);
        self.size += size;
        self.entries.push_back(Entry {
            start,
            name_length: name_length as u32,
            value_length: value_length as u32,
            name_kind,
            error,
        });
    }

    /// Sees to it that the text of a new entry has room. One that is larger than the table empties it (RFC 7541 §4.4).
    fn make_room(&mut self, name_length: usize, value_length: usize) -> bool {
        let length = name_length.saturating_add(value_length);
        if length.saturating_add(ENTRY_OVERHEAD) > self.capacity {
            self.clear();
            return false;
        }
        if self.text.capacity() - self.text.len() < length {
            self.make_text_room(length);
        }
        if self.entries.capacity() == 0 {
            self.entries.reserve(FIRST_ENTRIES);
        }
        true
    }

    /// Moves the text to the front, or gives it more memory: never more than twice the table's size.
    #[cold]
    fn make_text_room(&mut self, length: usize) {
        let most = self.capacity * 2;
        let dead = self.text.len() - self.live();
        // Either way as many bytes were added since the last time as are moved, which makes it little work for each.
        if dead >= self.live() || self.text.len() + length > most {
            self.text.drain(..dead);
            self.removed = self.removed.wrapping_add(dead as u32);
        }
        let doubled = (self.text.capacity() * 2).clamp(FIRST_TEXT, most.max(FIRST_TEXT));
        let wanted = doubled.max(self.text.len() + length);
        self.text.reserve_exact(wanted - self.text.len());
    }

    /// Removes the oldest entries until the size of the others is at most this.
    fn evict(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_front()
        {
            self.size -= entry.size();
        }
    }

    /// How many bytes at the end of `text` are of entries.
    #[inline]
    fn live(&self) -> usize {
        self.size - self.entries.len() * ENTRY_OVERHEAD
    }

    /// Removes all entries, and gives their memory back.
    fn clear(&mut self) {
        *self = Self::new(self.capacity);
    }
}

/// Room for the entries of a usual request or response, so that a connection of one does not allocate again and again.
const FIRST_TEXT: usize = 256;
const FIRST_ENTRIES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
    fn allocated_memory_follows_the_entries() {
        let mut table = DynamicTable::new(4096);
        assert_eq!((table.text.capacity(), table.entries.capacity()), (0, 0));
        assert!(table.insert(Name::Other, b"name", b"value", None));
        assert_eq!((table.text.capacity(), table.entries.capacity()), (FIRST_TEXT, FIRST_ENTRIES));
        for number in 0..100_000_usize {
            let text = [number as u8; 4064];
            let length = [0, 3, 10, 100, 1000, 4063, 4064][number % 7];
            let length = if number > 50_000 { number % 30 } else { length };
            assert!(table.insert(Name::Other, b"", &text[..length], None));
            assert_eq!(table.get(0).map(|line| line.value), Some(&text[..length]));
            assert!(table.size <= 4096 && table.text.capacity() <= 8192 && table.entries.capacity() <= 256);
        }
        table.set_capacity(10);
        assert_eq!((table.text.capacity(), table.entries.capacity()), (0, 0));
        assert!(!table.insert(Name::Other, b"", b"", None));
    }

    #[test]
    fn a_copy_may_take_the_place_of_its_entry() {
        let mut table = DynamicTable::new(200);
        assert!(!table.duplicate(0));
        assert!(table.insert(Name::Other, b"name", &[b'a'; 100], None));
        assert!(table.insert(Name::Other, b"n", b"b", Some(FieldError::Space)));
        for number in 0..1000 {
            // The older of two, of which the larger leaves for its copy.
            assert!(table.duplicate(1) && !table.duplicate(2));
            assert_eq!(table.len(), 2);
            let line = table.get(0).expect("an entry");
            assert_eq!(
                (line.value.len(), line.error.is_some()),
                if number % 2 == 0 { (100, false) } else { (1, true) }
            );
        }
        assert!(table.size <= 200 && table.text.capacity() <= 400);
    }

    #[test]
    fn room_is_made_of_the_oldest_entries_only() {
        let mut table = DynamicTable::new(3 * 40);
        assert!(table.has_room(88, 0) && !table.has_room(89, 100) && !table.has_room(usize::MAX, 100));
        for _ in 0..3 {
            assert!(table.insert(Name::Other, b"name", b"abcd", None));
        }
        assert!(!table.has_room(0, 0));
        assert!(table.has_room(8, 1) && !table.has_room(9, 1));
        assert!(table.has_room(48, 2) && !table.has_room(49, 2));
        assert!(table.has_room(88, usize::MAX) && !table.has_room(89, usize::MAX));
    }

    #[test]
    fn numbers_of_bytes_may_wrap_around() {
        let mut table = DynamicTable::new(4096);
        table.removed = u32::MAX - 100;
        for number in 0..100_u8 {
            assert!(table.insert(Name::Other, &[number; 30], &[number; 20], None));
            for newer in 0..=usize::from(number).min(48) {
                let line = table.get(newer).expect("an entry");
                assert_eq!((line.name, line.value), (&[number - newer as u8; 30][..], &[number - newer as u8; 20][..]));
            }
        }
    }
}
