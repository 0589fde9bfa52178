//! A response that is stored while its body arrives.

use std::future::poll_fn;

use serow::Body;
use serow_cache::{FillLeader, GrowingWriter, Key, Storable, StoreVersion, StoredHead, TagNames};
use tokio::task::{spawn_local, yield_now};

use super::{ResponseCache, counters::CacheEvent};

/// A response whose body arrives, and is read by clients meanwhile. It becomes visible to others when it is whole.
pub(super) struct Filling {
    pub(super) cache: ResponseCache,
    pub(super) key: Key,
    pub(super) version: StoreVersion,
    pub(super) head: StoredHead,
    pub(super) tags: TagNames,
    /// The body that arrives.
    pub(super) body: Body,
    /// Where it goes.
    pub(super) writer: GrowingWriter,
    /// Keeps others waiting for this response.
    pub(super) leader: Option<FillLeader>,
    /// Whether it is stored although no client reads it.
    pub(super) is_wanted_anyway: bool,
}

impl Filling {
    /// Reads the body in a task of its own: the client for which it was requested may leave.
    pub(super) fn start(self) {
        spawn_local(self.run());
    }

    async fn run(mut self) {
        // A body that is cut off, or that nobody wants, ends with the writer: clients see that it is not whole.
        if self.read().await.is_none() {
            self.cache.note(CacheEvent::NotStored);
            return;
        }
        let Self { cache, key, version, head, tags, writer, leader, .. } = self;
        let is_stored = writer.complete().is_some_and(|content| {
            let scope = cache.scope;
            cache.memory().insert(key, version, Storable { head, body: content, scope, tags })
        });
        cache.note(if is_stored { CacheEvent::Stored } else { CacheEvent::NotStored });
        // From here on, requests find it in the store.
        drop(leader);
    }

    /// Reads all of the body; `None` if that is not possible or not wanted.
    async fn read(&mut self) -> Option<()> {
        let mut left = self.body.length();
        loop {
            poll_fn(|context| self.writer.poll_room(context)).await;
            let Some(frame) = poll_fn(|context| self.body.poll_next(context)).await else { break };
            let Ok(piece) = frame.ok()?.into_data() else { continue };
            if piece.is_empty() {
                // Its source lets others have their turn.
                yield_now().await;
                continue;
            }
            if let Some(left) = &mut left {
                *left = left.checked_sub(piece.len() as u64)?;
            }
            self.writer.push(&piece);
            if self.writer.is_over_limit() {
                self.release();
            }
            // Clients may have left because they have all of it.
            (left == Some(0) || self.is_wanted()).then_some(())?;
        }
        matches!(left, None | Some(0)).then_some(())
    }

    /// The content is too long to be stored: others ask for it themselves.
    fn release(&mut self) {
        self.is_wanted_anyway = false;
        if self.leader.take().is_some() {
            let until = self.cache.store.now().after(self.cache.settings.uncacheable_for);
            self.cache.memory().note_uncacheable(&self.key, self.cache.scope, until);
        }
    }

    fn is_wanted(&self) -> bool {
        let is_awaited = || self.leader.as_ref().is_some_and(|leader| leader.watch().has_followers());
        self.is_wanted_anyway || self.writer.is_wanted() || is_awaited()
    }
}
