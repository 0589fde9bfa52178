//! Informational responses (1xx), which a handler sends before its response, such as 103 Early Hints (RFC 8297).

use core::{
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Waker},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use http::{StatusCode, Version};

use crate::{Headers, KnownHeader, ResponseHead};

/// Sends informational responses ahead of the response; the handler's end of the queue.
///
/// ```
/// use serow_message::{Headers, Request, Response, StatusCode};
///
/// async fn page(request: Request) -> Response {
///     let mut hints = Headers::new();
///     let _ = hints.append("link", "</style.css>; rel=preload; as=style");
///     request.informational().send(StatusCode::EARLY_HINTS, hints);
///     Response::text("…")
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct InformationalSender {
    shared: Option<Arc<Shared>>,
}

/// The queue of informational responses of one request; the connection's end.
#[derive(Clone, Debug, Default)]
pub struct InformationalQueue {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether the queue holds a response: checked for each request, so outside the lock.
    has_waiting: AtomicBool,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    heads: Vec<ResponseHead>,
    connection: Option<Waker>,
}

impl InformationalSender {
    /// Queues an informational response; it is sent at once, as far as the peer takes it. A status outside 102–199 is
    /// ignored: 100 is the server's own business (it answers `Expect` when the body is read), and 101 is a response.
    /// Nothing is sent to an HTTP/1.0 client, which would take it for the response (RFC 9110 §15.2).
    pub fn send(&self, status: StatusCode, headers: Headers) {
        if !(102..200).contains(&status.as_u16()) {
            return;
        }
        if let Some(shared) = &self.shared {
            let mut queue = lock(&shared.queue);
            if queue.heads.len() < MAX_WAITING {
                queue.heads.push(ResponseHead { status, version: Version::HTTP_11, headers });
                shared.has_waiting.store(true, Ordering::Release);
            }
            if let Some(connection) = queue.connection.take() {
                connection.wake();
            }
        }
    }

    /// Sends 103 Early Hints (RFC 8297) with a field `link` for each of these values. One that is not a field value is left
    /// out: a hint is not needed.
    ///
    /// ```
    /// # use serow_message::{Request, Response};
    /// async fn page(request: Request) -> Response {
    ///     request.informational().send_early_hints(&["</style.css>; rel=preload; as=style"]);
    ///     Response::text("…")
    /// }
    /// ```
    pub fn send_early_hints(&self, links: &[&str]) {
        let mut headers = Headers::new();
        for link in links {
            let _ = headers.append(KnownHeader::Link, link);
        }
        if !headers.is_empty() {
            self.send(StatusCode::EARLY_HINTS, headers);
        }
    }
}

impl InformationalQueue {
    /// The handler's end.
    #[must_use]
    pub fn sender(&self) -> InformationalSender {
        InformationalSender { shared: Some(Arc::clone(&self.shared)) }
    }

    /// Whether no handler holds the other end any more and the queue is empty, so that it can be used for the next
    /// request.
    #[must_use]
    #[inline]
    pub fn is_free(&self) -> bool {
        Arc::strong_count(&self.shared) == 1 && !self.has_waiting()
    }

    /// Whether the queue is not empty.
    #[must_use]
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.shared.has_waiting.load(Ordering::Acquire)
    }

    /// Takes the queued responses.
    #[must_use]
    pub fn take(&self) -> Vec<ResponseHead> {
        self.take_from(&mut lock(&self.shared.queue))
    }

    /// Takes the queued responses; wakes the task of `context` when more are queued.
    #[must_use]
    pub fn poll_take(&self, context: &mut Context<'_>) -> Vec<ResponseHead> {
        let mut queue = lock(&self.shared.queue);
        match &mut queue.connection {
            Some(waker) if waker.will_wake(context.waker()) => {}
            slot => *slot = Some(context.waker().clone()),
        }
        self.take_from(&mut queue)
    }

    fn take_from(&self, queue: &mut Queue) -> Vec<ResponseHead> {
        self.shared.has_waiting.store(false, Ordering::Release);
        core::mem::take(&mut queue.heads)
    }
}

/// No code panics while it holds this lock, so a poisoned one is as good as any.
fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The maximum number of queued responses for a peer that does not read: a handler in a loop must not fill the memory.
const MAX_WAITING: usize = 64;
