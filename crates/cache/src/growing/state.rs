//! The part of an arriving content that is kept, and how far its readers are.

use std::{collections::VecDeque, sync::Arc, task::Waker};

use bytes::Bytes;

use super::GrowingPiece;
use crate::{fill_memory::FillMemory, stored_content::ContentWriter};

/// The part of an arriving content that is kept, and how far its readers are.
#[derive(Debug, Default)]
pub(super) struct GrowingState {
    pub(super) keeping: Keeping,
    pub(super) end: Option<End>,
    /// The writer, if it waits for readers.
    pub(super) writer: Option<Waker>,
    /// The file with the first bytes, and how many it has. It takes room on the disk until the last reader has left.
    file: Option<(Arc<dyn ContentWriter>, u64)>,
    /// The pieces in memory, each with the place where it begins.
    pieces: VecDeque<(u64, Bytes)>,
    /// Bytes of the pieces.
    kept: usize,
    /// Bytes that have arrived.
    arrived: u64,
    readers: Vec<Option<Position>>,
    /// Places of readers that have left.
    free: Vec<usize>,
}

/// Where all of the content is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keeping {
    /// In memory.
    #[default]
    Memory,
    /// In the file.
    File,
    /// Nowhere: what all readers have read is dropped.
    Window,
}

/// Where a reader is.
#[derive(Debug)]
struct Position {
    /// The next byte.
    offset: u64,
    waker: Option<Waker>,
    /// It was too slow for what is kept.
    is_cut: bool,
}

/// How a content has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    Cut,
}

impl GrowingState {
    /// A reader from this byte on, unless the beginning is not kept any more.
    pub(super) fn add_reader(&mut self, offset: u64) -> Option<usize> {
        if self.keeping == Keeping::Window || self.end == Some(End::Cut) {
            return None;
        }
        let position = Some(Position { offset, waker: None, is_cut: false });
        Some(match self.free.pop() {
            Some(slot) => {
                self.readers[slot] = position;
                slot
            }
            None => {
                self.readers.push(position);
                self.readers.len() - 1
            }
        })
    }

    pub(super) fn remove_reader(&mut self, slot: usize) {
        if let Some(position) = self.readers.get_mut(slot) {
            *position = None;
            self.free.push(slot);
        }
    }

    pub(super) fn has_readers(&self) -> bool {
        self.readers.iter().any(Option::is_some)
    }

    /// Has a reader woken by the next bytes that arrive.
    pub(super) fn wait(&mut self, slot: usize, waker: &Waker) {
        if let Some(Some(position)) = self.readers.get_mut(slot) {
            position.waker = Some(waker.clone());
        }
    }

    /// Returns a reader's next piece, of at most so many bytes; nothing if it has not arrived.
    pub(super) fn next_piece(&mut self, slot: usize, most: u64) -> Option<GrowingPiece> {
        let position = self.readers.get_mut(slot)?.as_mut().filter(|position| !position.is_cut)?;
        let offset = position.offset;
        if let Some((file, end)) = &self.file
            && offset < *end
        {
            let length = (end - offset).min(most);
            position.offset += length;
            return Some(GrowingPiece::File { file: Arc::clone(file.file()), offset, length });
        }
        let place = self.pieces.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
        let (start, piece) = &self.pieces[place];
        let passed = usize::try_from(offset - start).ok().filter(|passed| *passed < piece.len())?;
        let end = piece.len().min(passed.saturating_add(usize::try_from(most).unwrap_or(usize::MAX)));
        position.offset += (end - passed) as u64;
        Some(GrowingPiece::Bytes(piece.slice(passed..end)))
    }

    /// Adds a piece in memory.
    pub(super) fn push(&mut self, piece: Bytes) {
        let start = self.arrived;
        self.kept += piece.len();
        self.arrived += piece.len() as u64;
        self.pieces.push_back((start, piece));
    }

    /// The first bytes are in the file.
    pub(super) fn written(&mut self, file: &Arc<dyn ContentWriter>, length: u64, memory: &FillMemory) {
        self.file = Some((Arc::clone(file), length));
        self.arrived = self.arrived.max(length);
        self.drop_pieces_before(length, memory);
        if self.keeping == Keeping::Memory {
            self.keeping = Keeping::File;
        }
    }

    /// From now on, all of the content is kept nowhere. If a file had the beginning, readers that are more than a window
    /// behind the fastest are cut off: the others would have to wait until they have read all of the file.
    pub(super) fn keep_window(&mut self, window: u64) {
        self.keeping = Keeping::Window;
        if self.file.is_none() {
            return;
        }
        let fastest = self.readers.iter().flatten().map(|position| position.offset).max().unwrap_or_default();
        for position in self.readers.iter_mut().flatten() {
            position.is_cut |= position.offset + window < fastest;
        }
    }

    /// How the content has ended for a reader.
    pub(super) fn end_for(&self, slot: usize) -> Option<End> {
        let is_cut = self.readers.get(slot).is_some_and(|place| place.as_ref().is_some_and(|position| position.is_cut));
        if is_cut { Some(End::Cut) } else { self.end }
    }

    /// Drops what all readers have read, if the content is kept nowhere as a whole.
    pub(super) fn drop_read_pieces(&mut self, memory: &FillMemory) {
        if self.keeping == Keeping::Window {
            let readers = self.readers.iter().flatten().filter(|position| !position.is_cut);
            let slowest = readers.map(|position| position.offset).min();
            self.drop_pieces_before(slowest.unwrap_or(self.arrived), memory);
        }
    }

    fn drop_pieces_before(&mut self, offset: u64, memory: &FillMemory) {
        while let Some((start, piece)) = self.pieces.front()
            && start + piece.len() as u64 <= offset
        {
            self.kept -= piece.len();
            memory.give_back(piece.len());
            self.pieces.pop_front();
        }
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.readers.iter_mut().flatten().filter_map(|position| position.waker.take()).collect()
    }

    /// Bytes in memory.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter().map(|(_, piece)| piece)
    }

    /// All pieces in one.
    pub(super) fn joined(&self) -> Bytes {
        if let [(_, piece)] = self.pieces.as_slices().0
            && self.pieces.len() == 1
        {
            return piece.clone();
        }
        let mut whole = Vec::with_capacity(self.kept);
        self.pieces().for_each(|piece| whole.extend_from_slice(piece));
        whole.into()
    }
}
