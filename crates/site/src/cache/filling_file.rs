//! The file that a response is written to while it arrives, since it is too large for memory.

use std::{fs::File, io, os::unix::fs::FileExt, sync::Arc};

use bytes::Bytes;
use serow_cache::{ContentFile, Key, MemoryStore, NewContent};
use tokio::task::spawn_blocking;

/// A file that a content is written to. Dropped before it is finished, it is removed.
#[derive(Debug)]
pub(super) struct FillingFile {
    content: Box<dyn NewContent>,
    /// Bytes that have been written.
    length: u64,
}

impl FillingFile {
    /// A file for a content of this length, if it is known; nothing if there is no folder, or no room in it.
    pub(super) fn new(store: &MemoryStore, key: &Key, length: Option<u64>) -> Option<Self> {
        store.new_content(key, length).map(|content| Self { content, length: 0 })
    }

    /// Adds these bytes; whether there was room for them. Usually that is a copy to the page cache, but it blocks when the
    /// disk is slow, and other requests must not wait for that.
    pub(super) async fn write(&mut self, pieces: Vec<Bytes>) -> bool {
        let end = self.length + pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        if !self.content.reserve(end) {
            return false;
        }
        let (file, mut offset) = (Arc::clone(self.content.file()), self.length);
        let written = spawn_blocking(move || {
            for piece in pieces {
                file.write_all_at(&piece, offset)?;
                offset += piece.len() as u64;
            }
            io::Result::Ok(())
        });
        let is_written = written.await.is_ok_and(|written| written.is_ok());
        if is_written {
            self.length = end;
        }
        is_written
    }

    pub(super) fn file(&self) -> &Arc<File> {
        self.content.file()
    }

    /// Bytes that have been written.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// All of it has been written.
    pub(super) fn finish(self) -> Option<Arc<dyn ContentFile>> {
        self.content.finish(self.length)
    }
}
