//! A content that is arriving, and is read by many meanwhile.

mod state;

use std::{
    fs::File,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use self::state::{End, GrowingState, Keeping};
use crate::{fill_memory::FillMemory, stored_content::ContentWriter};

/// A content that is arriving. Readers get it from where they begin, as it arrives.
///
/// All of it is kept, in memory up to a limit, or in a file: a slow reader does not hold up the others. A content that
/// fits into neither cannot be stored: then only bytes that some reader has not read are kept, and the writer waits for
/// the slowest reader.
#[derive(Clone, Debug)]
pub struct GrowingContent {
    shared: Arc<SharedContent>,
}

/// The end that a content is written to. Dropped before [`complete`](Self::complete), it cuts the content off.
#[derive(Debug)]
pub struct GrowingWriter {
    shared: Arc<SharedContent>,
    limit: usize,
}

/// An end that a content is read from.
#[derive(Debug)]
pub struct GrowingReader {
    shared: Arc<SharedContent>,
    slot: usize,
}

/// The next piece that a reader gets.
#[derive(Clone, Debug)]
pub enum GrowingPiece {
    /// These bytes.
    Bytes(Bytes),
    /// So many bytes of a file.
    File {
        /// The file.
        file: Arc<File>,
        /// Where they begin.
        offset: u64,
        /// How many there are.
        length: u64,
    },
}

/// All of a content that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholeContent {
    /// In memory.
    Memory(Bytes),
    /// In the file that it was written to.
    File,
    /// It could not be kept.
    NotKept,
}

#[derive(Debug)]
struct SharedContent {
    state: Mutex<GrowingState>,
    memory: Arc<FillMemory>,
    /// Bytes of the whole content, if that is known.
    length: Option<u64>,
}

/// The content was cut off: its origin did not send all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentCut;

impl GrowingContent {
    /// A content that is kept in memory up to this number of bytes; its whole length, if it is known.
    #[must_use]
    pub fn new(limit: usize, length: Option<u64>, memory: &Arc<FillMemory>) -> (Self, GrowingWriter) {
        let shared = Arc::new(SharedContent { state: Mutex::default(), memory: Arc::clone(memory), length });
        (Self { shared: Arc::clone(&shared) }, GrowingWriter { shared, limit })
    }

    /// A reader from this byte on; `None` if the beginning is not kept any more.
    #[must_use]
    pub fn reader(&self, offset: u64) -> Option<GrowingReader> {
        let slot = self.shared.lock().add_reader(offset)?;
        Some(GrowingReader { shared: Arc::clone(&self.shared), slot })
    }

    /// Bytes that have arrived.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.shared.lock().arrived()
    }

    /// Bytes of the whole content, if that is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.shared.length
    }
}

impl GrowingWriter {
    /// Adds a piece in memory, which is copied: the buffer that it arrived in may be much larger.
    pub fn push(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        state.push(Bytes::copy_from_slice(piece));
        let has_memory = self.shared.memory.take(piece.len());
        if !has_memory || state.kept() > self.limit || state.keeping == Keeping::File {
            state.keep_window(WINDOW as u64);
        }
        state.drop_read_pieces(&self.shared.memory);
        let waiting = state.take_wakers();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Whether so many more bytes can be kept in memory, and are not more than this limit then.
    #[must_use]
    pub fn has_memory_for(&self, bytes: usize, limit: usize) -> bool {
        self.shared.lock().kept() + bytes <= limit.min(self.limit) && self.shared.memory.has(bytes)
    }

    /// The pieces that are kept in memory, to be written to a file.
    #[must_use]
    pub fn in_memory(&self) -> Vec<Bytes> {
        self.shared.lock().pieces().cloned().collect()
    }

    /// The first bytes of the content are in this file now: readers get them from there, and they are not kept in memory.
    pub fn written(&mut self, file: &Arc<dyn ContentWriter>, length: u64) {
        let mut state = self.shared.lock();
        state.written(file, length, &self.shared.memory);
        let waiting = state.take_wakers();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Bytes of the whole content, if that is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.shared.length
    }

    /// Whether anybody reads it.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.shared.lock().has_readers()
    }

    /// Whether the content cannot be stored, since all of it is kept nowhere.
    #[must_use]
    pub fn is_not_kept(&self) -> bool {
        self.shared.lock().keeping == Keeping::Window
    }

    /// Waits until there is room for another piece: always, unless all of the content is kept nowhere and somebody has not
    /// read what is kept.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        state.drop_read_pieces(&self.shared.memory);
        if state.keeping != Keeping::Window || state.kept() <= self.limit.min(WINDOW) || !state.has_readers() {
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Ends the content. Returns all of it, if it was kept.
    #[must_use]
    pub fn complete(self) -> WholeContent {
        let mut state = self.shared.lock();
        state.end = Some(End::Complete);
        let waiting = state.take_wakers();
        let whole = match state.keeping {
            Keeping::Memory => WholeContent::Memory(state.joined()),
            Keeping::File => WholeContent::File,
            Keeping::Window => WholeContent::NotKept,
        };
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
    /// The next piece, of at most so many bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// The content was cut off.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        most: u64,
    ) -> Poll<Option<Result<GrowingPiece, ContentCut>>> {
        let mut state = self.shared.lock();
        if let Some(piece) = state.next_piece(self.slot, most) {
            let writer = if state.keeping == Keeping::Window { state.writer.take() } else { None };
            drop(state);
            writer.into_iter().for_each(Waker::wake);
            return Poll::Ready(Some(Ok(piece)));
        }
        match state.end_for(self.slot) {
            Some(End::Complete) => Poll::Ready(None),
            Some(End::Cut) => Poll::Ready(Some(Err(ContentCut))),
            None => {
                state.wait(self.slot, context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for GrowingReader {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.remove_reader(self.slot);
        let writer = state.writer.take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
    }
}

impl Drop for SharedContent {
    fn drop(&mut self) {
        self.memory.give_back(self.lock().kept());
    }
}

impl SharedContent {
    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, GrowingState> {
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
