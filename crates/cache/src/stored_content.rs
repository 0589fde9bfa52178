//! The content of a stored response: in memory, or in a file of its own.

use std::{fs::File, io, sync::Arc};

use bytes::Bytes;
use serow_message::FileRange;

/// The content of a stored response.
#[derive(Clone, Debug)]
pub enum StoredContent {
    /// In memory.
    Memory(Bytes),
    /// Too large for memory.
    File(Arc<dyn ContentFile>),
}

/// A content in a file of its own.
pub trait ContentFile: std::fmt::Debug + Send + Sync {
    /// How it is found again.
    fn reference(&self) -> ContentReference;

    /// All of it; nothing if the file has been removed, or is not the one that was written.
    ///
    /// # Errors
    ///
    /// The system's, for instance when the process has too many open files.
    fn open(&self) -> io::Result<Option<FileRange>>;

    /// Gives the file the name under which it is found again. It may block.
    ///
    /// # Errors
    ///
    /// The system's.
    fn keep(&self) -> io::Result<KeptContent>;

    /// Removes the file, unless it has got its name.
    fn discard(&self);
}

/// Whether a content has the name under which it is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptContent {
    /// It has just got it.
    Named,
    /// It had it before.
    WasNamed,
    /// The file is gone.
    Gone,
}

/// Writes a content to a file. Dropped before [`finish`](Self::finish), it removes the file.
pub trait ContentWriter: std::fmt::Debug + Send + Sync {
    /// The file, empty at first.
    fn file(&self) -> &Arc<File>;

    /// Adds these pieces; how many bytes the file has now. It may block.
    ///
    /// # Errors
    ///
    /// The system's, or there is no room for so much.
    fn write(&self, pieces: &[Bytes]) -> io::Result<u64>;

    /// All of the content has been written. Nothing if the file has another length.
    fn finish(&self) -> Option<Arc<dyn ContentFile>>;
}

/// How a content in a file is found again, and how its file is known to be the one that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentReference {
    /// Its number: each content has one of its own.
    pub number: u64,
    /// Its length in bytes.
    pub length: u64,
    /// When the file was written last, in nanoseconds since 1970.
    pub modified: u64,
}

impl StoredContent {
    /// Bytes of the content.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(file) => file.reference().length,
        }
    }

    /// Bytes that it takes in memory.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File(_) => FILE_SIZE,
        }
    }

    /// Its bytes, if they are in memory.
    #[must_use]
    pub fn memory(&self) -> Option<&Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::File(_) => None,
        }
    }

    /// The file, if it is in one.
    #[must_use]
    pub fn file(&self) -> Option<&Arc<dyn ContentFile>> {
        match self {
            Self::Memory(_) => None,
            Self::File(file) => Some(file),
        }
    }
}

impl From<Bytes> for StoredContent {
    fn from(bytes: Bytes) -> Self {
        Self::Memory(bytes)
    }
}

/// About what is needed for the name of a file.
const FILE_SIZE: usize = 160;
