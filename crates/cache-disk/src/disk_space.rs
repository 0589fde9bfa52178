//! How many bytes the files take, and those that are arriving.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::file_name::FileName;
use crate::folder::SHARDS;

/// How many bytes the files take, and those that are arriving.
#[derive(Debug)]
pub(crate) struct DiskSpace {
    /// Bytes that files may take.
    limit: u64,
    /// Bytes that the files of each shard take.
    used: Box<[AtomicU64]>,
    /// Bytes that large contents will have which are arriving.
    promised: AtomicU64,
    /// Bytes that they have already.
    arrived: AtomicU64,
    /// Bytes of the record that is being written.
    writing: AtomicU64,
}

/// The room that a content takes while it arrives, and until its file has been removed and no reader needs it. Dropped, it is
/// free again.
#[derive(Debug)]
pub(crate) struct Reservation {
    space: Arc<DiskSpace>,
    promised: AtomicU64,
    arrived: AtomicU64,
}

impl DiskSpace {
    pub(crate) fn new(limit: u64) -> Self {
        let used = std::iter::repeat_with(AtomicU64::default).take(SHARDS.into()).collect();
        Self { limit, used, promised: AtomicU64::new(0), arrived: AtomicU64::new(0), writing: AtomicU64::new(0) }
    }

    /// Bytes that files may take.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that all files take, as far as they have been looked at.
    pub(crate) fn used(&self) -> u64 {
        self.used.iter().map(|used| used.load(Ordering::Relaxed)).sum()
    }

    /// Whether room has to be made: there is nearly as much as there may be, with what has arrived and what is being written.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.taken() > self.limit - self.limit / ARRIVING_MEANWHILE_PART
    }

    /// Whether a part of the room is free again, so that it need not be made for each file.
    pub(crate) fn has_spare_room(&self) -> bool {
        self.taken() <= self.limit - self.limit / SPARE_PART
    }

    fn taken(&self) -> u64 {
        self.used() + self.arrived.load(Ordering::Relaxed) + self.writing.load(Ordering::Relaxed)
    }

    /// A record of so many bytes is about to be written; none when it is a file.
    pub(crate) fn set_writing(&self, bytes: u64) {
        self.writing.store(bytes, Ordering::Relaxed);
    }

    /// A file of so many bytes is there.
    pub(crate) fn add(&self, name: &FileName, bytes: u64) {
        self.used[name.shard()].fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file of so many bytes is there no longer.
    pub(crate) fn subtract(&self, name: &FileName, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let _ = self.used[name.shard()].fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// The files of a shard have been looked at.
    pub(crate) fn set_used(&self, shard: u16, bytes: u64) {
        self.used[usize::from(shard)].store(bytes, Ordering::Relaxed);
    }

    /// Room for a content of so many bytes; nothing if there is not so much.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reservation> {
        let (promised, arrived) = (AtomicU64::new(0), AtomicU64::new(0));
        let reservation = Reservation { space: Arc::clone(self), promised, arrived };
        reservation.grow_to(bytes).then_some(reservation)
    }
}

impl Reservation {
    pub(crate) fn space(&self) -> &Arc<DiskSpace> {
        &self.space
    }

    /// Takes room for so many bytes in all; whether there is so much. One thread at a time calls it.
    pub(crate) fn grow_to(&self, bytes: u64) -> bool {
        let before = self.promised.load(Ordering::Relaxed);
        let Some(more) = bytes.checked_sub(before).filter(|more| *more > 0) else { return true };
        let limit = self.space.limit / ARRIVING_PART;
        let add = |promised: u64| promised.checked_add(more).filter(|sum| *sum <= limit);
        let has_room = self.space.promised.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok();
        if has_room {
            self.promised.store(bytes, Ordering::Relaxed);
        }
        has_room
    }

    /// So many bytes more have arrived.
    pub(crate) fn add_arrived(&self, bytes: u64) {
        self.arrived.fetch_add(bytes, Ordering::Relaxed);
        self.space.arrived.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Releases the room: the bytes that have arrived count as a file now.
    pub(crate) fn release(&self) {
        self.space.promised.fetch_sub(self.promised.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        self.space.arrived.fetch_sub(self.arrived.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

/// A twentieth.
const SPARE_PART: u64 = 20;

/// A fortieth is left for what arrives until the thread that writes has removed others.
const ARRIVING_MEANWHILE_PART: u64 = 40;

/// Half of the room is for contents that arrive: they must not displace everything before they are whole.
const ARRIVING_PART: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arriving_contents_take_half_of_the_room_at_most() {
        let space = Arc::new(DiskSpace::new(1000));
        let first = space.reserve(300).unwrap();
        assert!(space.reserve(201).is_none());
        let second = space.reserve(100).unwrap();
        assert!(first.grow_to(400) && !first.grow_to(401) && first.grow_to(10));
        // Only bytes that have arrived displace files.
        space.set_used(3, 900);
        assert!(!space.is_exceeded() && space.has_spare_room());
        first.add_arrived(60);
        assert!(!space.is_exceeded() && !space.has_spare_room());
        first.add_arrived(50);
        assert_eq!((space.used(), space.is_exceeded()), (900, true));
        drop(second);
        assert!(first.grow_to(500));
        first.release();
        assert!(!space.is_exceeded() && space.reserve(500).is_some());
        drop(first);
        assert!(space.reserve(501).is_none());
        // A record counts before it is there.
        space.set_writing(76);
        assert_eq!((space.used(), space.is_exceeded()), (900, true));
        space.set_writing(75);
        assert!(!space.is_exceeded());
    }
}
