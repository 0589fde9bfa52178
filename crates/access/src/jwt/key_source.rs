//! Where keys come from.

use std::{sync::Arc, time::Instant};

use crate::WatchedFile;

use crate::jwt::{
    key_set::KeySet,
    remote_keys::{FetchEnd, RemoteKeys},
};

/// Where keys come from. Clones share what has been read.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A file, which is read again when it changes.
    File(Arc<WatchedFile<KeySet>>),
    /// A URL, which is fetched from time to time.
    Url(Arc<RemoteKeys>),
}

impl KeySource {
    /// Reads the text of a file with keys by [`KeySet::parse`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn parse_keys(text: &str) -> Result<KeySet, String> {
        KeySet::parse(text).map_err(|error| error.to_string())
    }

    /// Reads the text of a file with a secret by [`KeySet::of_secret`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn parse_secret(text: &str) -> Result<KeySet, String> {
        KeySet::of_secret(text).map_err(|error| error.to_string())
    }

    /// The keys; nothing if they have not been fetched yet.
    #[must_use]
    pub fn current(&self) -> Option<Arc<KeySet>> {
        match self {
            Self::File(file) => Some(file.current()),
            Self::Url(remote) => remote.current(),
        }
    }

    /// A key is missing, or all are: the end of a fetch that may bring it. Nothing if none is to come soon.
    #[must_use]
    pub fn demand(&self, now: Instant) -> Option<FetchEnd> {
        match self {
            Self::File(_) => None,
            Self::Url(remote) => remote.demand(now),
        }
    }
}
