//! Requests that are cancelled, or taken back from a worker.

use std::{iter, sync::Arc};

use serow_net::monotonic;

use super::{ApplicationState, Sent};
use crate::{
    attempt_notes::AttemptNotes,
    exchange::Exchange,
    messages,
    pool::{Cancelled, PoolRequest, Ticket},
    worker_link::WorkerLink,
};

impl ApplicationState {
    /// Takes back the first request that a worker has not begun and that a client still waits for.
    pub(super) fn take_back(&self, link: &WorkerLink) -> Option<PoolRequest<Arc<Sent>>> {
        while let Some(ticket) = untaken(link) {
            let request = self.pool().taken_back(link.number, ticket, monotonic());
            if let Some(request) = request.filter(|request| !request.content.exchange.is_settled()) {
                return Some(request);
            }
        }
        None
    }

    /// Takes all of them back.
    fn take_all_back(&self, link: &WorkerLink) -> Vec<PoolRequest<Arc<Sent>>> {
        iter::from_fn(|| self.take_back(link)).collect()
    }

    /// Cancels a request; a WebSocket's worker gets the close code and reason.
    pub(crate) fn cancel(&self, ticket: Ticket, exchange: &Exchange, notes: Option<&AttemptNotes>, content: &[u8]) {
        let has_begun = exchange.has_begun();
        exchange.abandon();
        let cancelled = self.pool().cancel(ticket, monotonic());
        // Without a response, there is no place for notes.
        if let (Some(notes), true, Cancelled::InFlight(link)) = (notes, has_begun, &cancelled)
            && let Some(times) = self.pool().times(link.number, ticket, monotonic())
        {
            notes.note_end(&link.name(), times);
        }
        match cancelled {
            // It need not be the first of those that wait there.
            Cancelled::SentAhead(link) => self.ask_again(self.take_all_back(&link)),
            Cancelled::InFlight(link) if self.settings.program.interface.is_concurrent() => {
                link.send_message(messages::CANCEL, ticket, content);
            }
            // A worker that sends a long response is notified; requests in its socket are moved behind the
            // notification.
            Cancelled::InFlight(link) if has_begun => {
                let others = self.take_all_back(&link);
                link.send_message(messages::CANCEL, ticket, b"");
                self.ask_again(others);
            }
            Cancelled::InFlight(_) | Cancelled::Unseen | Cancelled::Unknown => {}
        }
    }

    /// This worker accepts no more requests; those that were sent ahead go to others.
    pub(crate) fn leave(&self, link: &WorkerLink) {
        self.pool().retire(link.number);
        self.ask_again(self.take_all_back(link));
    }
}

/// Takes back the first request that a worker has not read. Cancellations stay in its socket.
fn untaken(link: &WorkerLink) -> Option<Ticket> {
    let mut words = Vec::new();
    let mut ticket = None;
    while let Ok(Some(message)) = link.untaken.try_receive() {
        ticket = messages::ticket_of(&message.bytes);
        if ticket.is_some() {
            break;
        }
        words.push(message.bytes);
    }
    // A worker that is gone needs no cancellations.
    words.iter().for_each(|word| drop(link.requests.send(word, &[])));
    ticket
}
