//! The messages of a worker about one request, on their way to the task that waits for the response.

mod spooling;

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use serow_gateway::{OverflowFile, OverflowPart};
use serow_message::{Body, Headers, StatusCode};

use crate::{hijacked_socket::Hijack, messages::MessageKind, request_error::RequestError, worker_link::WorkerLink};

/// One request and the received part of its response. The thread that receives a worker's replies adds them; errors
/// come from any thread.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    state: Mutex<ExchangeState>,
    /// The worker of a response in progress, if it waits for window updates.
    link: OnceLock<Arc<WorkerLink>>,
}

#[derive(Debug, Default)]
struct ExchangeState {
    events: Events,
    /// Bytes of pieces among them, in memory.
    waiting: usize,
    /// The file of the pieces that a slow client has not read, as long as any of them are there.
    file: Weak<OverflowFile>,
    /// Events behind pieces that are being written to the file.
    behind: Option<VecDeque<Event>>,
    /// Whether a response has begun, so that the request cannot be retried.
    has_begun: bool,
    /// The response is complete, or nobody waits for it.
    is_settled: bool,
    is_abandoned: bool,
    /// Bytes that the application has room for.
    room: usize,
    reader: Option<Waker>,
    /// The task that waits for room, on either side.
    sender_waker: Option<Waker>,
}

/// Events that were not delivered yet. Usually there is one, which needs no allocation.
#[derive(Debug, Default)]
struct Events {
    first: Option<Event>,
    others: VecDeque<Event>,
}

/// An event of a request.
#[derive(Debug)]
pub(crate) enum Event {
    InformationalSender(StatusCode, Headers),
    /// A response, and whether all of its body is there.
    Head {
        status: StatusCode,
        headers: Headers,
        body: Body,
        is_whole: bool,
    },
    Piece(Bytes),
    /// Pieces that wait in a file.
    Spooled(OverflowPart),
    /// The rest of the response is written to a socket.
    Hijack(Box<Hijack>),
    /// The body has ended, perhaps with trailers.
    End(Option<Headers>),
    Failed(RequestError),
    /// A message of a WebSocket, or a piece of one.
    Message {
        kind: MessageKind,
        is_last: bool,
        content: Bytes,
    },
    /// A WebSocket is to be closed.
    Close {
        code: u16,
        reason: String,
    },
}

impl Exchange {
    /// Hands something over.
    pub(crate) fn push(&self, event: Event) {
        let mut state = self.lock();
        if state.is_settled {
            return;
        }
        state.is_settled = event.is_last();
        match &event {
            Event::Piece(piece) => state.waiting += piece.len(),
            Event::Head { .. } | Event::Hijack(_) => state.has_begun = true,
            _ => {}
        }
        match &mut state.behind {
            Some(behind) => behind.push_back(event),
            None => state.events.push(event),
        }
        if let Some(reader) = state.reader.take() {
            drop(state);
            reader.wake();
        }
    }

    /// Whether there is room for more pieces.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.lock();
        state.waiting < MAX_WAITING || state.is_abandoned
    }

    /// Waits for room for more pieces.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.waiting < MAX_WAITING || state.is_abandoned {
            return Poll::Ready(());
        }
        state.sender_waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// The next event.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Event> {
        let mut state = self.lock();
        let Some(event) = state.events.pop() else {
            state.reader = Some(context.waker().clone());
            return Poll::Pending;
        };
        if let Event::Piece(piece) = &event {
            state.waiting -= piece.len();
            if state.waiting < MAX_WAITING {
                wake(state.sender_waker.take());
            }
        }
        Poll::Ready(event)
    }

    /// Abandons the response: its events and all further ones are dropped.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        (state.is_settled, state.is_abandoned) = (true, true);
        (state.events, state.behind) = (Events::default(), None);
        let sender_waker = state.sender_waker.take();
        drop(state);
        wake(sender_waker);
    }

    /// The application has room for more bytes. From now on the request cannot be retried.
    pub(crate) fn give_room(&self, room: usize) {
        let mut state = self.lock();
        state.has_begun = true;
        state.room += room;
        let sender_waker = state.sender_waker.take();
        drop(state);
        wake(sender_waker);
    }

    /// Waits for room, and takes all of it.
    pub(crate) fn poll_given(&self, context: &mut Context<'_>) -> Poll<usize> {
        let mut state = self.lock();
        if state.room > 0 {
            return Poll::Ready(mem::take(&mut state.room));
        }
        state.sender_waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// This worker waits for window updates.
    pub(crate) fn belongs_to(&self, link: &Arc<WorkerLink>) {
        self.link.get_or_init(|| Arc::clone(link));
    }

    /// The worker that waits for window updates.
    pub(crate) fn link(&self) -> Option<&Arc<WorkerLink>> {
        self.link.get()
    }

    /// Whether the response is complete, or nobody waits for it.
    pub(crate) fn is_settled(&self) -> bool {
        self.lock().is_settled
    }

    /// Whether a response has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().has_begun
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, ExchangeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    fn push(&mut self, event: Event) {
        match self.first {
            None => self.first = Some(event),
            Some(_) => self.others.push_back(event),
        }
    }

    fn pop(&mut self) -> Option<Event> {
        mem::replace(&mut self.first, self.others.pop_front())
    }

    /// The last one, if it is a piece in memory with others before it.
    fn pop_last_piece(&mut self) -> Option<Bytes> {
        match self.others.pop_back()? {
            Event::Piece(piece) => Some(piece),
            other => {
                self.others.push_back(other);
                None
            }
        }
    }
}

impl Event {
    /// Whether this is the worker's last event.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Self::End(_) | Self::Failed(_) | Self::Hijack(_) | Self::Head { is_whole: true, .. })
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Bytes of a body that wait for the client in memory: most pages are smaller. Longer ones wait in a file, so that
/// thousands of slow clients do not fill the memory.
const MAX_WAITING: usize = 256 * 1024;
