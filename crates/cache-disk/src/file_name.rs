//! The names of files below the folder.

use std::ffi::{CStr, CString};

use serow_cache::Key;
use xxhash_rust::xxh3::xxh3_128;

use crate::folder::NEW;

/// Where the file of a key is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileName {
    path: CString,
    shard: u8,
}

impl FileName {
    /// The name for a key: a digest, since keys have bytes that names must not have. The file has the key itself as well.
    pub(crate) fn of_key(key: &Key) -> Self {
        let digest = xxh3_128(key.as_bytes());
        let shard = (digest >> 120) as u8;
        Self::of(format!("{shard:02x}/{:030x}", digest << 8 >> 8), shard)
    }

    /// The name of a content of its own of this key.
    pub(crate) fn with_number(&self, number: u64) -> Self {
        Self::of(format!("{}.{number:016x}", self.path.to_string_lossy()), self.shard)
    }

    /// The name of the file that refers to this content of its own; nothing if it is none.
    pub(crate) fn of_record(&self) -> Option<Self> {
        let text = self.path.to_str().ok()?;
        Some(Self::of(text.split_once('.')?.0.to_owned(), self.shard))
    }

    /// Whether it is that of a file that nobody sees yet.
    pub(crate) fn is_of_new_file(&self) -> bool {
        self.path.to_bytes().starts_with(NEW.as_bytes())
    }

    /// The number of the folder that it is in; of no meaning for what is being written.
    pub(crate) fn shard(&self) -> usize {
        self.shard.into()
    }

    /// The path below the folder.
    pub(crate) fn path(&self) -> &CStr {
        &self.path
    }

    /// The file with this path below the folder, in this shard.
    pub(crate) fn of(text: String, shard: u8) -> Self {
        // None of its bytes is NUL.
        Self { path: CString::new(text).unwrap_or_default(), shard }
    }
}
