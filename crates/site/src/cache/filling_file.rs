//! Whether a response is written to a file while it arrives.

use std::{io, sync::Arc};

use bytes::Bytes;
use serow_cache::{ContentFile, ContentWriter, GrowingWriter, Key};
use tokio::task::spawn_blocking;

use super::ResponseCache;

/// Whether a response is written to a file while it arrives.
pub(super) enum FillingFile {
    /// Not yet: it may be small.
    Undecided,
    /// It is.
    Open(Arc<dyn ContentWriter>),
    /// There is no folder or no room in it, or the disk has failed.
    None,
}

impl FillingFile {
    /// A file for a content of this length, if it is known and there is one.
    pub(super) fn new(cache: &ResponseCache, key: &Key, length: Option<u64>) -> Self {
        cache.memory().new_content(key, length).map_or(Self::None, Self::Open)
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Adds these pieces; whether they are in the file. After an error there is none any more. Usually that is a copy to
    /// the page cache, but it blocks when the disk is slow, and other requests must not wait for that.
    pub(super) async fn write(&mut self, pieces: Vec<Bytes>, content: &mut GrowingWriter) -> bool {
        let Self::Open(file) = self else { return false };
        let writer = Arc::clone(file);
        let written = spawn_blocking(move || writer.write(&pieces)).await;
        match written.unwrap_or_else(|panic| Err(io::Error::other(panic))) {
            Ok(length) => {
                content.written(file, length);
                true
            }
            Err(_) => {
                *self = Self::None;
                false
            }
        }
    }

    /// All of it has been written.
    pub(super) fn finish(self) -> Option<Arc<dyn ContentFile>> {
        match self {
            Self::Open(file) => file.finish(),
            Self::Undecided | Self::None => None,
        }
    }
}
