//! Requests that wait for the same response: one is forwarded, and the others get what it gets.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use crate::{
    growing::GrowingContent, key::Key, store::MemoryStore, store_version::StoreVersion, storing::StorableHead,
    tags::TagNames,
};

/// The requests that were forwarded and whose responses others wait for; all workers share them.
#[derive(Debug)]
pub struct Fills {
    shards: Box<[Shard]>,
    hasher: RandomState,
}

type Shard = Mutex<HashMap<FillKey, Arc<SharedFill>>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FillKey {
    key: Key,
    scope: u32,
}

/// The role of a request in a fill.
#[derive(Debug)]
pub enum Fill {
    /// The one that is forwarded.
    Leader(FillLeader),
    /// One that waits.
    Follower(FillFollower),
}

/// The outcome of the leader's request.
#[derive(Clone, Debug)]
pub enum FillOutcome {
    /// The response is arriving, and is stored when it is complete.
    Arriving(Arc<ArrivingResponse>),
    /// The response is stored.
    Stored,
    /// The response is for the leader only.
    Released,
    /// There was no response, or one of a failed server.
    Failed,
    /// The leader has left before there was a response: another request has to lead.
    Abandoned,
}

/// A response that is arriving.
#[derive(Debug)]
pub struct ArrivingResponse {
    /// Its head.
    pub head: StorableHead,
    /// Its content.
    pub content: GrowingContent,
    /// Its tags.
    pub tags: TagNames,
    /// When it was requested: purges of its tags from after this version concern it.
    pub version: StoreVersion,
}

/// The request that is forwarded. Dropped without an outcome, it has another lead.
#[derive(Debug)]
pub struct FillLeader {
    fill: Arc<SharedFill>,
    fills: Weak<Fills>,
    key: FillKey,
}

/// A request that waits for the outcome.
#[derive(Debug)]
pub struct FillFollower {
    fill: Arc<SharedFill>,
    /// Its place among those that wait.
    place: Option<usize>,
}

/// Sees whether anybody waits for a leader, from elsewhere.
#[derive(Clone, Debug)]
pub struct FillWatch {
    fill: Weak<SharedFill>,
}

#[derive(Debug)]
struct SharedFill {
    /// When it began.
    version: StoreVersion,
    state: Mutex<FillState>,
}

#[derive(Debug)]
enum FillState {
    Waiting(Vec<Waker>),
    Settled(FillOutcome),
}

impl Fills {
    /// No requests.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let shards = std::iter::repeat_with(Mutex::default).take(SHARDS).collect();
        Arc::new(Self { shards, hasher: RandomState::new() })
    }

    /// Joins the fill of this URI by this route, or begins one. A request does not join a fill that began before the URI
    /// was invalidated; then there is no fill for it.
    #[must_use]
    pub fn join(self: &Arc<Self>, key: &Key, scope: u32, store: &MemoryStore) -> Option<Fill> {
        let version = store.version();
        let key = FillKey { key: key.clone(), scope };
        let mut fills = self.shard(&key);
        if let Some(fill) = fills.get(&key) {
            let fill = Arc::clone(fill);
            return store
                .is_current(&key.key, fill.version)
                .then_some(Fill::Follower(FillFollower { fill, place: None }));
        }
        let fill = Arc::new(SharedFill { version, state: Mutex::new(FillState::Waiting(Vec::new())) });
        fills.insert(key.clone(), Arc::clone(&fill));
        Some(Fill::Leader(FillLeader { fill, fills: Arc::downgrade(self), key }))
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn shard(&self, key: &FillKey) -> MutexGuard<'_, HashMap<FillKey, Arc<SharedFill>>> {
        let number = (self.hasher.hash_one(key) as usize) % SHARDS;
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FillLeader {
    /// Sees from elsewhere whether anybody waits for it.
    #[must_use]
    pub fn watch(&self) -> FillWatch {
        FillWatch { fill: Arc::downgrade(&self.fill) }
    }

    /// Tells the others what it has found out.
    pub fn settle(&self, outcome: FillOutcome) {
        let before = std::mem::replace(&mut *self.fill.lock(), FillState::Settled(outcome));
        if let FillState::Waiting(waiting) = before {
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

impl FillWatch {
    /// Whether anybody waits for the response, or has just joined.
    #[must_use]
    pub fn has_followers(&self) -> bool {
        // The leader has it, and the table.
        self.fill.strong_count() > 2
    }
}

impl Drop for FillLeader {
    fn drop(&mut self) {
        if let Some(fills) = self.fills.upgrade() {
            fills.shard(&self.key).remove(&self.key);
        }
        let is_waiting = matches!(*self.fill.lock(), FillState::Waiting(_));
        if is_waiting {
            self.settle(FillOutcome::Abandoned);
        }
    }
}

impl Future for FillFollower {
    type Output = FillOutcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<FillOutcome> {
        let Self { fill, place } = &mut *self;
        match &mut *fill.lock() {
            FillState::Settled(outcome) => Poll::Ready(outcome.clone()),
            FillState::Waiting(waiting) => {
                match place.and_then(|place| waiting.get_mut(place)) {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => {
                        *place = Some(waiting.len());
                        waiting.push(context.waker().clone());
                    }
                }
                Poll::Pending
            }
        }
    }
}

impl SharedFill {
    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, FillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks: more than threads, so that they rarely wait for one another.
const SHARDS: usize = 64;

#[cfg(test)]
mod tests {
    use serow_message::Scheme;

    use super::*;
    use crate::stored::tests::stored;

    fn key(path: &str) -> Key {
        Key::new(Scheme::Http, "a", path, None, &[])
    }

    fn poll(follower: &mut FillFollower) -> Poll<FillOutcome> {
        Pin::new(follower).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn leader(fill: Option<Fill>) -> FillLeader {
        match fill {
            Some(Fill::Leader(leader)) => leader,
            other => panic!("{other:?}"),
        }
    }

    fn follower(fill: Option<Fill>) -> FillFollower {
        match fill {
            Some(Fill::Follower(follower)) => follower,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn followers_wait_for_the_leader() {
        let (fills, store) = (Fills::new(), MemoryStore::new(1 << 20, 1 << 10));
        let first = leader(fills.join(&key("/"), 0, &store));
        let mut second = follower(fills.join(&key("/"), 0, &store));
        // Other URIs and routes are none of its business.
        drop((leader(fills.join(&key("/b"), 0, &store)), leader(fills.join(&key("/"), 1, &store))));
        assert!(poll(&mut second).is_pending());
        let (content, _writer) = GrowingContent::new(10, None, &crate::FillMemory::new(10));
        let (tags, version) = (TagNames::default(), store.version());
        let arriving = ArrivingResponse { head: stored(200, &[]).into(), content, tags, version };
        first.settle(FillOutcome::Arriving(Arc::new(arriving)));
        assert!(matches!(poll(&mut second), Poll::Ready(FillOutcome::Arriving(_))));
        let mut third = follower(fills.join(&key("/"), 0, &store));
        assert!(matches!(poll(&mut third), Poll::Ready(FillOutcome::Arriving(_))));
        drop(first);
        drop(leader(fills.join(&key("/"), 0, &store)));
    }

    #[test]
    fn a_leader_that_leaves_has_another_lead() {
        let (fills, store) = (Fills::new(), MemoryStore::new(1 << 20, 1 << 10));
        let first = leader(fills.join(&key("/"), 0, &store));
        let mut second = follower(fills.join(&key("/"), 0, &store));
        assert!(first.watch().has_followers());
        drop(first);
        assert!(matches!(poll(&mut second), Poll::Ready(FillOutcome::Abandoned)));
        let first = leader(fills.join(&key("/"), 0, &store));
        assert!(!first.watch().has_followers());
    }

    #[test]
    fn requests_after_an_invalidation_do_not_join_a_fill_from_before() {
        let (fills, store) = (Fills::new(), MemoryStore::new(1 << 20, 1 << 10));
        let first = leader(fills.join(&key("/"), 0, &store));
        store.invalidate(&key("/"));
        assert!(fills.join(&key("/"), 0, &store).is_none());
        drop(first);
        leader(fills.join(&key("/"), 0, &store));
    }
}
