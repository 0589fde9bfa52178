//! A request that a worker has, and whose response is awaited.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{sync::watch, task::AbortHandle};

use crate::{
    attempt_notes::AttemptNotes,
    exchange::{Event, Exchange},
    messages,
    pool::Ticket,
    settings::WebSocketSettings,
    shared_state::ApplicationState,
};

/// A pending response. Dropping it cancels the request.
pub(crate) struct PendingResponse {
    shared: Arc<ApplicationState>,
    pub(crate) ticket: Ticket,
    pub(crate) exchange: Arc<Exchange>,
    /// For the access log.
    notes: Option<AttemptNotes>,
    /// The task that forwards the request body.
    uploading: Option<AbortHandle>,
    /// Whether the last event has come, or nobody waits for it.
    pub(crate) is_over: bool,
}

impl PendingResponse {
    /// Of a request that was passed to the pool.
    pub(crate) fn new(
        shared: Arc<ApplicationState>,
        ticket: Ticket,
        exchange: Arc<Exchange>,
        notes: Option<AttemptNotes>,
    ) -> Self {
        Self { shared, ticket, exchange, notes, uploading: None, is_over: false }
    }

    /// Notes the task that forwards the request body: it ends with this.
    pub(crate) fn note_upload(&mut self, task: AbortHandle) {
        self.uploading = Some(task);
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        let event = ready!(self.exchange.poll_next(context));
        // A worker that writes to a socket of its own goes on.
        self.is_over = event.is_last() && !matches!(event, Event::Hijack(_));
        Poll::Ready(event)
    }

    /// The client has read so many bytes; sends the worker a window update when it is worth it.
    pub(crate) fn give_room(&self, taken: &mut usize) {
        if *taken >= ROOM_STEP
            && let Some(link) = self.exchange.link()
        {
            link.send_message(messages::ROOM, self.ticket, taken.to_string().as_bytes());
            *taken = 0;
        }
    }

    /// Cancels the request; a WebSocket's worker gets the close code and reason.
    pub(crate) fn leave(&mut self, content: &[u8]) {
        if !mem::replace(&mut self.is_over, true) {
            self.shared.cancel(self.ticket, &self.exchange, self.notes.as_ref(), content);
        }
    }

    /// Notifies when the server stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.shared.stopping()
    }

    /// How WebSockets are carried.
    pub(crate) fn websocket_settings(&self) -> &WebSocketSettings {
        &self.shared.settings.websocket
    }

    /// The name of the application.
    pub(crate) fn application(&self) -> &str {
        &self.shared.settings.run.name
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        if let Some(uploading) = &self.uploading {
            uploading.abort();
        }
        self.leave(b"");
    }
}

/// Bytes between window updates: one for each piece would be many packets, and with four per window the worker need not
/// wait.
const ROOM_STEP: usize = 64 * 1024;
