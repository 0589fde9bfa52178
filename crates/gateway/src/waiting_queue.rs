//! Where requests wait while all servers are at their limits.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicUsize, Ordering, fence},
    },
};

use tokio::{sync::Notify, time::timeout};

use crate::{ErrorReason, QueueSettings};

/// Where the requests of all threads wait until a server of an upstream has room: first come, first served. A request that
/// needs a certain server lets the room of another one pass, to the next request.
#[derive(Debug, Default)]
pub struct WaitingQueue {
    /// The number of requests that wait, for a look without the lock.
    length: AtomicUsize,
    line: Mutex<Line>,
}

/// Whether a request can go to any server that has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// It can: where one of these finds no room, there is none for the others.
    Any,
    /// Some servers will not do.
    Particular,
}

/// The requests that wait, the first at the front.
#[derive(Debug, Default)]
struct Line {
    places: VecDeque<Arc<QueuePlace>>,
    next_ticket: u64,
    /// Calls beyond one for each request that waits: they are for requests that come.
    spare_calls: usize,
}

/// The place of a request.
#[derive(Debug)]
struct QueuePlace {
    /// Rises along the line.
    ticket: u64,
    demand: Demand,
    /// A [`Call`]. Changed behind the lock of the line, so that a request which looks finds all room for which it was called.
    call: AtomicU8,
    turn: Notify,
}

/// Whether a request was called to look for room, and has not looked since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Call {
    None,
    /// A request left a server: there is room for one.
    ForOne,
    /// The servers changed, or it has just come: there may be room for several. Each that finds some calls the next, which may
    /// have come since then.
    ForSeveral,
    /// A request that takes any server has found none: only the server of a particular one may have some.
    ForParticular,
}

/// A request that waits, until this is dropped.
struct Waiting<'a> {
    queue: &'a WaitingQueue,
    place: Arc<QueuePlace>,
}

impl WaitingQueue {
    /// Calls `choose` until it returns something: when there may be room, and no request before this one can use it.
    ///
    /// # Errors
    ///
    /// The one of `choose`; too many wait already, or it takes too long.
    pub async fn wait<T>(
        &self,
        settings: QueueSettings,
        demand: Demand,
        choose: impl Fn() -> Option<Result<T, ErrorReason>>,
    ) -> Result<T, ErrorReason> {
        let waiting = self.enter(settings.length, demand).ok_or(ErrorReason::AllBusy)?;
        let chosen = async {
            loop {
                waiting.place.turn.notified().await;
                if let Some(chosen) = waiting.look(&choose) {
                    return chosen;
                }
            }
        };
        Box::pin(timeout(settings.timeout, chosen)).await.unwrap_or(Err(ErrorReason::AllBusy))
    }

    /// Requests that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// There are other servers: all that wait look again.
    pub fn note_servers(&self) {
        if self.waiting() > 0 {
            self.line().places.iter().for_each(|place| place.call(Call::ForSeveral));
        }
    }

    /// A request left a server: calls the request that has waited longest.
    pub fn note_left(&self) {
        // Either this sees the request that has entered, or that one sees the room.
        fence(Ordering::SeqCst);
        if self.waiting() > 0 {
            self.line().call_first(Call::ForOne);
        }
    }

    fn enter(&self, length: usize, demand: Demand) -> Option<Waiting<'_>> {
        let mut line = self.line();
        if line.places.len() >= length {
            return None;
        }
        let place =
            Arc::new(QueuePlace { ticket: line.next_ticket, demand, call: AtomicU8::new(0), turn: Notify::new() });
        let is_behind_equal = demand == Demand::Any && line.places.iter().any(|before| before.demand == demand);
        // There may be room since the request looked, or such as those before it cannot use.
        if !is_behind_equal {
            place.call(Call::ForSeveral);
        } else if line.spare_calls > 0 {
            line.spare_calls -= 1;
            place.call(Call::ForOne);
        }
        line.next_ticket += 1;
        line.places.push_back(Arc::clone(&place));
        self.length.store(line.places.len(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Some(Waiting { queue: self, place })
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Calls the first request, for room that no other request was called for.
    fn call_first(&mut self, call: Call) {
        self.call_behind(None, call);
    }

    /// Calls the next request that can use room for which the one with this ticket had no use, or of which it left some.
    fn call_behind(&mut self, ticket: Option<u64>, call: Call) {
        let behind = ticket.map_or(0, |ticket| self.places.partition_point(|place| place.ticket <= ticket));
        let mut places = self.places.range(behind..);
        let (called, is_spare) = match call {
            Call::None => return,
            Call::ForOne => {
                let called = places.clone().find(|place| place.called() == Call::None);
                (called, ticket.is_none() || places.any(|place| place.demand == Demand::Any))
            }
            // One that was called for one place may leave more, and would call no other.
            Call::ForSeveral => (places.next(), false),
            Call::ForParticular => {
                self.spare_calls = 0;
                let is_uncalled = |place: &&Arc<QueuePlace>| place.called() == Call::None;
                (places.filter(|place| place.demand == Demand::Particular).find(is_uncalled), false)
            }
        };
        match called {
            Some(place) => place.call(call),
            None => self.spare_calls += usize::from(is_spare && !self.places.is_empty()),
        }
    }
}

/// The line is locked.
impl QueuePlace {
    fn called(&self) -> Call {
        match self.call.load(Ordering::Relaxed) {
            0 => Call::None,
            1 => Call::ForOne,
            2 => Call::ForSeveral,
            _ => Call::ForParticular,
        }
    }

    fn call(&self, call: Call) {
        self.call.store(call as u8, Ordering::Relaxed);
        self.turn.notify_one();
    }
}

impl Waiting<'_> {
    /// Looks for room, once it was called.
    fn look<T, E>(&self, choose: &impl Fn() -> Option<Result<T, E>>) -> Option<Result<T, E>> {
        let line = self.queue.line();
        let call = self.place.called();
        self.place.call.store(Call::None as u8, Ordering::Relaxed);
        drop(line);
        let chosen = choose();
        let behind = Some(self.place.ticket);
        match (&chosen, self.place.demand, call) {
            (Some(Ok(_)), _, Call::None | Call::ForOne) => {}
            (Some(Ok(_)), ..) => self.queue.line().call_behind(behind, call),
            (Some(Err(_)), ..) => self.queue.line().call_first(call.max(Call::ForOne)),
            (None, Demand::Any, _) => self.queue.line().call_behind(behind, Call::ForParticular),
            (None, Demand::Particular, _) => self.queue.line().call_behind(behind, call),
        }
        chosen
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut line = self.queue.line();
        let ticket = self.place.ticket;
        if let Ok(at) = line.places.binary_search_by_key(&ticket, |place| place.ticket) {
            line.places.remove(at);
        }
        self.queue.length.store(line.places.len(), Ordering::Relaxed);
        // It leaves before it has looked: the room is for another.
        line.call_first(self.place.called());
        if line.places.is_empty() {
            line.spare_calls = 0;
        }
    }
}

#[cfg(test)]
mod tests;
