//! Copies of requests for another upstream, whose responses are discarded.
//!
//! The client's own request never waits for its copy: the copy is sent by a task of its own when the handler has read the
//! body, and is left out where it would take more memory or connections than it may.

mod copied_body;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serow::{Body, BodyKind, Connection, Headers, KnownHeader, Method, Request, RequestHead, Response};
use serow_message::RequestId;
use serow_proxy::Proxy;
use tokio::{task::spawn_local, time::timeout};

use self::copied_body::CopiedBody;

/// Where copies of requests go, and which.
#[derive(Clone, Debug)]
pub struct MirrorSettings {
    /// The site and the path of its route, for the status.
    pub name: String,
    /// Requests of a hundred that are copied.
    pub share: u32,
    /// Bytes of the longest body that is copied; requests with a longer one are not.
    pub max_body: usize,
}

/// Sends copies of requests to an upstream. Clones are the same mirror.
#[derive(Clone)]
pub struct Mirror {
    shared: Arc<MirrorState>,
}

struct MirrorState {
    settings: MirrorSettings,
    proxy: Proxy,
    /// Requests so far, from which those that are copied are chosen.
    seen: AtomicU64,
    in_flight: AtomicUsize,
    /// Bytes of all bodies in flight.
    memory: AtomicUsize,
    sent: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// The counts of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorReport {
    /// The site and the path of its route.
    pub name: String,
    /// The upstream.
    pub upstream: String,
    /// Copies that the upstream responded to, whatever the response.
    pub sent: u64,
    /// Copies that were left out: the body was too long or never complete, or too many others were in flight.
    pub dropped: u64,
    /// Copies that the upstream did not respond to.
    pub failed: u64,
}

impl Mirror {
    /// A mirror that sends copies by this proxy.
    #[must_use]
    pub fn new(settings: MirrorSettings, proxy: Proxy) -> Self {
        let shared = MirrorState {
            settings,
            proxy,
            seen: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            memory: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Its counts so far.
    #[must_use]
    pub fn report(&self) -> MirrorReport {
        let MirrorState { settings, proxy, sent, dropped, failed, .. } = &*self.shared;
        MirrorReport {
            name: settings.name.clone(),
            upstream: proxy.upstream().settings().name.clone(),
            sent: sent.load(Ordering::Relaxed),
            dropped: dropped.load(Ordering::Relaxed),
            failed: failed.load(Ordering::Relaxed),
        }
    }

    /// Copies a request without a body, if it is one of those that are copied.
    pub(crate) fn copy_head(&self, request: &Request) {
        if let Some(copy) = self.choose(request) {
            copy.send(Bytes::new());
        }
    }

    /// Copies a request, if it is one of those that are copied; its body is copied while the handler reads it.
    pub(crate) fn copy(&self, mut request: Request) -> Request {
        let Some(mut copy) = self.choose(&request) else { return request };
        let max = self.shared.settings.max_body;
        let body = std::mem::take(&mut request.body);
        request.body = match body.into_kind() {
            BodyKind::Empty => {
                copy.send(Bytes::new());
                Body::empty()
            }
            BodyKind::Bytes(bytes) => {
                if copy.reserve(bytes.len()) {
                    copy.send(bytes.clone());
                }
                bytes.into()
            }
            BodyKind::Incoming(body) => copied(body.into(), copy, max),
            BodyKind::Stream(body) => copied(body.into(), copy, max),
            // No request of a client has one.
            BodyKind::File(range) => Body::file(*range),
        };
        request
    }

    /// A copy of this request without its body, if it is copied.
    fn choose(&self, request: &Request) -> Option<Copy> {
        let number = self.shared.seen.fetch_add(1, Ordering::Relaxed);
        // An upgrade makes a tunnel of the connection, which has two ends only.
        let is_possible = request.method != Method::CONNECT && !request.headers.contains(KnownHeader::Upgrade);
        if !is_possible || !is_chosen(number, self.shared.settings.share) {
            return None;
        }
        if request.headers.list(KnownHeader::Via).count() > MAX_VIA {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        if self.shared.in_flight.fetch_add(1, Ordering::Relaxed) >= MAX_IN_FLIGHT {
            self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let head = RequestHead {
            method: request.method.clone(),
            target: request.target.clone(),
            version: request.version,
            headers: request.headers.clone(),
        };
        let (connection, id) = (request.connection().clone(), RequestId::of(&request.extensions));
        Some(Copy { shared: Arc::clone(&self.shared), head: Some((head, connection)), id, reserved: 0 })
    }
}

/// A body that is copied, unless it is known to be too long.
fn copied(body: Body, copy: Copy, max: usize) -> Body {
    match body.length() {
        Some(0) => {
            copy.send(Bytes::new());
            body
        }
        Some(length) if length > max as u64 => body,
        _ => Body::stream(CopiedBody::new(body, copy, max)),
    }
}

/// Whether the request with this number is copied: as many of a hundred as are to be, in no order that clients repeat.
fn is_chosen(number: u64, share: u32) -> bool {
    // SplitMix64 spreads consecutive numbers evenly.
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % 100 < u64::from(share)
}

/// A copy that is made or in flight. Dropping it before it is sent counts it as dropped.
struct Copy {
    shared: Arc<MirrorState>,
    head: Option<(RequestHead, Connection)>,
    id: Option<RequestId>,
    /// Bytes of its body.
    reserved: usize,
}

impl Copy {
    /// Whether there is room for so many more bytes of its body.
    fn reserve(&mut self, bytes: usize) -> bool {
        let wanted = self.reserved + bytes;
        if wanted > self.shared.settings.max_body {
            return false;
        }
        if self.shared.memory.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_MEMORY {
            self.shared.memory.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.reserved = wanted;
        true
    }

    /// Sends it with this body, by a task of its own.
    fn send(mut self, body: Bytes) {
        let Some((mut head, connection)) = self.head.take() else { return };
        prepare(&mut head.headers);
        let body = if body.is_empty() { Body::empty() } else { body.into() };
        let mut request = Request::new(head, body, connection);
        if let Some(id) = self.id {
            request.extensions.insert(id);
        }
        let response = self.shared.proxy.respond(request);
        spawn_local(async move {
            let response = timeout(TIMEOUT, response).await;
            let is_sent = response
                .as_ref()
                .is_ok_and(|response| response.extensions.get::<serow_gateway::ErrorReason>().is_none());
            let counter = if is_sent { &self.shared.sent } else { &self.shared.failed };
            counter.fetch_add(1, Ordering::Relaxed);
            if let Ok(response) = response {
                let _ = timeout(TIMEOUT, discard(response)).await;
            }
            drop(self);
        });
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.shared.memory.fetch_sub(self.reserved, Ordering::Relaxed);
        if self.head.is_some() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The body is there already, whatever the client waited for or announced.
fn prepare(headers: &mut Headers) {
    for name in [KnownHeader::Expect, KnownHeader::ContentLength, KnownHeader::TransferEncoding] {
        headers.remove(name);
    }
}

/// Reads a short response, so that its connection is kept; a longer one is cut off.
async fn discard(mut response: Response) {
    let mut read = 0;
    while let Some(Ok(piece)) = response.body.chunk().await {
        read += piece.len();
        if read > MAX_DISCARDED {
            return;
        }
    }
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Mirror").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

/// Servers that a request may have come through: a copy that comes back to this mirror would be copied again, without end.
const MAX_VIA: usize = 8;

/// Copies in flight: an upstream that does not respond must not collect connections and tasks without end.
const MAX_IN_FLIGHT: usize = 512;

/// Bytes of the bodies of all copies of a mirror: clients that upload slowly must not fill the memory. While bodies grow,
/// the allocator takes about as much again: 116 MB were measured with an upstream that never reads.
const MAX_MEMORY: usize = 64 << 20;

/// How long the upstream may take to respond, and to send the response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a response that are read so that its connection is kept: it is cheaper to open another one than to read more.
const MAX_DISCARDED: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_requests_is_chosen() {
        for share in [1, 10, 50, 99] {
            let chosen = (0..100_000).filter(|number| is_chosen(*number, share)).count();
            assert!(chosen.abs_diff(share as usize * 1000) < 500, "{share}: {chosen}");
        }
        assert!((0..1000).all(|number| is_chosen(number, 100)));
        // No pattern of ten requests is always or never chosen.
        for offset in 0..10 {
            let chosen = (0..1000).filter(|round| is_chosen(round * 10 + offset, 10)).count();
            assert!((50..150).contains(&chosen), "{offset}: {chosen}");
        }
    }
}
