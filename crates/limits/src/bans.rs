//! The bans of a server, which its threads share.

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serow_message::{ClientNetwork, TrustedProxies};

use crate::{Ban, BanChange, BanError, BanOrigin, ban::clean_reason, ban_snapshot, ban_table::Table};

/// The bans of a server; clones share them.
///
/// ```
/// use std::time::Duration;
/// use serow_limits::{BanOrigin, Bans};
///
/// let (bans, now, minute) = (Bans::default(), Duration::from_secs(7), Duration::from_secs(60));
/// bans.add("2001:db8::1".parse()?, minute, "too many logins", BanOrigin::Limit, now)?;
/// assert!(bans.is_banned("2001:db8::2".parse()?, now));
/// assert!(!bans.is_banned("2001:db8::2".parse()?, now + minute));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bans {
    shared: Arc<BanState>,
}

struct BanState {
    /// The proxies that are never banned.
    trusted: TrustedProxies,
    /// How many bans there are: read for each connection and request, the table only if there are any.
    count: AtomicUsize,
    table: RwLock<Table>,
    subscribers: Mutex<Vec<Arc<Subscriber>>>,
    counts: Counters,
}

type Subscriber = dyn Fn(&BanChange) + Send + Sync;

#[derive(Debug, Default)]
struct Counters {
    added: [AtomicU64; BanOrigin::ALL.len()],
    displaced: AtomicU64,
    connections: AtomicU64,
    requests: AtomicU64,
}

/// Counts of bans so far, and of the connections and requests that they refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BanCounts {
    /// Clients that are banned now.
    pub banned: u64,
    /// Bans by each origin, in the order of [`BanOrigin::ALL`].
    pub added: [u64; BanOrigin::ALL.len()],
    /// Bans that ended early since there were too many.
    pub displaced: u64,
    /// Connections that were closed at once.
    pub refused_connections: u64,
    /// Requests that were refused.
    pub refused_requests: u64,
}

impl Bans {
    /// No bans yet. Trusted proxies are never banned: a ban of one would refuse all of its clients.
    #[must_use]
    pub fn new(trusted: TrustedProxies) -> Self {
        Self { shared: Arc::new(BanState::new(trusted, CAPACITY)) }
    }

    /// Whether a client is banned. Takes no lock while there are no bans.
    #[inline]
    #[must_use]
    pub fn is_banned(&self, address: IpAddr, now: Duration) -> bool {
        !self.is_empty() && self.finds(address, now)
    }

    /// Whether nobody is banned: callers need no time then.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.count.load(Ordering::Relaxed) == 0
    }

    #[cold]
    fn finds(&self, address: IpAddr, now: Duration) -> bool {
        self.read().ban(ClientNetwork::of(address)).is_some_and(|ban| ban.until > now)
    }

    /// Bans a client for so long from now. A ban that it has is extended; an administrator may shorten it, too.
    ///
    /// # Errors
    ///
    /// The client is a trusted proxy.
    pub fn add(
        &self,
        client: ClientNetwork,
        length: Duration,
        reason: &str,
        origin: BanOrigin,
        now: Duration,
    ) -> Result<Ban, BanError> {
        let until = now.saturating_add(length.min(MAX_LENGTH));
        let ban = Ban { client, until, reason: clean_reason(reason), origin };
        if self.insert(&ban, now)? {
            self.shared.counts.added[origin as usize].fetch_add(1, Ordering::Relaxed);
            self.tell(&BanChange::Added(ban.clone()));
        }
        Ok(ban)
    }

    /// Lifts the ban of a client; returns whether there was one.
    pub fn remove(&self, client: ClientNetwork, origin: BanOrigin, now: Duration) -> bool {
        let had = self.change(|table| {
            table.remove_ended(now);
            table.remove(client).is_some()
        });
        if had {
            self.tell(&BanChange::Removed(client, origin));
        }
        had
    }

    /// At most so many of the bans, those that end last first.
    #[must_use]
    pub fn list(&self, max: usize, now: Duration) -> Vec<Ban> {
        self.read().list().take_while(|ban| ban.until > now).take(max).cloned().collect()
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self, now: Duration) -> BanCounts {
        // Bans that have ended stay in the table until it is changed.
        let banned = self.change(|table| {
            table.remove_ended(now);
            table.len()
        });
        let Counters { added, displaced, connections, requests } = &self.shared.counts;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        BanCounts {
            banned: banned as u64,
            added: [0, 1, 2].map(|origin: usize| count(&added[origin])),
            displaced: count(displaced),
            refused_connections: count(connections),
            refused_requests: count(requests),
        }
    }

    /// Counts a connection that was closed because of a ban.
    pub fn note_connection(&self) {
        self.shared.counts.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that was refused because of a ban.
    pub fn note_request(&self) {
        self.shared.counts.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Has this function called after each change, on the thread that makes it: it must not block. Bans that end by
    /// themselves are not changes.
    pub fn subscribe(&self, subscriber: impl Fn(&BanChange) + Send + Sync + 'static) {
        self.subscribers().push(Arc::new(subscriber));
    }

    /// All bans as text, for [`Self::restore`] of another process.
    #[must_use]
    pub fn snapshot(&self, now: Duration) -> String {
        ban_snapshot::write(self.read().list().filter(|ban| ban.until > now))
    }

    /// Adds the bans of a snapshot. Subscribers do not learn of them, and lines that are invalid are skipped.
    pub fn restore(&self, snapshot: &str, now: Duration) {
        for ban in ban_snapshot::read(snapshot).filter(|ban| ban.remaining(now) <= MAX_LENGTH) {
            // A client that is a trusted proxy by now is no longer banned.
            let _ = self.insert(&ban, now);
        }
    }

    /// Returns whether the ban is new, or changes an earlier one.
    fn insert(&self, ban: &Ban, now: Duration) -> Result<bool, BanError> {
        if self.shared.trusted.overlaps(ban.client.network()) {
            return Err(BanError::TrustedProxy(ban.client));
        }
        let (is_new, has_displaced) = self.change(|table| {
            table.remove_ended(now);
            let earlier = table.ban(ban.client).map_or(Duration::ZERO, |earlier| earlier.until);
            let is_new = ban.until > now && (ban.until > earlier || ban.origin == BanOrigin::Administrator);
            (is_new, is_new && table.insert(ban.clone()))
        });
        self.shared.counts.displaced.fetch_add(has_displaced.into(), Ordering::Relaxed);
        Ok(is_new)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.shared.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let mut table: RwLockWriteGuard<'_, Table> = self.shared.table.write().unwrap_or_else(PoisonError::into_inner);
        let outcome = change(&mut table);
        self.shared.count.store(table.len(), Ordering::Relaxed);
        outcome
    }

    fn tell(&self, change: &BanChange) {
        // Not while they are locked: a subscriber may change bans.
        let subscribers = self.subscribers().clone();
        subscribers.iter().for_each(|subscriber| subscriber(change));
    }

    fn subscribers(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Subscriber>>> {
        self.shared.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BanState {
    fn new(trusted: TrustedProxies, capacity: usize) -> Self {
        Self {
            trusted,
            count: AtomicUsize::new(0),
            table: RwLock::new(Table::new(capacity)),
            subscribers: Mutex::default(),
            counts: Counters::default(),
        }
    }
}

impl Default for BanState {
    fn default() -> Self {
        Self::new(TrustedProxies::default(), CAPACITY)
    }
}

impl fmt::Debug for BanState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BanState").field("count", &self.count).field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

/// The maximum number of bans, so that an attacker with many addresses cannot use up the memory: they take 12 MB, and
/// with the longest reasons twice as much. Botnets with more members than that are seldom seen by one server.
const CAPACITY: usize = 65_536;

/// A year: longer bans are a matter of `deny` in the settings, which lasts for longer than the process.
const MAX_LENGTH: Duration = Duration::from_secs(366 * 24 * 3600);

#[cfg(test)]
mod tests;
