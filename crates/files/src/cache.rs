//! The cache of look-ups by path.
//!
//! Each core has its own cache, without a lock. It evicts by the CLOCK algorithm: a hand goes round and evicts the
//! first entry that was not used since it last passed. So a client that requests ever new paths evicts its own entries
//! first.

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::RandomState;

use crate::{resource::Resource, settings::CacheLimits};

/// The result of a look-up.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A file.
    Found(Box<Resource>),
    /// Nothing.
    Missing,
}

/// Results by path, limited in number, bytes and open files.
#[derive(Debug)]
pub(crate) struct Cache {
    limits: CacheLimits,
    /// Hashed with random keys of this process, in a quarter of SipHash's time. If a client found colliding paths, it
    /// could slow a look-up only as far as the number of entries allows.
    places: HashMap<Arc<[u8]>, usize, RandomState>,
    slots: Vec<Option<Slot>>,
    vacant: Vec<usize>,
    hand: usize,
    bytes: usize,
    open_files: usize,
}

#[derive(Debug)]
struct Slot {
    path: Arc<[u8]>,
    answer: Answer,
    /// When it was last checked against the file system, in milliseconds.
    checked: u64,
    used: bool,
    /// Whether it must be checked each time, since its times cannot show yet whether it was written again.
    unsure: bool,
    bytes: usize,
    open_files: usize,
}

impl Cache {
    pub(crate) fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            places: HashMap::default(),
            slots: Vec::new(),
            vacant: Vec::new(),
            hand: 0,
            bytes: 0,
            open_files: 0,
        }
    }

    /// The place of a path's entry, if it was checked recently.
    #[inline]
    pub(crate) fn fresh(&mut self, path: &[u8], now: u64) -> Option<usize> {
        let place = *self.places.get(path)?;
        let slot = self.slots[place].as_mut()?;
        slot.used = true;
        (now.wrapping_sub(slot.checked) < self.limits.fresh_for && !slot.unsure).then_some(place)
    }

    /// The place of a path's entry, of any age.
    pub(crate) fn place(&self, path: &[u8]) -> Option<usize> {
        self.places.get(path).copied()
    }

    /// The result at a place.
    #[inline]
    pub(crate) fn answer(&mut self, place: usize) -> &mut Answer {
        match &mut self.slots[place] {
            Some(slot) => &mut slot.answer,
            None => unreachable!("a place is given only for what is there"),
        }
    }

    /// Notes that an entry was checked, if `now` is given, and measures its size again.
    pub(crate) fn note(&mut self, place: usize, now: Option<u64>) {
        if let Some(slot) = &mut self.slots[place] {
            slot.checked = now.unwrap_or(slot.checked);
            self.bytes -= slot.bytes;
            self.open_files -= slot.open_files;
            slot.measure();
            self.bytes += slot.bytes;
            self.open_files += slot.open_files;
        }
        self.make_room(Some(place));
    }

    /// Stores a result in place of the path's last one; returns its place. It stays at least until the next call,
    /// whatever the limits.
    pub(crate) fn keep(&mut self, path: &[u8], answer: Answer, now: u64) -> usize {
        if let Some(place) = self.place(path) {
            *self.answer(place) = answer;
            self.note(place, Some(now));
            return place;
        }
        let path: Arc<[u8]> = path.into();
        let mut slot =
            Slot { path: Arc::clone(&path), answer, checked: now, used: false, unsure: false, bytes: 0, open_files: 0 };
        slot.measure();
        self.bytes += slot.bytes;
        self.open_files += slot.open_files;
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[place] = Some(slot);
        self.places.insert(path, place);
        self.make_room(Some(place));
        place
    }

    /// Removes the entry of a path.
    pub(crate) fn forget(&mut self, path: &[u8]) {
        if let Some(place) = self.place(path) {
            self.vacate(place);
        }
    }

    /// Closes files that the limit allowed only until their response was made: a limit of 0 keeps none open.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if self.open_files > self.limits.open_files {
            self.make_room(None);
        }
    }

    /// Closes all files, when the process is out of descriptors.
    pub(crate) fn close_files(&mut self) {
        for place in 0..self.slots.len() {
            if self.slots[place].as_ref().is_some_and(|slot| slot.open_files > 0) {
                self.vacate(place);
            }
        }
    }

    fn make_room(&mut self, except: Option<usize>) {
        // Each entry is passed once to lose its mark and once to be evicted.
        let mut steps = 2 * self.slots.len();
        while steps > 0 && (self.is_crowded() || self.open_files > self.limits.open_files) {
            steps -= 1;
            let place = self.hand;
            self.hand = (self.hand + 1) % self.slots.len();
            let only_files = !self.is_crowded();
            let Some(slot) = &mut self.slots[place] else { continue };
            if Some(place) == except || only_files && slot.open_files == 0 {
                continue;
            }
            if slot.used {
                slot.used = false;
            } else {
                self.vacate(place);
            }
        }
    }

    fn is_crowded(&self) -> bool {
        self.places.len() > self.limits.entries || self.bytes > self.limits.bytes
    }

    fn vacate(&mut self, place: usize) {
        if let Some(slot) = self.slots[place].take() {
            self.bytes -= slot.bytes;
            self.open_files -= slot.open_files;
            self.places.remove(&slot.path);
            self.vacant.push(place);
        }
    }
}

impl Slot {
    fn measure(&mut self) {
        (self.bytes, self.open_files, self.unsure) = match &self.answer {
            Answer::Found(resource) => (resource.weight(), resource.open_files(), resource.is_unsure()),
            Answer::Missing => (0, 0, false),
        };
        // Requests of long paths that do not exist cost a client little.
        self.bytes += self.path.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: usize) -> Cache {
        Cache::new(CacheLimits { entries, ..CacheLimits::default() })
    }

    #[test]
    fn entries_expire() {
        let mut cache = cache(10);
        let place = cache.keep(b"/a", Answer::Missing, 1000);
        assert_eq!(cache.fresh(b"/a", 1000), Some(place));
        assert_eq!(cache.fresh(b"/a", 1899), Some(place));
        assert_eq!(cache.fresh(b"/a", 1900), None);
        assert_eq!(cache.place(b"/a"), Some(place));
        cache.note(place, Some(1900));
        assert_eq!(cache.fresh(b"/a", 1900), Some(place));
        cache.forget(b"/a");
        assert_eq!(cache.place(b"/a"), None);
    }

    #[test]
    fn a_scan_does_not_evict_used_entries() {
        let mut cache = cache(4);
        cache.keep(b"/hot", Answer::Missing, 0);
        for number in 0..1000 {
            assert!(cache.fresh(b"/hot", 0).is_some(), "{number}");
            cache.keep(format!("/{number}").as_bytes(), Answer::Missing, 0);
            assert!(cache.places.len() <= 4 && cache.slots.len() <= 5);
        }
    }

    #[test]
    fn the_length_of_paths_counts() {
        let mut cache = Cache::new(CacheLimits { bytes: 10_000, ..CacheLimits::default() });
        for number in 0..100 {
            cache.keep(format!("/{number:01000}").as_bytes(), Answer::Missing, 0);
        }
        assert_eq!(cache.places.len(), 9);
    }

    #[test]
    fn the_last_entry_is_kept_whatever_the_limits() {
        let mut cache = cache(0);
        for path in [b"/a", b"/b"] {
            let place = cache.keep(path, Answer::Missing, 0);
            assert!(matches!(cache.answer(place), Answer::Missing));
        }
        assert_eq!(cache.places.len(), 1);
    }
}
