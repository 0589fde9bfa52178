//! A copy of what this machine last read from Redis or wrote to it, in a folder: a server starts with it while Redis is
//! away.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    RedisStoreSettings, StoreSecret,
    storage::directory::{DirectoryStorage, Durability},
};

/// The copy. Its files are encrypted as the values in Redis are, each with its key authenticated, so whoever can read the
/// folder, or write to it, neither learns private keys nor gives a name another certificate.
#[derive(Debug)]
pub(crate) struct LocalCopy {
    directory: Option<DirectoryStorage>,
    secret: StoreSecret,
    has_warned: AtomicBool,
}

impl LocalCopy {
    /// The copy in the folder of these settings. Where it cannot be used, there is none, and a warning says so.
    pub(super) fn open(settings: &RedisStoreSettings) -> Self {
        let directory = settings.copy().and_then(|folder| {
            let opened = DirectoryStorage::open(&folder);
            opened.inspect_err(|error| tracing::warn!("certificates: {error}; {NOT_KEPT}")).ok()
        });
        Self { directory, secret: settings.secret.clone(), has_warned: AtomicBool::new(false) }
    }

    /// The value of a key, if it is there and was encrypted with the same secret.
    pub(crate) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let sealed = self.directory.as_ref()?.read(key).ok()??;
        self.secret.open(key, &sealed).ok()
    }

    /// Keeps a value, or none.
    pub(crate) fn keep(&self, key: &str, value: Option<&[u8]>) {
        let Some(directory) = &self.directory else { return };
        let kept = match value {
            // Most are there already.
            Some(value) if self.read(key).as_deref() == Some(value) => return,
            Some(value) => match self.secret.seal(key, value) {
                // Half a file cannot be decrypted, so it is as good as none.
                Ok(sealed) => directory.write_with(key, &sealed, Durability::Later),
                Err(_) => return,
            },
            None => directory.remove(key),
        };
        if let Err(error) = kept
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("certificates: {error}; {NOT_KEPT}");
        }
    }
}

const NOT_KEPT: &str = "so a start while Redis is away has no current copy of the certificates";
