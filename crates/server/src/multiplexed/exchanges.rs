//! The exchanges of a connection, and which of them have to be polled.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Wake, Waker},
};

use serow_message::InformationalQueue;
use serow_streams::StreamId;

use super::exchange::Exchange;

/// The exchanges of a connection. Slots are reused, with their wakers and the memory for the handler's future.
pub(crate) struct Exchanges<F> {
    places: Vec<ExchangeSlot<F>>,
    /// The free slots.
    free: Vec<u32>,
    /// The slot of each stream's exchange, in the order of the streams.
    streams: VecDeque<(StreamId, u32)>,
    woken: Arc<Woken>,
    /// The woken exchanges that are being polled.
    polling: Vec<u32>,
    is_in_round: bool,
    /// Memory for a running handler: most finish when they are first polled, and the next one uses the same memory,
    /// which is still in the processor's cache.
    spare: Option<Call<F>>,
}

/// A running handler, in reused memory.
pub(crate) type Call<F> = Pin<Box<Option<F>>>;

/// The slot of one exchange.
pub(crate) struct ExchangeSlot<F> {
    pub(crate) exchange: Option<Exchange>,
    /// The running handler.
    pub(crate) call: Option<Call<F>>,
    pub(crate) waker: Waker,
    pub(crate) informational: InformationalQueue,
}

impl<F> Exchanges<F> {
    pub(crate) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            streams: VecDeque::new(),
            woken: Arc::default(),
            polling: Vec::new(),
            is_in_round: false,
            spare: None,
        }
    }

    /// Whether there are no exchanges.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Registers the task of `context` to be woken when an exchange is.
    pub(crate) fn watch(&self, context: &Context<'_>) {
        let mut state = self.woken.lock();
        match &mut state.connection {
            Some(waker) if waker.will_wake(context.waker()) => {}
            slot => *slot = Some(context.waker().clone()),
        }
    }

    /// Adds an exchange; returns its slot.
    #[inline]
    pub(crate) fn add(&mut self, exchange: Exchange) -> usize {
        let stream = exchange.stream;
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.places.len() as u32;
            let waker = Waker::from(Arc::new(ExchangeWaker { index, woken: Arc::clone(&self.woken) }));
            self.woken.lock().is_woken.push(false);
            self.places.push(ExchangeSlot {
                exchange: None,
                call: None,
                waker,
                informational: InformationalQueue::default(),
            });
            index
        });
        let place = &mut self.places[index as usize];
        place.exchange = Some(exchange);
        if !place.informational.is_free() {
            // Somebody still holds on to an earlier request: its hints must not reach this one.
            place.informational = InformationalQueue::default();
        }
        // Streams are opened in ascending order.
        let at = match self.streams.back() {
            Some((last, _)) if *last >= stream => self.streams.partition_point(|(other, _)| *other < stream),
            _ => self.streams.len(),
        };
        self.streams.insert(at, (stream, index));
        index as usize
    }

    /// Removes the exchange of this slot.
    #[inline]
    pub(crate) fn remove(&mut self, index: usize) -> Option<Exchange> {
        let place = self.places.get_mut(index)?;
        let exchange = place.exchange.take()?;
        if let Some(call) = place.call.take() {
            self.put_away(call);
        }
        if let Ok(at) = self.streams.binary_search_by_key(&exchange.stream, |(stream, _)| *stream) {
            self.streams.remove(at);
        }
        self.free.push(index as u32);
        Some(exchange)
    }

    /// Starts a handler in this slot.
    pub(crate) fn begin_call(&mut self, index: usize, handler: F) {
        let mut call = self.spare.take().unwrap_or_else(|| Box::pin(None));
        call.set(Some(handler));
        if let Some(place) = self.places.get_mut(index) {
            place.call = Some(call);
        }
    }

    /// Drops the handler of this slot, which is finished or cancelled.
    pub(crate) fn end_call(&mut self, index: usize) {
        if let Some(call) = self.places.get_mut(index).and_then(|place| place.call.take()) {
            self.put_away(call);
        }
    }

    fn put_away(&mut self, mut call: Call<F>) {
        call.set(None);
        self.spare = Some(call);
    }

    /// The slot of the stream's exchange, if there is one.
    pub(crate) fn find(&self, stream: StreamId) -> Option<usize> {
        let at = self.streams.binary_search_by_key(&stream, |(other, _)| *other).ok()?;
        Some(self.streams[at].1 as usize)
    }

    /// How many pieces of a stream's body wait for their reader.
    pub(crate) fn waiting_pieces(&self, stream: StreamId) -> usize {
        let place = self.find(stream).and_then(|index| self.places.get(index));
        place.and_then(|place| place.exchange.as_ref()).map_or(0, |exchange| exchange.received.pieces())
    }

    /// The slot with this number.
    pub(crate) fn place(&mut self, index: usize) -> Option<&mut ExchangeSlot<F>> {
        self.places.get_mut(index).filter(|place| place.exchange.is_some())
    }

    /// The exchange of this slot.
    pub(crate) fn get(&mut self, index: usize) -> Option<&mut Exchange> {
        self.places.get_mut(index)?.exchange.as_mut()
    }

    /// The slots in use.
    pub(crate) fn indices(&self) -> Vec<usize> {
        self.streams.iter().map(|(_, index)| *index as usize).collect()
    }

    /// The next exchange of those woken before the first call of a round; `None` ends the round. (An exchange that
    /// wakes itself while it is polled is polled again in the next round, so that the sockets are looked at in
    /// between.)
    pub(crate) fn next_woken(&mut self) -> Option<usize> {
        if self.polling.is_empty() && !self.is_in_round {
            let mut state = self.woken.lock();
            let WokenState { indices, is_woken, .. } = &mut *state;
            for index in &*indices {
                is_woken[*index as usize] = false;
            }
            std::mem::swap(&mut self.polling, indices);
            // In the order of waking.
            self.polling.reverse();
        }
        let next = self.polling.pop();
        self.is_in_round = next.is_some();
        next.map(|index| index as usize)
    }

    /// Frees the memory of finished exchanges.
    pub(crate) fn rest(&mut self) {
        if self.streams.is_empty() && self.places.len() > PLACES_KEPT {
            self.places = Vec::new();
            self.free = Vec::new();
            self.streams = VecDeque::new();
            self.polling = Vec::new();
            self.spare = None;
            // Wakers that somebody still holds belong to the old list.
            let connection = self.woken.lock().connection.take();
            self.woken = Arc::new(Woken { state: Mutex::new(WokenState { connection, ..WokenState::default() }) });
        }
    }
}

/// The woken exchanges, and the task to wake for them.
#[derive(Default)]
struct Woken {
    state: Mutex<WokenState>,
}

#[derive(Default)]
struct WokenState {
    indices: Vec<u32>,
    /// For each slot, whether it is among the indices.
    is_woken: Vec<bool>,
    connection: Option<Waker>,
}

impl Woken {
    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, WokenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the exchange of one slot.
struct ExchangeWaker {
    index: u32,
    woken: Arc<Woken>,
}

impl Wake for ExchangeWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.woken.lock();
        match state.is_woken.get_mut(self.index as usize) {
            Some(is_woken) if !*is_woken => *is_woken = true,
            _ => return,
        }
        state.indices.push(self.index);
        if state.indices.len() == 1
            && let Some(connection) = &state.connection
        {
            connection.wake_by_ref();
        }
    }
}

/// Slots kept by an idle connection.
const PLACES_KEPT: usize = 1;
