//! A Redis server that machines share. Values are encrypted; whoever writes has a lock.
//!
//! | key, after the prefix and `{acme}:` | value |
//! | --- | --- |
//! | `value:KEY` | an encrypted value |
//! | `changes`, `version` | when each value changed, by a number that grows with each change |
//! | `lock:NAME`, `token` | who has a lock; how many have been taken |
//! | `run`, `settling`, `secret` | see `connection.rs` |

mod connection;
mod lease;
mod local_copy;
mod scripts;
#[cfg(test)]
mod tests;
mod watch;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use self::{
    connection::RedisConnection,
    local_copy::LocalCopy,
    watch::{CHALLENGE_LIFE, Mirror},
};

pub(crate) use self::{lease::RedisLease, watch::RedisWatch};
use super::{RedisStoreSettings, StorageError, StoreSecret};

/// A Redis server.
pub(crate) struct RedisStorage {
    connection: Arc<RedisConnection>,
    secret: StoreSecret,
    mirror: Mirror,
    copy: LocalCopy,
    /// The renewals of the leases that this process has.
    renewals: Mutex<JoinSet<()>>,
}

impl RedisStorage {
    /// A server that is connected to when it is needed.
    pub(super) fn new(settings: &RedisStoreSettings) -> Result<Self, StorageError> {
        let (secret, copy) = (settings.secret.clone(), LocalCopy::open(settings));
        let connection = Arc::new(RedisConnection::new(settings)?);
        Ok(Self { connection, secret, mirror: Mirror::default(), copy, renewals: Mutex::default() })
    }

    /// Connects, and waits so long for a Redis server that starts at the same time.
    pub(super) async fn connect(&self, timeout: Duration) -> Result<(), StorageError> {
        let deadline = Instant::now() + timeout;
        while let Err(error) = self.connection.call::<String>(&redis::cmd("PING")).await {
            if Instant::now() >= deadline {
                return Err(error);
            }
            sleep(START_INTERVAL).await;
        }
        Ok(())
    }

    /// The values that this machine last read and wrote.
    pub(super) fn copy(&self) -> &LocalCopy {
        &self.copy
    }

    /// The name of the key of a value.
    fn value_key(&self, key: &str) -> String {
        self.connection.key(&format!("value:{key}"))
    }

    pub(super) async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        self.read_all(&[key.to_owned()]).await?.pop().flatten().transpose()
    }

    /// The values of several keys; an error for one that cannot be decrypted.
    async fn read_all(&self, keys: &[String]) -> Result<Vec<Option<Result<Vec<u8>, StorageError>>>, StorageError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = redis::cmd("MGET");
        for key in keys {
            command.arg(self.value_key(key));
        }
        let sealed: Vec<Option<Vec<u8>>> = self.connection.call(&command).await?;
        let values = keys.iter().zip(sealed);
        Ok(values.map(|(key, sealed)| sealed.map(|sealed| self.unseal(key, &sealed))).collect())
    }

    pub(super) async fn write(&self, lease: &RedisLease, key: &str, value: &[u8]) -> Result<(), StorageError> {
        let sealed = self.secret.seal(key, value).map_err(|_| StorageError::Encryption)?;
        self.change(lease, key, &sealed).await
    }

    pub(super) async fn remove(&self, lease: &RedisLease, key: &str) -> Result<(), StorageError> {
        self.change(lease, key, b"").await
    }

    async fn change(&self, lease: &RedisLease, key: &str, sealed: &[u8]) -> Result<(), StorageError> {
        let life = if key.starts_with("challenges/") { CHALLENGE_LIFE } else { Duration::ZERO };
        let (length, is_valid) = lease.arguments();
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::WRITE).arg(4).arg(lease.key()).arg(self.value_key(key));
        command.arg(self.connection.key(CHANGES)).arg(self.connection.key(VERSION));
        command.arg(lease.owner()).arg(length).arg(is_valid);
        command.arg(key).arg(sealed).arg(life.as_millis() as u64).arg(MAX_CHANGES);
        if self.connection.call::<bool>(&command).await? {
            return Ok(());
        }
        lease.lose();
        Err(StorageError::LeaseLost)
    }

    /// Writes a value that Redis has lost, where it still has this other value, or nothing.
    pub(super) async fn restore(&self, key: &str, lost: Option<&[u8]>, value: &[u8]) -> Result<bool, StorageError> {
        let present: Option<Vec<u8>> = self.connection.call(redis::cmd("GET").arg(self.value_key(key))).await?;
        let opened = present.as_ref().map(|sealed| self.unseal(key, sealed)).transpose()?;
        if opened.as_deref() != lost {
            return Ok(false);
        }
        let sealed = self.secret.seal(key, value).map_err(|_| StorageError::Encryption)?;
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::REPLACE).arg(3).arg(self.value_key(key));
        command.arg(self.connection.key(CHANGES)).arg(self.connection.key(VERSION));
        command.arg(present.unwrap_or_default()).arg(sealed).arg(key);
        self.connection.call(&command).await
    }

    pub(super) async fn lock(&self, name: &str) -> Result<Option<RedisLease>, StorageError> {
        let Some((lease, renewal)) = RedisLease::take(&self.connection, name).await? else { return Ok(None) };
        let mut renewals = self.renewals.lock().unwrap_or_else(PoisonError::into_inner);
        while renewals.try_join_next().is_some() {}
        renewals.spawn(renewal.run());
        Ok(Some(lease))
    }

    /// A challenge of any server, as of a moment ago.
    pub(super) fn read_challenge(&self, key: &str) -> Option<Vec<u8>> {
        self.mirror.read(key)
    }

    /// Waits until the locks that were dropped are given up, and closes the connection, which belongs to the runtime of
    /// this thread.
    pub(super) async fn close(&self) {
        let mut renewals = std::mem::take(&mut *self.renewals.lock().unwrap_or_else(PoisonError::into_inner));
        let released = async { while renewals.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CLOSING_TIMEOUT, released).await;
        self.connection.disconnect().await;
    }

    fn unseal(&self, key: &str, sealed: &[u8]) -> Result<Vec<u8>, StorageError> {
        let damaged = || StorageError::Sealed(self.connection.name().to_owned(), key.to_owned());
        self.secret.open(key, sealed).map_err(|_| damaged())
    }
}

/// When each value changed.
const CHANGES: &str = "changes";

/// The number of the last change.
const VERSION: &str = "version";

/// Changes that are kept. A server that has missed more reads everything.
const MAX_CHANGES: usize = 10_000;

const START_INTERVAL: Duration = Duration::from_millis(250);

/// Locks that cannot be given up end by themselves.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(1);

/// How often changes are looked for.
pub(super) const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// How long it takes until all servers have seen a change: four times [`WATCH_INTERVAL`], for those that are busy.
pub(super) const PROPAGATION: Duration = Duration::from_secs(1);

impl fmt::Debug for RedisStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RedisStorage").field("server", &self.connection.name()).finish_non_exhaustive()
    }
}
