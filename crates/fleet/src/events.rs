//! Events that reach every server of the fleet: bans, and whatever else all have to know.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Something that another server has published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its subject, as `ban`.
    pub kind: String,
    /// Its content. Any program that can write to Redis may have written it.
    pub payload: Vec<u8>,
    /// How long ago it was published. A server that starts receives what was published before.
    pub age: Duration,
}

/// The events that this server has published and Redis does not have yet, and who receives those of others.
///
/// An event reaches every server that reaches Redis within a week and [`MAX_EVENTS`] further events. It may reach a server
/// more than once, and long after it was published.
#[derive(Default)]
pub struct Events {
    waiting: Mutex<VecDeque<(String, Vec<u8>)>>,
    subscribers: Mutex<Vec<(String, Subscriber)>>,
    counts: EventCounts,
}

type Subscriber = Box<dyn Fn(&Event) + Send + Sync>;

/// How many events there were.
#[derive(Debug, Default)]
pub struct EventCounts {
    /// This server has published them, and Redis has them.
    pub published: AtomicU64,
    /// Other servers have published them.
    pub received: AtomicU64,
    /// They were forgotten since too many waited for Redis, or are not events at all.
    pub lost: AtomicU64,
}

impl Events {
    /// Publishes an event. It waits here while Redis is away; if more than [`MAX_WAITING`] wait, the oldest is forgotten.
    /// An event of more than [`MAX_PAYLOAD`] bytes is not sent.
    pub fn publish(&self, kind: &str, payload: &[u8]) {
        if payload.len() > MAX_PAYLOAD {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut waiting = self.waiting();
        if waiting.len() == MAX_WAITING {
            waiting.pop_front();
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
        waiting.push_back((kind.to_owned(), payload.to_owned()));
    }

    /// Has this called for each event of this kind that another server publishes, on the thread that talks to Redis: it
    /// must not block.
    pub fn subscribe(&self, kind: &str, subscriber: impl Fn(&Event) + Send + Sync + 'static) {
        let mut subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.push((kind.to_owned(), Box::new(subscriber)));
    }

    /// How many there were.
    #[must_use]
    pub fn counts(&self) -> &EventCounts {
        &self.counts
    }

    /// The oldest that wait; they stay until [`Self::note_published`].
    pub(crate) fn front(&self, most: usize) -> Vec<(String, Vec<u8>)> {
        self.waiting().iter().take(most).cloned().collect()
    }

    /// Whether any wait.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting().is_empty()
    }

    /// Redis has these. They may have been forgotten meanwhile.
    pub(crate) fn note_published(&self, events: &[(String, Vec<u8>)]) {
        let mut waiting = self.waiting();
        for event in events {
            if waiting.front() == Some(event) {
                waiting.pop_front();
            }
        }
        self.counts.published.fetch_add(events.len() as u64, Ordering::Relaxed);
    }

    /// Hands an event on to those who wait for its kind.
    pub(crate) fn deliver(&self, event: &Event) {
        self.counts.received.fetch_add(1, Ordering::Relaxed);
        let subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.iter().filter(|(kind, _)| *kind == event.kind).for_each(|(_, subscriber)| subscriber(event));
    }

    /// Something in the stream that is not an event.
    pub(crate) fn note_lost(&self) {
        self.counts.lost.fetch_add(1, Ordering::Relaxed);
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<(String, Vec<u8>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// How many events wait for Redis at most: an attack that has many clients banned during an outage does not fill the
/// memory.
pub const MAX_WAITING: usize = 1000;

/// The longest payload, in bytes: enough for an address, a reason, or a URL.
pub const MAX_PAYLOAD: usize = 4096;

/// How many events Redis keeps, roughly.
pub const MAX_EVENTS: usize = 10_000;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn events_wait_until_redis_has_them() {
        let events = Events::default();
        assert!(!events.is_waiting());
        events.publish("ban", &[0; MAX_PAYLOAD + 1]);
        for number in 0..=MAX_WAITING {
            events.publish("ban", &number.to_be_bytes());
        }
        let front = events.front(2);
        assert_eq!(front[0].1, 1_usize.to_be_bytes());
        // While they were on their way, the first of them was forgotten.
        events.publish("ban", b"more");
        events.note_published(&front);
        assert_eq!(events.front(1)[0].1, 3_usize.to_be_bytes());
        assert_eq!(events.front(usize::MAX).len(), MAX_WAITING - 1);
        assert_eq!(events.counts().lost.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn subscribers_receive_their_kind() {
        let (events, seen) = (Events::default(), Arc::new(Mutex::new(Vec::new())));
        let sink = Arc::clone(&seen);
        events.subscribe("ban", move |event| sink.lock().unwrap().push(event.payload.clone()));
        for kind in ["ban", "purge", ""] {
            events.deliver(&Event { kind: kind.to_owned(), payload: kind.into(), age: Duration::ZERO });
        }
        assert_eq!(*seen.lock().unwrap(), [b"ban".to_vec()]);
        assert_eq!(events.counts().received.load(Ordering::Relaxed), 3);
    }
}
