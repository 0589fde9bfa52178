//! The disk space for all buffered bodies in files.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicU64, Ordering},
};

/// The disk space for all bodies that share this; clones are handles to the same space. Otherwise, slow or numerous
/// clients could fill the disk with unfinished uploads, or the memory if the folder is a tmpfs.
///
/// The default is the one that all of this process share, of 1 GiB.
///
/// ```
/// use serow_gateway::SpoolSpace;
///
/// let space = SpoolSpace::new(1 << 20);
/// assert_eq!((space.limit(), space.used()), (1 << 20, 0));
/// space.set_limit(u64::MAX);
/// ```
#[derive(Clone, Debug)]
pub struct SpoolSpace {
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Counters {
    limit: AtomicU64,
    used: AtomicU64,
}

impl SpoolSpace {
    /// Space for so many bytes, not shared yet.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { counters: Arc::new(Counters { limit: AtomicU64::new(limit), used: AtomicU64::new(0) }) }
    }

    /// Changes the limit.
    pub fn set_limit(&self, limit: u64) {
        self.counters.limit.store(limit, Ordering::Relaxed);
    }

    /// How many bytes are allowed.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.counters.limit.load(Ordering::Relaxed)
    }

    /// The bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.counters.used.load(Ordering::Relaxed)
    }
}

impl Default for SpoolSpace {
    fn default() -> Self {
        static OF_THE_PROCESS: LazyLock<SpoolSpace> = LazyLock::new(|| SpoolSpace::new(DEFAULT_LIMIT));
        OF_THE_PROCESS.clone()
    }
}

/// Whether they are the same, not whether they allow as much.
impl PartialEq for SpoolSpace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.counters, &other.counters)
    }
}

impl Eq for SpoolSpace {}

/// The bytes that one body has taken; dropping it frees them.
#[derive(Debug)]
pub(super) struct SpoolShare {
    space: SpoolSpace,
    bytes: u64,
}

impl SpoolShare {
    /// Nothing yet.
    pub(super) fn new(space: &SpoolSpace) -> Self {
        Self { space: space.clone(), bytes: 0 }
    }

    /// Takes more bytes.
    ///
    /// # Errors
    ///
    /// The limit, if it would be exceeded; nothing is taken then.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), u64> {
        self.grow_with_rest(bytes, 0)
    }

    /// Takes more bytes, as long as at least as many are left as it has then: of any number of shares, all can have an
    /// equal part, and something is left for others. Otherwise, one client that reads an endless response slowly could
    /// occupy all of the space.
    ///
    /// # Errors
    ///
    /// The limit, if less would be left; nothing is taken then.
    pub(super) fn grow_fairly(&mut self, bytes: u64) -> Result<(), u64> {
        self.grow_with_rest(bytes, self.bytes.saturating_add(bytes))
    }

    fn grow_with_rest(&mut self, bytes: u64, left: u64) -> Result<(), u64> {
        let limit = self.space.limit();
        let more =
            |used: u64| used.checked_add(bytes).filter(|sum| left.checked_add(*sum).is_some_and(|all| all <= limit));
        let used = &self.space.counters.used;
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| limit)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives back some of its bytes.
    pub(super) fn give_back(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.space.counters.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for SpoolShare {
    fn drop(&mut self) {
        self.space.counters.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A hundred bodies of 10 MB, the default limit of one; a disk that has less free is full anyway.
const DEFAULT_LIMIT: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_bounded_together_and_free_again_when_they_are_dropped() {
        let space = SpoolSpace::new(100);
        let (mut one, mut other) = (SpoolShare::new(&space), SpoolShare::new(&space));
        assert_eq!((one.grow(60), other.grow(41), other.grow(40)), (Ok(()), Err(100), Ok(())));
        assert_eq!((space.used(), one.grow(1)), (100, Err(100)));
        drop(other);
        assert_eq!((space.used(), one.grow(u64::MAX), one.grow(40)), (60, Err(100), Ok(())));
        drop(one);
        assert_eq!(space.used(), 0);
    }

    #[test]
    fn fair_shares_leave_as_much_as_each_has() {
        let space = SpoolSpace::new(120);
        let mut shares: Vec<_> = (0..3).map(|_| SpoolShare::new(&space)).collect();
        assert_eq!((shares[0].grow_fairly(61), shares[0].grow_fairly(60)), (Err(120), Ok(())));
        assert_eq!((shares[1].grow_fairly(31), shares[1].grow_fairly(30)), (Err(120), Ok(())));
        shares[0].give_back(30);
        assert_eq!(shares[2].grow_fairly(30), Ok(()));
        assert!(shares.iter_mut().all(|share| share.grow_fairly(1).is_err()));
        assert_eq!((shares[0].grow(30), space.used()), (Ok(()), 120));
        shares[0].give_back(u64::MAX);
        assert_eq!(space.used(), 60);
    }

    #[test]
    fn all_of_a_process_share_the_default() {
        assert_eq!(SpoolSpace::default(), SpoolSpace::default());
        assert_ne!(SpoolSpace::default(), SpoolSpace::new(DEFAULT_LIMIT));
    }
}
