//! A content that is arriving, and is read by many meanwhile.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::fill_memory::FillMemory;

/// A content that is arriving. Readers get it from its beginning, as it arrives.
///
/// All of it is kept up to a limit, so a slow reader holds nobody up. A longer content cannot be stored, nor can one for
/// which there is no memory: then only what some reader has not read is kept, and the writer waits for the slowest reader.
#[derive(Clone, Debug)]
pub struct GrowingContent {
    shared: Arc<Shared>,
}

/// The end that a content is written to. Dropped before [`complete`](Self::complete), it cuts the content off.
#[derive(Debug)]
pub struct GrowingWriter {
    shared: Arc<Shared>,
    limit: usize,
}

/// An end that a content is read from.
#[derive(Debug)]
pub struct GrowingReader {
    shared: Arc<Shared>,
    slot: usize,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    memory: Arc<FillMemory>,
    /// Bytes of the whole content, if that is known.
    length: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// How many pieces before those were dropped.
    dropped: usize,
    /// Bytes of the pieces that are kept.
    kept: usize,
    /// Whether the content is too long to be kept.
    is_over_limit: bool,
    end: Option<End>,
    readers: Vec<Option<Position>>,
    /// Places of readers that have left.
    free: Vec<usize>,
    /// The writer, if it waits for readers.
    writer: Option<Waker>,
}

#[derive(Debug)]
struct Position {
    /// The number of the next piece.
    next: usize,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Cut,
}

/// The content was cut off: its origin did not send all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentCut;

impl GrowingContent {
    /// A content that is kept up to this number of bytes; its whole length, if it is known.
    #[must_use]
    pub fn new(limit: usize, length: Option<u64>, memory: &Arc<FillMemory>) -> (Self, GrowingWriter) {
        let shared = Arc::new(Shared { state: Mutex::default(), memory: Arc::clone(memory), length });
        (Self { shared: Arc::clone(&shared) }, GrowingWriter { shared, limit })
    }

    /// A reader from the beginning; `None` if the beginning is not kept any more.
    #[must_use]
    pub fn reader(&self) -> Option<GrowingReader> {
        let mut state = self.shared.lock();
        if state.is_over_limit || state.end == Some(End::Cut) {
            return None;
        }
        let position = Some(Position { next: 0, waker: None });
        let slot = match state.free.pop() {
            Some(slot) => {
                state.readers[slot] = position;
                slot
            }
            None => {
                state.readers.push(position);
                state.readers.len() - 1
            }
        };
        Some(GrowingReader { shared: Arc::clone(&self.shared), slot })
    }
}

impl GrowingWriter {
    /// Adds a piece, which is copied: the buffer that it arrived in may be much larger.
    pub fn push(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        state.pieces.push_back(Bytes::copy_from_slice(piece));
        state.kept += piece.len();
        let has_memory = self.shared.memory.take(piece.len());
        state.is_over_limit |= state.kept > self.limit || !has_memory;
        state.drop_read_pieces(&self.shared.memory);
        let waiting = state.take_wakers();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Whether anybody reads it.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.shared.lock().readers.iter().any(Option::is_some)
    }

    /// Whether the content is too long to be stored.
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        self.shared.lock().is_over_limit
    }

    /// Waits until there is room for another piece: always, unless the content is longer than the limit and somebody has
    /// not read what is kept.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        state.drop_read_pieces(&self.shared.memory);
        if !state.is_over_limit || state.kept <= self.limit.min(WINDOW) || state.readers.iter().all(Option::is_none) {
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Ends the content. Returns all of it, unless it was too long to be kept.
    #[must_use]
    pub fn complete(self) -> Option<Bytes> {
        let mut state = self.shared.lock();
        state.end = Some(End::Complete);
        let waiting = state.take_wakers();
        let whole = (!state.is_over_limit).then(|| match state.pieces.len() {
            1 => state.pieces[0].clone(),
            _ => {
                let mut whole = Vec::with_capacity(state.kept);
                state.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
                whole.into()
            }
        });
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        whole
    }
}

impl Drop for GrowingWriter {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if state.end.is_none() {
            state.end = Some(End::Cut);
            let waiting = state.take_wakers();
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

impl GrowingReader {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// The content was cut off.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, ContentCut>>> {
        let mut state = self.shared.lock();
        let State { pieces, dropped, end, readers, writer, is_over_limit, .. } = &mut *state;
        // It is there until this reader is dropped.
        let Some(position) = readers.get_mut(self.slot).and_then(Option::as_mut) else { return Poll::Ready(None) };
        if let Some(piece) = position.next.checked_sub(*dropped).and_then(|place| pieces.get(place)) {
            position.next += 1;
            let (piece, writer) = (piece.clone(), if *is_over_limit { writer.take() } else { None });
            drop(state);
            writer.into_iter().for_each(Waker::wake);
            return Poll::Ready(Some(Ok(piece)));
        }
        match end {
            Some(End::Complete) => Poll::Ready(None),
            Some(End::Cut) => Poll::Ready(Some(Err(ContentCut))),
            None => {
                position.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Bytes of the whole content, if that is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.shared.length
    }
}

impl Drop for GrowingReader {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(position) = state.readers.get_mut(self.slot) {
            *position = None;
            state.free.push(self.slot);
        }
        let writer = state.writer.take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
    }
}

impl State {
    /// Drops what all readers have read, if the content is not kept as a whole.
    fn drop_read_pieces(&mut self, memory: &FillMemory) {
        if !self.is_over_limit {
            return;
        }
        let slowest = self.readers.iter().flatten().map(|position| position.next).min();
        let slowest = slowest.unwrap_or(self.dropped + self.pieces.len());
        while self.dropped < slowest {
            let Some(piece) = self.pieces.pop_front() else { break };
            self.kept -= piece.len();
            memory.give_back(piece.len());
            self.dropped += 1;
        }
    }

    fn take_wakers(&mut self) -> Vec<Waker> {
        self.readers.iter_mut().flatten().filter_map(|position| position.waker.take()).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.memory.give_back(self.lock().kept);
    }
}

impl Shared {
    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Display for ContentCut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the origin did not send all of the response")
    }
}

impl std::error::Error for ContentCut {}

/// Bytes of a content that cannot be stored that are kept for the slowest reader.
const WINDOW: usize = 256 << 10;

#[cfg(test)]
mod tests;
