//! A cache around a handler: responses that are stored, and requests that share one that is arriving.
//!
//! The decisions are those of `serow-cache`; here are the requests and responses.
//!
//! | step | file |
//! | --- | --- |
//! | what the settings say | `cache/settings.rs` |
//! | what of a request decides, and which requests pass by | `cache/demand.rs` |
//! | whether a stored response is sent, or the request is forwarded, or waits for another | `cache/answer.rs` |
//! | the request on its way, with conditions that validate what is stored | `cache/fetch.rs` |
//! | whether the response is stored or passed on | `cache/receipt.rs` |
//! | a body that is stored while it arrives | `cache/filling.rs`, `cache/arriving_body.rs` |
//! | the response that the client gets | `cache/delivery.rs` |

mod answer;
mod arriving_body;
mod delivery;
mod demand;
mod fetch;
mod filling;
mod receipt;
mod settings;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use serow::{Method, Request, Response};
use serow_cache::{
    CacheStatus, FillMemory, Fills, ForwardReason, MemoryStore, TagNames, Time, invalidated, invalidates,
};

pub(crate) use self::demand::Identified;
use self::demand::{Admission, Demand};
pub use self::settings::{CacheBypass, CacheSettings, IgnoredQuery};
use crate::{RouteHandler, site_response::SiteResponse};

/// Stored responses, which all routes and workers share. Clones are the same store.
#[derive(Clone, Debug)]
pub struct CacheStore {
    shared: Arc<SharedStore>,
}

#[derive(Debug)]
struct SharedStore {
    memory: MemoryStore,
    fills: Arc<Fills>,
    /// The memory of responses that are arriving.
    fill_memory: Arc<FillMemory>,
    /// When the store was made, by both clocks: a machine whose clock is set does not make responses fresh again.
    start: (Instant, Time),
}

/// The cache of one route. Clones are the same cache.
#[derive(Clone, Debug)]
pub struct ResponseCache {
    store: CacheStore,
    settings: Arc<CacheSettings>,
    /// The number of the route: two routes may forward the same URI to different servers.
    scope: u32,
}

impl CacheStore {
    /// A store in memory of so many bytes, and half as many for responses that are arriving, of which the content of a response takes at most `max_object`.
    #[must_use]
    pub fn in_memory(size: u64, max_object: usize) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start = (Instant::now(), Time::default().after(since_1970));
        let memory = MemoryStore::new(size, max_object);
        let fill_memory = FillMemory::new(usize::try_from(size / 2).unwrap_or(usize::MAX));
        Self { shared: Arc::new(SharedStore { memory, fills: Fills::new(), fill_memory, start }) }
    }

    /// Bytes of the largest response that is stored in memory of this size, where the settings do not say it: a few large
    /// ones should not displace all others.
    #[must_use]
    pub fn default_max_object(size: u64) -> usize {
        usize::try_from((size / 4).min(MAX_OBJECT)).unwrap_or(usize::MAX)
    }

    fn now(&self) -> Time {
        let (instant, time) = self.shared.start;
        time.after(instant.elapsed())
    }
}

impl ResponseCache {
    /// The cache of a route, which stores its responses there.
    #[must_use]
    pub fn new(store: CacheStore, settings: CacheSettings) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self { store, settings: Arc::new(settings), scope: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Answers a request, or has this handler do it.
    pub(crate) fn respond(&self, handler: &RouteHandler, request: Request) -> SiteResponse {
        match Demand::of(request, &self.settings) {
            Admission::Cached(request, demand) => self.answer(handler, request, demand),
            Admission::Unsafe(request, key) => {
                let (cache, method) = (self.clone(), request.method.clone());
                let response = handler.respond(request);
                SiteResponse::pending(Box::pin(async move {
                    let response = response.await;
                    if invalidates(&method, response.status) {
                        let keys = invalidated(&key, &response.headers);
                        keys.iter().for_each(|key| cache.memory().invalidate(key));
                    }
                    with_status(response, CacheStatus::forwarded(ForwardReason::Method))
                }))
            }
            Admission::Passed(request) => {
                let reason = match request.method {
                    Method::GET | Method::HEAD => ForwardReason::Bypass,
                    _ => ForwardReason::Method,
                };
                let response = handler.respond(request);
                SiteResponse::pending(Box::pin(
                    async move { with_status(response.await, CacheStatus::forwarded(reason)) },
                ))
            }
        }
    }

    fn memory(&self) -> &MemoryStore {
        &self.store.shared.memory
    }
}

/// The response, which says what the cache did.
fn with_status(mut response: Response, status: CacheStatus) -> Response {
    // They are for caches, and this was the last one that they were for.
    drop(TagNames::take(&mut response.headers));
    // Behind those of caches nearer to the origin (RFC 9211 §2).
    let _ = response.headers.append("cache-status", status.to_string());
    response.extensions.insert(status);
    response
}

/// Bytes of the largest response that is stored if the settings do not say it: larger ones are downloads, for which memory
/// is too precious.
const MAX_OBJECT: u64 = 8 << 20;
