//! The table of the dictionary, in memory that other processes may change: they should wait for each other, but one that
//! serves clients may be compromised. So nothing that is read is trusted: what makes no sense is an error, after which the
//! table has to be cleared.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::Arc,
};

use serow_net::{OutsideError, SharedMemory};

use super::layout::{
    self, ENTRY_BYTES, EntryHead, Header, Kind, MAX_BYTES, MEMORY_BYTES, SLACK, bucket_place, empty_buckets,
    is_of_this_format, mark, read_link, slot_of, write_link,
};

/// A value of the dictionary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Number(f64),
    Text(Arc<[u8]>),
}

/// Values by name, in bounded memory, with lifetimes. Times are seconds of any clock. Only one thread of one process may
/// use the memory at a time.
#[derive(Debug)]
pub(super) struct Table {
    memory: SharedMemory,
}

/// Why an operation was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A process ended while it changed the table, which has to be cleared.
    Interrupted,
    /// The table makes no sense, and has to be cleared.
    Invalid,
    /// There is no room, and nothing has expired.
    Full,
    /// Nothing can be added to a text.
    IsText,
}

/// An entry, and the place of the link that leads to it.
struct Found {
    head: EntryHead,
    link: usize,
}

impl Table {
    /// The table in this memory, which is empty at first; `None` if the memory is too small, or has the table of another
    /// version of the program.
    pub(super) fn new(memory: SharedMemory) -> Option<Self> {
        is_of_this_format(&memory).then_some(Self { memory })
    }

    /// The memory.
    pub(super) fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// The value of this name, unless its time is over.
    pub(super) fn get(&self, name: &[u8], now: f64) -> Result<Option<Entry>, Fault> {
        let header = self.header()?;
        let found = self.find(&header, name, hash(header.keys, name))?;
        let Some(head) = found.map(|found| found.head).filter(|head| head.is_alive(now)) else { return Ok(None) };
        if head.kind == Kind::Number {
            return Ok(Some(Entry::Number(f64::from_bits(head.value))));
        }
        // It is within the memory: the head was checked.
        let mut text = vec![0; head.size() - head.name_length - ENTRY_BYTES];
        self.memory.read(head.text_place(), &mut text)?;
        Ok(Some(Entry::Text(text.into())))
    }

    /// Sets a value, until this time. If there is no room, the value before is removed nevertheless.
    pub(super) fn set(&self, name: &[u8], entry: &Entry, expires: f64, now: f64) -> Result<(), Fault> {
        let mut header = self.header()?;
        let hash = hash(header.keys, name);
        let found = self.find(&header, name, hash)?;
        let text: &[u8] = match entry {
            Entry::Number(_) => &[],
            Entry::Text(text) => text,
        };
        let size = ENTRY_BYTES.saturating_add(name.len()).saturating_add(text.len());
        if size > MAX_BYTES {
            found.map_or(Ok(()), |found| self.remove_found(&mut header, &found))?;
            return Err(Fault::Full);
        }
        let (kind, value) = match entry {
            Entry::Number(number) => (Kind::Number, number.to_bits()),
            Entry::Text(text) => (Kind::Text, text.len() as u64),
        };
        let slot = slot_of(name.len(), text.len());
        let mut head = EntryHead { offset: 0, slot, next: 0, kind, name_length: name.len(), expires, value, hash };
        mark(&self.memory, true)?;
        match found {
            Some(Found { head: old, .. })
                if old.slot == slot && header.live - old.size().min(header.live) + size <= MAX_BYTES =>
            {
                (head.offset, head.next) = (old.offset, old.next);
                header.live -= old.size().min(header.live);
            }
            found => {
                if let Some(found) = found {
                    self.unlink(&mut header, &found)?;
                }
                if let Err(fault) = self.make_room(&mut header, size, now) {
                    self.complete(&header)?;
                    return Err(fault);
                }
                (head.offset, head.next) = (header.end, read_link(&self.memory, bucket_place(hash))?);
                write_link(&self.memory, bucket_place(hash), head.offset as u32)?;
                header.end += slot;
            }
        }
        head.write(&self.memory)?;
        self.memory.write(head.name_place(), name)?;
        self.memory.write(head.text_place(), text)?;
        header.live += size;
        header.next_expiry = header.next_expiry.min(expires);
        self.complete(&header)
    }

    /// Adds to a number, which begins at 0, and then lives until this time; returns the sum.
    pub(super) fn add(&self, name: &[u8], by: f64, expires: f64, now: f64) -> Result<f64, Fault> {
        let header = self.header()?;
        let found = self.find(&header, name, hash(header.keys, name))?;
        match found.map(|found| found.head).filter(|head| head.is_alive(now)) {
            Some(head) if head.kind == Kind::Number => {
                let sum = f64::from_bits(head.value) + by;
                // One aligned word, which is changed at once: no mark.
                layout::write_words(&self.memory, head.value_place(), &[sum.to_bits()])?;
                Ok(sum)
            }
            Some(_) => Err(Fault::IsText),
            None => self.set(name, &Entry::Number(by), expires, now).map(|()| by),
        }
    }

    /// Removes a value.
    pub(super) fn remove(&self, name: &[u8]) -> Result<(), Fault> {
        let mut header = self.header()?;
        let found = self.find(&header, name, hash(header.keys, name))?;
        found.map_or(Ok(()), |found| self.remove_found(&mut header, &found))
    }

    /// Removes everything, whatever the memory has.
    pub(super) fn clear(&self) -> Result<(), Fault> {
        mark(&self.memory, true)?;
        empty_buckets(&self.memory)?;
        self.begin().map(drop)
    }

    /// The size of all entries, as the limit counts it.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.header().unwrap().live
    }

    fn header(&self) -> Result<Header, Fault> {
        match Header::read(&self.memory)? {
            Some(header) => Ok(header),
            None => self.begin(),
        }
    }

    /// Writes the header of an empty table.
    fn begin(&self) -> Result<Header, Fault> {
        let random = RandomState::new();
        let header = Header::new([random.hash_one(0), random.hash_one(1)]);
        mark(&self.memory, true)?;
        self.complete(&header)?;
        Ok(header)
    }

    /// Ends a change.
    fn complete(&self, header: &Header) -> Result<(), Fault> {
        header.write(&self.memory)?;
        Ok(mark(&self.memory, false)?)
    }

    fn find(&self, header: &Header, name: &[u8], hash: u64) -> Result<Option<Found>, Fault> {
        let mut link = bucket_place(hash);
        for _ in 0..MAX_CHAIN {
            let offset = match read_link(&self.memory, link)? {
                0 => return Ok(None),
                offset => offset as usize,
            };
            let head = EntryHead::read(&self.memory, offset, header.end)?;
            if head.hash == hash && head.name_length == name.len() && self.has(head.name_place(), name)? {
                return Ok(Some(Found { head, link }));
            }
            link = head.next_place();
        }
        Err(Fault::Invalid)
    }

    /// Whether these bytes are at this place.
    fn has(&self, mut place: usize, bytes: &[u8]) -> Result<bool, OutsideError> {
        let mut buffer = [0; 64];
        for piece in bytes.chunks(buffer.len()) {
            let there = &mut buffer[..piece.len()];
            self.memory.read(place, there)?;
            if there != piece {
                return Ok(false);
            }
            place += piece.len();
        }
        Ok(true)
    }

    fn remove_found(&self, header: &mut Header, found: &Found) -> Result<(), Fault> {
        mark(&self.memory, true)?;
        self.unlink(header, found)?;
        self.complete(header)
    }

    /// Takes an entry out of its bucket, during a change.
    fn unlink(&self, header: &mut Header, Found { head, link }: &Found) -> Result<(), Fault> {
        write_link(&self.memory, *link, head.next)?;
        EntryHead { kind: Kind::Removed, ..*head }.write(&self.memory)?;
        header.live = header.live.checked_sub(head.size()).ok_or(Fault::Invalid)?;
        header.dead += head.slot;
        Ok(())
    }

    /// Makes room for an entry of this size at the end, during a change.
    fn make_room(&self, header: &mut Header, size: usize, now: f64) -> Result<(), Fault> {
        let is_full = header.live + size > MAX_BYTES;
        let was_swept = now >= header.swept && now - header.swept < SWEEP_PAUSE;
        let helps = header.next_expiry <= now && !was_swept;
        if (is_full && helps) || header.dead > header.live + SLACK {
            self.compact(header, now)?;
        }
        match () {
            () if header.live + size > MAX_BYTES => Err(Fault::Full),
            // An entry takes less than its size. With these numbers, there is room; they may be wrong.
            () if header.end + size > self.memory.length() => Err(Fault::Invalid),
            () => Ok(()),
        }
    }

    /// Moves all entries that are alive to the front, during a change.
    fn compact(&self, header: &mut Header, now: f64) -> Result<(), Fault> {
        empty_buckets(&self.memory)?;
        let mut compacted = Header { swept: now, ..Header::new(header.keys) };
        let mut place = compacted.end;
        while place < header.end {
            let mut head = EntryHead::read(&self.memory, place, header.end)?;
            place += head.slot;
            if !head.is_alive(now) {
                continue;
            }
            self.move_down(head.offset, compacted.end, head.slot)?;
            let bucket = bucket_place(head.hash);
            (head.offset, head.next) = (compacted.end, read_link(&self.memory, bucket)?);
            head.write(&self.memory)?;
            write_link(&self.memory, bucket, head.offset as u32)?;
            compacted.end += head.slot;
            compacted.live = compacted.live.saturating_add(head.size());
            compacted.next_expiry = compacted.next_expiry.min(head.expires);
        }
        if compacted.live > MAX_BYTES {
            return Err(Fault::Invalid);
        }
        *header = compacted;
        Ok(())
    }

    /// Copies bytes to a place before them, which they may overlap.
    fn move_down(&self, mut from: usize, mut to: usize, mut length: usize) -> Result<(), OutsideError> {
        let mut buffer = [0; 4096];
        while from != to && length > 0 {
            let piece = &mut buffer[..length.min(4096)];
            self.memory.read(from, piece)?;
            self.memory.write(to, piece)?;
            (from, to, length) = (from + piece.len(), to + piece.len(), length - piece.len());
        }
        Ok(())
    }
}

#[expect(deprecated, reason = "the standard library's only hasher with keys of the caller, which processes share")]
fn hash(keys: [u64; 2], name: &[u8]) -> u64 {
    let mut hasher = std::hash::SipHasher::new_with_keys(keys[0], keys[1]);
    hasher.write(name);
    hasher.finish()
}

/// Memory for a table of this process.
pub(super) fn own_memory() -> Result<SharedMemory, String> {
    SharedMemory::anonymous(MEMORY_BYTES).map_err(|error| format!("serow.shared: the system has no memory: {error}"))
}

/// With 1.3 entries in a bucket on average, and names that nobody can choose by their hash, none has as many.
const MAX_CHAIN: usize = 64;

/// Seconds between two removals of expired entries: one takes milliseconds where there are many.
const SWEEP_PAUSE: f64 = 0.1;

impl From<OutsideError> for Fault {
    fn from(_: OutsideError) -> Self {
        Self::Invalid
    }
}
