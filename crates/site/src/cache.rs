//! A cache around a handler: responses that are stored, and requests that share one that is arriving.
//!
//! The decisions are those of `serow-cache`; here are the requests and responses.
//!
//! | step | file |
//! | --- | --- |
//! | what the settings say, and the handler that is cached | `cache/settings.rs`; `cache/origin.rs`, `cache/route_cache.rs` |
//! | what of a request decides, and which requests pass by | `cache/cache_request.rs` |
//! | whether a stored response is sent, or the request is forwarded, or waits for another | `cache/answer.rs` |
//! | the request on its way, with conditions that validate what is stored | `cache/fetch.rs` |
//! | the stored response that a 304 or a response to HEAD is about | `cache/validation.rs` |
//! | whether the response is stored or passed on | `cache/store_decision.rs`, `cache/partial_response.rs` |
//! | a body that is stored while it arrives | `cache/filling.rs`, `cache/filling_file.rs`, `cache/arriving_body.rs` |
//! | the response that the client gets | `cache/delivery.rs` |
//! | purges, also by requests | `cache/purging.rs` |
//! | what is counted; what the store holds | `cache/counters.rs`; `cache/contents.rs` |

mod answer;
mod arriving_body;
mod cache_request;
mod contents;
mod counters;
mod delivery;
mod fetch;
mod filling;
mod filling_file;
mod origin;
mod partial_response;
mod purging;
mod route_cache;
mod settings;
mod store_decision;
#[cfg(test)]
mod transparency;
mod validation;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::UNIX_EPOCH,
};

use serow::{Handler, Method, Request, Response};
use serow_cache::{FillMemory, Fills, Key, MemoryStore, Persistence, TagNames, Time, invalidated, invalidates};
pub use serow_cache_disk::{DiskCounts, FolderError, prepare as prepare_folder};
use serow_cache_disk::{DiskStore, DiskThread};
use serow_message::{CacheStatus, ForwardReason};
use serow_net::time;
// That of the system, unless a test sets the clock.
use tokio::time::Instant;

use self::{
    cache_request::{CacheDecision, CacheRequest},
    counters::{CacheCounters, CacheEvent},
    origin::Origin,
};
pub use self::{
    contents::{ContentsLine, ContentsOrder},
    counters::CacheReport,
    route_cache::RouteCache,
    settings::{CacheBypass, CacheSettings, IgnoredQuery, PurgingClients, StatusField},
};
use crate::{Content, site_response::SiteResponse};

/// Stored responses, which all routes and workers share. Clones are the same store.
#[derive(Clone, Debug)]
pub struct CacheStore {
    shared: Arc<SharedStore>,
}

/// A folder with responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFolder {
    /// Its path.
    pub path: PathBuf,
    /// Bytes that the files in it may take.
    pub size: u64,
    /// Bytes of the largest response that is stored in memory as well; a larger one has a file of its own.
    pub max_object: usize,
}

/// Keeps responses in a folder until it is dropped.
#[derive(Debug)]
pub struct CacheWriter {
    _thread: DiskThread,
}

#[derive(Debug)]
struct SharedStore {
    memory: Arc<MemoryStore>,
    /// Where responses are kept beyond this process.
    folder: Option<CacheFolder>,
    /// The store on disk, once the folder is open.
    disk: OnceLock<Arc<DiskStore>>,
    fills: Arc<Fills>,
    /// The memory of responses that are arriving.
    fill_memory: Arc<FillMemory>,
    counters: CacheCounters,
    /// When the store was made, by both clocks: a machine whose clock is set does not make responses fresh again.
    start: (Instant, Time),
}

/// The cache of one route, around its handler. Clones are the same cache.
#[derive(Clone, Debug)]
pub struct ResponseCache {
    store: CacheStore,
    settings: Arc<CacheSettings>,
    /// The properties of the handler that it has to know.
    origin: Arc<Origin>,
    /// A digest of the route and its handler: two routes may forward the same URI to different servers.
    scope: u32,
}

impl CacheStore {
    /// A store in memory of so many bytes, and half as many for responses that are arriving, of which the content of a response takes at most `max_object`.
    #[must_use]
    pub fn in_memory(size: u64, max_object: usize) -> Self {
        let since_1970 = time::wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::since(Time::default().after(since_1970), size, max_object)
    }

    /// The same, which begins now, at this time.
    fn since(time: Time, size: u64, max_object: usize) -> Self {
        let start = (Instant::now(), time);
        let memory = Arc::new(MemoryStore::new(size, max_object));
        let fill_memory = FillMemory::new(usize::try_from(size / 2).unwrap_or(usize::MAX));
        let (fills, counters) = (Fills::new(), CacheCounters::default());
        Self {
            shared: Arc::new(SharedStore {
                memory,
                folder: None,
                disk: OnceLock::new(),
                fills,
                fill_memory,
                counters,
                start,
            }),
        }
    }

    /// The same store, with responses in the files of a folder as well.
    #[must_use]
    pub fn with_folder(self, folder: CacheFolder) -> Self {
        let SharedStore { memory, fills, fill_memory, start, .. } = &*self.shared;
        let (memory, fills, fill_memory) = (Arc::clone(memory), Arc::clone(fills), Arc::clone(fill_memory));
        let (folder, counters) = (Some(folder), CacheCounters::default());
        Self {
            shared: Arc::new(SharedStore {
                memory,
                folder,
                disk: OnceLock::new(),
                fills,
                fill_memory,
                counters,
                start: *start,
            }),
        }
    }

    /// The folder with responses, if there is one.
    #[must_use]
    pub fn folder(&self) -> Option<&CacheFolder> {
        self.shared.folder.as_ref()
    }

    /// Begins to keep responses in the folder, which was prepared, until what this returns is dropped; nothing if there is
    /// none. `server` tells the processes of one server from other servers; its low half is the number of a process,
    /// for messages.
    ///
    /// # Errors
    ///
    /// The folder cannot be opened.
    pub fn keep(&self, server: u64) -> Result<Option<CacheWriter>, FolderError> {
        let Some(folder) = &self.shared.folder else { return Ok(None) };
        let disk = Arc::new(DiskStore::open(&folder.path, folder.size, server)?);
        let persistence: Arc<dyn Persistence> = Arc::<DiskStore>::clone(&disk);
        self.shared.memory.persist(persistence);
        let _ = self.shared.disk.set(Arc::clone(&disk));
        let thread = DiskThread::start(disk, Arc::clone(&self.shared.memory));
        let thread = thread.map_err(|error| FolderError::System(folder.path.clone(), error))?;
        Ok(Some(CacheWriter { _thread: thread }))
    }

    /// Bytes of the largest response that is stored in memory of this size, where the settings do not say it: a few large
    /// ones should not displace all others.
    #[must_use]
    pub fn default_max_object(size: u64) -> usize {
        usize::try_from((size / 4).min(MAX_OBJECT)).unwrap_or(usize::MAX)
    }

    /// Bytes of the largest response that is not written to a file of its own.
    fn memory_threshold(&self) -> usize {
        let max_object = self.shared.memory.max_object();
        self.shared.folder.as_ref().map_or(max_object, |folder| folder.max_object.min(max_object))
    }

    /// Whether a response of so many bytes can be stored, if there is nothing else.
    fn has_place_for(&self, length: u64) -> bool {
        let in_folder = || self.shared.folder.as_ref().is_some_and(|folder| length <= folder.size / 2);
        length <= self.shared.memory.max_object() as u64 || in_folder()
    }

    /// Whether a response of so many bytes is fetched and stored as a whole since somebody has asked for a part of it.
    fn is_fetched_for_parts(&self, length: u64) -> bool {
        length <= FETCHED_FOR_PARTS && self.has_place_for(length)
    }

    fn now(&self) -> Time {
        let (instant, time) = self.shared.start;
        time.after(instant.elapsed())
    }
}

impl CacheFolder {
    /// Bytes of the largest response that has no file of its own, where the settings do not say it: larger ones cost less
    /// to send from the kernel's cache by `sendfile` than from memory (docs/measurements/cache.md).
    pub const MAX_OBJECT: usize = 256 << 10;
}

impl ResponseCache {
    /// Answers a request, or has this handler do it.
    pub(crate) fn respond<H: Handler>(&self, handler: &H, mut request: Request) -> SiteResponse {
        if let Some(response) = self.purged_by(&request) {
            return SiteResponse::Ready(Some(response));
        }
        match CacheRequest::of(&mut request, &self.settings, &self.origin.trust) {
            CacheDecision::Cached(cache_request) => self.answer(handler, request, cache_request),
            CacheDecision::Unsafe(key) => {
                let (cache, method) = (self.clone(), request.method.clone());
                let response = handler.call(request);
                SiteResponse::pending(Box::pin(async move {
                    let response = without_tags(response.await);
                    if invalidates(&method, response.status) {
                        let keys = invalidated(&key, &response.headers);
                        keys.iter().for_each(|key| cache.memory().invalidate(key));
                    }
                    cache.finish(response, CacheStatus::forwarded(ForwardReason::Method), Some(&key))
                }))
            }
            CacheDecision::Passed => {
                let reason = match request.method {
                    Method::GET | Method::HEAD => ForwardReason::Bypass,
                    _ => ForwardReason::Method,
                };
                let (cache, response) = (self.clone(), handler.call(request));
                SiteResponse::pending(Box::pin(async move {
                    cache.finish(without_tags(response.await), CacheStatus::forwarded(reason), None)
                }))
            }
        }
    }

    fn memory(&self) -> &MemoryStore {
        &self.store.shared.memory
    }

    /// Counts something.
    fn note(&self, event: CacheEvent) {
        self.store.shared.counters.note(event);
    }

    /// The response that the client gets, which says what the cache did.
    fn finish(&self, mut response: Response, status: CacheStatus, key: Option<&Key>) -> Response {
        self.note(CacheEvent::of(status));
        let value = match (self.settings.status_field, key) {
            (StatusField::Off, _) => None,
            (StatusField::Debug, Some(key)) => Some(format!("{status}; key={}", key.quoted())),
            (StatusField::On | StatusField::Debug, _) => Some(status.value()),
        };
        if let Some(value) = value {
            // Behind those of caches nearer to the origin (RFC 9211 §2).
            let _ = response.headers.append("cache-status", value);
        }
        response.extensions.insert(status);
        response
    }
}

impl Handler for Content {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }
}

/// A response that is not stored, without its tags: they are for caches, and this was the last one that they were for.
fn without_tags(mut response: Response) -> Response {
    drop(TagNames::take(&mut response.headers));
    response
}

/// Bytes of the largest response that is stored if the settings do not say it: larger ones are downloads, for which memory
/// is too precious.
const MAX_OBJECT: u64 = 8 << 20;

/// Bytes of the longest response that is fetched as a whole since somebody has asked for a part of it: who asks for a byte
/// does not have all of a long download fetched.
const FETCHED_FOR_PARTS: u64 = 64 << 20;
