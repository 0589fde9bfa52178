//! A response that is stored while its body arrives.

use std::{future::poll_fn, task::Poll};

use bytes::Bytes;
use serow::{Body, Handler};
use serow_cache::{
    Extent, FillLeader, GrowingContent, GrowingWriter, Key, Storable, StorableHead, StoreVersion, StoredBody,
    StoredContent, TagNames, WholeContent,
};
use tokio::task::{spawn_local, yield_now};

use super::{ResponseCache, counters::CacheEvent, fetch::Fetch, filling_file::FillingFile, store_decision::Accepted};

/// A response whose body arrives, and is read by clients meanwhile. It becomes visible to others when it is whole.
pub(super) struct Filling {
    pub(super) cache: ResponseCache,
    pub(super) key: Key,
    pub(super) version: StoreVersion,
    pub(super) head: StorableHead,
    /// How much of the whole the body is.
    pub(super) extent: Extent,
    pub(super) tags: TagNames,
    /// The body that arrives.
    pub(super) body: Body,
    /// Where it goes.
    pub(super) writer: GrowingWriter,
    /// The file that it is written to, if it is large.
    pub(super) file: FillingFile,
    /// Keeps others waiting for this response.
    pub(super) leader: Option<FillLeader>,
    /// Whether it is stored although no client reads it.
    pub(super) is_wanted_anyway: bool,
}

/// The pieces of a body that have arrived.
struct Gathered {
    pieces: Vec<Bytes>,
    bytes: u64,
    next: Next,
}

/// The event that follows the pieces.
enum Next {
    More,
    /// More, after others have had their turn.
    Yield,
    End,
    /// The rest will not come.
    Cut,
}

impl Filling {
    /// The response to a request that was forwarded, with this body; and its content, for clients. It has no leader: no
    /// other request waits for it.
    pub(super) fn new<H: Handler>(
        fetch: &Fetch<H>,
        accepted: Accepted,
        body: Body,
        tags: TagNames,
    ) -> (Self, GrowingContent) {
        let Accepted { head, extent, file } = accepted;
        let (cache, key, version) = (fetch.cache.clone(), fetch.cache_request.key.clone(), fetch.version);
        let (limit, memory) = (cache.memory().max_object(), &cache.store.shared.fill_memory);
        let (content, writer) = GrowingContent::new(limit, body.length(), memory);
        let (leader, is_wanted_anyway) = (None, false);
        (Self { cache, key, version, head, extent, tags, body, writer, file, leader, is_wanted_anyway }, content)
    }

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
        let Self { cache, key, version, head, extent, tags, writer, file, leader, .. } = self;
        let content = match writer.complete() {
            WholeContent::Memory(bytes) => Some(StoredContent::Memory(bytes)),
            WholeContent::File => file.finish().map(StoredContent::File),
            WholeContent::NotKept => None,
        };
        let body = content.and_then(|content| StoredBody::new(content, extent));
        let is_stored = body.is_some_and(|body| {
            let scope = cache.scope;
            cache.memory().insert(key, version, Storable { head, body, scope, tags })
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
            let Gathered { pieces, bytes, next } = self.gather().await;
            if let Some(left) = &mut left {
                *left = left.checked_sub(bytes)?;
            }
            self.keep(pieces, bytes).await;
            match next {
                // Clients may have left because they have all of it.
                Next::More => (left == Some(0) || self.is_wanted()).then_some(())?,
                Next::Yield => yield_now().await,
                Next::End => return matches!(left, None | Some(0)).then_some(()),
                Next::Cut => return None,
            }
        }
    }

    /// Waits for the next piece; for a file, takes with it those behind that have arrived.
    async fn gather(&mut self) -> Gathered {
        let most = if self.file.is_open() { GATHERED } else { 1 };
        let (mut pieces, mut bytes) = (Vec::new(), 0);
        let next = poll_fn(|context| {
            while bytes < most {
                match self.body.poll_next(context) {
                    Poll::Pending if bytes == 0 => return Poll::Pending,
                    Poll::Pending => break,
                    Poll::Ready(None) => return Poll::Ready(Next::End),
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(Next::Cut),
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        // Its source lets others have their turn.
                        Ok(piece) if piece.is_empty() => return Poll::Ready(Next::Yield),
                        Ok(piece) => {
                            bytes += piece.len() as u64;
                            pieces.push(piece);
                        }
                        Err(_trailers) => {}
                    },
                }
            }
            Poll::Ready(Next::More)
        });
        let next = next.await;
        Gathered { pieces, bytes, next }
    }

    /// Keeps pieces in memory, or in a file if there is too much of them.
    async fn keep(&mut self, pieces: Vec<Bytes>, bytes: u64) {
        if pieces.is_empty() {
            return;
        }
        let limit = self.cache.store.memory_threshold();
        let is_large = || !self.writer.has_memory_for(usize::try_from(bytes).unwrap_or(usize::MAX), limit);
        if matches!(self.file, FillingFile::Undecided) && !self.writer.is_not_kept() && is_large() {
            self.file = FillingFile::new(&self.cache, &self.key, self.writer.length());
            self.file.write(self.writer.in_memory(), &mut self.writer).await;
        }
        let is_in_file = self.file.is_open() && self.file.write(pieces.clone(), &mut self.writer).await;
        if !is_in_file {
            pieces.iter().for_each(|piece| self.writer.push(piece));
        }
        if self.writer.is_not_kept() {
            self.release();
        }
    }

    /// The content cannot be stored: others ask for it themselves.
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

/// Bytes that are written to a file at once, if they have arrived: then few calls to another thread are needed.
const GATHERED: u64 = 256 << 10;
