//! The table of the dictionary, in memory that other processes may change: they should wait for each other, but one that
//! serves clients may be compromised. So nothing that is read is trusted: what makes no sense is an error, after which the
//! table has to be cleared.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
};

use serow_net::{OutsideError, SharedMemory};

use super::layout::{
    self, ENTRY_BYTES, EntryHead, Header, Kind, MAX_BYTES, bucket_place, empty_buckets, is_of_this_format, mark,
    read_link, write_link,
};

/// A value of the dictionary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Number(f64),
    Text(Vec<u8>),
}

/// Values by name, in bounded memory, with lifetimes. Times are seconds of any clock. Only one thread of one process may
/// use the memory at a time.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) memory: SharedMemory,
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

impl Entry {
    pub(super) fn text(&self) -> &[u8] {
        match self {
            Self::Number(_) => &[],
            Self::Text(text) => text,
        }
    }
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
        Ok(Some(Entry::Text(text)))
    }

    /// Sets a value, until this time. If there is no room, the value before is removed nevertheless.
    pub(super) fn set(&self, name: &[u8], entry: &Entry, expires: f64, now: f64) -> Result<(), Fault> {
        let mut header = self.header()?;
        let hash = hash(header.keys, name);
        let found = self.find(&header, name, hash)?;
        let head = EntryHead::new(name, entry, expires, hash);
        mark(&self.memory, true)?;
        let outcome = self.place(&mut header, found.as_ref(), head, now).and_then(|head| {
            head.write(&self.memory)?;
            self.memory.write(head.name_place(), name)?;
            self.memory.write(head.text_place(), entry.text())?;
            header.live += head.size();
            header.next_expiry = header.next_expiry.min(expires);
            Ok(())
        });
        if let Ok(()) | Err(Fault::Full) = outcome {
            self.complete(&header)?;
        }
        outcome
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

    /// Finds a place for an entry, during a change: that of the one before, or the end.
    fn place(
        &self,
        header: &mut Header,
        found: Option<&Found>,
        mut head: EntryHead,
        now: f64,
    ) -> Result<EntryHead, Fault> {
        if let Some(Found { head: old, .. }) = found {
            let others = header.live.checked_sub(old.size()).ok_or(Fault::Invalid)?;
            if old.slot == head.slot && others + head.size() <= MAX_BYTES {
                header.live = others;
                return Ok(EntryHead { offset: old.offset, next: old.next, ..head });
            }
        }
        found.map_or(Ok(()), |found| self.unlink(header, found))?;
        self.make_room(header, head.size(), now)?;
        head.offset = header.end;
        header.end += head.slot;
        self.link(&mut head)?;
        Ok(head)
    }

    /// Puts an entry into its bucket, during a change.
    pub(super) fn link(&self, head: &mut EntryHead) -> Result<(), OutsideError> {
        let bucket = bucket_place(head.hash);
        head.next = read_link(&self.memory, bucket)?;
        write_link(&self.memory, bucket, head.offset as u32)
    }
}

#[expect(deprecated, reason = "the standard library's only hasher with keys of the caller, which processes share")]
fn hash(keys: [u64; 2], name: &[u8]) -> u64 {
    let mut hasher = std::hash::SipHasher::new_with_keys(keys[0], keys[1]);
    hasher.write(name);
    hasher.finish()
}

/// With 1.3 entries in a bucket on average, and names that nobody can choose by their hash, none has as many.
const MAX_CHAIN: usize = 64;

impl From<OutsideError> for Fault {
    fn from(_: OutsideError) -> Self {
        Self::Invalid
    }
}
