//! The counters of a store, and the report of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serow_cache_disk::DiskCounts;
use serow_message::StatusCode;
use serow_message::{CacheStatus, ForwardReason, HitState};

use super::CacheStore;

/// The counts of a store so far, and the size of its present contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheReport {
    /// Requests that got a fresh stored response.
    pub hits: u64,
    /// Requests that got a stale one.
    pub stale_hits: u64,
    /// Requests that got a stored response after the origin had confirmed it.
    pub revalidated: u64,
    /// Requests that got what another one was forwarded for.
    pub collapsed: u64,
    /// Requests that got the response of the origin.
    pub misses: u64,
    /// Requests that passed the cache by.
    pub bypassed: u64,
    /// Responses that were stored.
    pub stored: u64,
    /// Responses that could have been stored by their requests, but were not.
    pub not_stored: u64,
    /// Purges.
    pub purges: u64,
    /// URLs that were displaced, since the memory was full.
    pub evictions: u64,
    /// Stored responses; those of one URL count once.
    pub responses: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Bytes that they may take.
    pub memory: u64,
    /// Their tags.
    pub tags: u64,
    /// The counts of the files; nothing without a folder.
    pub disk: Option<DiskCounts>,
}

/// The counters of a store. Each thread adds to a group of its own, unless there are very many.
#[derive(Debug)]
pub(super) struct CacheCounters {
    groups: Box<[Group]>,
}

impl Default for CacheCounters {
    fn default() -> Self {
        Self { groups: std::iter::repeat_with(Group::default).take(GROUPS).collect() }
    }
}

/// On cache lines of its own, so that no core waits for another's counters: 128 bytes, since processors fetch lines in
/// pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Group([AtomicU64; CacheEvent::COUNT]);

/// An event that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheEvent {
    Hit,
    StaleHit,
    Revalidated,
    Collapsed,
    Miss,
    Bypassed,
    Stored,
    NotStored,
    Purge,
}

impl CacheEvent {
    const COUNT: usize = Self::Purge as usize + 1;

    /// A request was answered in this way.
    pub(super) fn of(status: CacheStatus) -> Self {
        match status {
            CacheStatus::Hit { state: HitState::Fresh, .. } => Self::Hit,
            CacheStatus::Hit { .. } => Self::StaleHit,
            CacheStatus::Forwarded { is_collapsed: true, .. } => Self::Collapsed,
            CacheStatus::Forwarded { status: Some(StatusCode::NOT_MODIFIED), .. } => Self::Revalidated,
            CacheStatus::Forwarded { status: Some(_), .. } => Self::StaleHit,
            CacheStatus::Forwarded { reason: ForwardReason::Bypass | ForwardReason::Method, .. } => Self::Bypassed,
            CacheStatus::Forwarded { .. } | CacheStatus::OnlyIfCached => Self::Miss,
        }
    }
}

impl CacheCounters {
    pub(super) fn note(&self, event: CacheEvent) {
        let group = OWN_GROUP.with(|group| *group);
        self.groups[group % GROUPS].0[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self, event: CacheEvent) -> u64 {
        self.groups.iter().map(|group| group.0[event as usize].load(Ordering::Relaxed)).sum()
    }
}

impl CacheStore {
    /// Its counts so far, and the size of its present contents.
    #[must_use]
    pub fn report(&self) -> CacheReport {
        let (memory, count) = (&self.shared.memory, |event| self.shared.counters.count(event));
        let (bytes, responses) = memory.size();
        CacheReport {
            hits: count(CacheEvent::Hit),
            stale_hits: count(CacheEvent::StaleHit),
            revalidated: count(CacheEvent::Revalidated),
            collapsed: count(CacheEvent::Collapsed),
            misses: count(CacheEvent::Miss),
            bypassed: count(CacheEvent::Bypassed),
            stored: count(CacheEvent::Stored),
            not_stored: count(CacheEvent::NotStored),
            purges: count(CacheEvent::Purge),
            evictions: memory.evictions(),
            responses: responses as u64,
            bytes,
            memory: memory.capacity(),
            tags: memory.tag_count() as u64,
            disk: self.shared.disk.get().map(|disk| disk.counts()),
        }
    }
}

thread_local! {
    static OWN_GROUP: usize = NEXT_GROUP.fetch_add(1, Ordering::Relaxed);
}

static NEXT_GROUP: AtomicUsize = AtomicUsize::new(0);

/// As many as nearly all servers have threads: 16 KB for each store.
const GROUPS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_together() {
        let store = CacheStore::in_memory(1 << 20, 1 << 10);
        std::thread::scope(|scope| {
            for _ in 0..2 * GROUPS {
                scope.spawn(|| {
                    store.shared.counters.note(CacheEvent::Hit);
                    store.shared.counters.note(CacheEvent::Purge);
                });
            }
        });
        let counted = 2 * GROUPS as u64;
        let expected = CacheReport { hits: counted, purges: counted, memory: 1 << 20, ..CacheReport::default() };
        assert_eq!(store.report(), expected);
    }

    #[test]
    fn each_request_is_counted_once() {
        let forwarded =
            |reason, status, is_collapsed| CacheStatus::Forwarded { reason, status, is_stored: false, is_collapsed };
        for (status, expected) in [
            (CacheStatus::Hit { ttl: 0, state: HitState::Fresh }, CacheEvent::Hit),
            (CacheStatus::Hit { ttl: 0, state: HitState::Updating }, CacheEvent::StaleHit),
            (forwarded(ForwardReason::UriMiss, None, false), CacheEvent::Miss),
            (forwarded(ForwardReason::VaryMiss, None, true), CacheEvent::Collapsed),
            (forwarded(ForwardReason::Stale, Some(StatusCode::NOT_MODIFIED), false), CacheEvent::Revalidated),
            (forwarded(ForwardReason::Stale, Some(StatusCode::BAD_GATEWAY), false), CacheEvent::StaleHit),
            (forwarded(ForwardReason::Stale, None, false), CacheEvent::Miss),
            (forwarded(ForwardReason::Request, None, false), CacheEvent::Miss),
            (CacheStatus::forwarded(ForwardReason::Bypass), CacheEvent::Bypassed),
            (CacheStatus::forwarded(ForwardReason::Method), CacheEvent::Bypassed),
            (CacheStatus::OnlyIfCached, CacheEvent::Miss),
        ] {
            assert_eq!(CacheEvent::of(status), expected, "{status:?}");
        }
    }
}
