//! Where certificates, keys and accounts are kept: by processes that share a folder, or by machines that share a Redis
//! server.

mod directory;
mod redis;
mod secret;

use std::{error::Error, fmt, future, io, path::PathBuf, sync::Arc, time::Duration};

use rustls::ClientConfig;
use serow_message::RedisUrl;
use serow_tls::{TlsClientSettings, TlsConnector, TlsSettingsError, Trust};

pub(crate) use self::directory::DirectoryStorage;
pub use self::secret::{StoreSecret, StoreSecretError};
use self::{
    directory::DirectoryWatch,
    redis::{RedisLease, RedisStorage, RedisWatch},
};

/// Where certificates, keys and accounts are kept.
#[derive(Clone, Debug)]
pub enum StoreSettings {
    /// In a folder, for the processes of one machine.
    Directory(PathBuf),
    /// In Redis, encrypted, for a fleet of machines.
    Redis(Box<RedisStoreSettings>),
}

/// A Redis server in which a fleet of machines shares certificates.
#[derive(Clone, Debug)]
pub struct RedisStoreSettings {
    /// Where it is.
    pub address: RedisUrl,
    /// Encrypts the values.
    pub secret: StoreSecret,
    /// Verifies the certificate of a server whose URL begins with `rediss://`; authorities are in this file, or those of
    /// the system.
    pub ca: Option<PathBuf>,
    /// How connections are encrypted, when the files have been read.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// The beginning of the names of all keys: fleets with different ones share a database.
    pub prefix: String,
    /// A folder of this machine. In `store` below it, an encrypted copy of the certificates is kept, with which the server
    /// starts while Redis cannot be used.
    pub folder: Option<PathBuf>,
}

impl RedisStoreSettings {
    /// The beginning of keys, unless the settings say otherwise.
    pub const DEFAULT_PREFIX: &str = "serow:";

    /// A server without an own authority, a prefix or a folder.
    #[must_use]
    pub fn new(address: RedisUrl, secret: StoreSecret) -> Self {
        Self { address, secret, ca: None, tls: None, prefix: Self::DEFAULT_PREFIX.to_owned(), folder: None }
    }

    /// Reads the authorities, if the connection is encrypted.
    pub(crate) fn read_authorities(&mut self) -> Result<(), TlsSettingsError> {
        if self.address.is_tls() {
            let trust = self.ca.clone().map_or(Trust::System, Trust::File);
            let settings = TlsClientSettings { trust, protocols: Vec::new(), ..TlsClientSettings::default() };
            // Nothing in them is of QUIC alone.
            self.tls = Some(TlsConnector::new(settings)?.quic_settings());
        }
        Ok(())
    }

    /// Where the copy is kept.
    #[must_use]
    pub fn copy(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(COPY))
    }
}

/// A store of small values under keys such as `certificates/example.com.pem`.
#[derive(Debug)]
pub(crate) enum Storage {
    Directory(DirectoryStorage),
    Redis(Arc<RedisStorage>),
}

/// The right to order one certificate, which one process has at a time. Dropped, it is given up.
#[derive(Debug)]
#[must_use]
pub(crate) enum Lease {
    /// An open, locked file. The kernel unlocks it when the process ends, however it ends.
    File { _file: std::fs::File },
    /// A lock that ends by itself.
    Redis(RedisLease),
}

/// Notices changes of certificates by any process.
pub(crate) enum StorageWatch {
    Directory(DirectoryWatch),
    Redis(RedisWatch),
}

/// The changes since the last check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// The values of these keys.
    Keys(Vec<String>),
    /// Anything: changes may have been missed, and values lost.
    All,
}

/// The error of storing or reading.
#[derive(Debug)]
pub enum StorageError {
    /// An operation on this file failed.
    File(PathBuf, io::Error),
    /// Others may read a folder.
    NotPrivate(PathBuf),
    /// A folder, or a link to it, belongs to this other user.
    Foreign(PathBuf, u32),
    /// This server cannot be used, for this reason.
    Unreachable(String, String),
    /// This server refuses the user or the secret, for this reason.
    Refused(String, String),
    /// On this server, the value of this key cannot be decrypted.
    Sealed(String, String),
    /// A value cannot be encrypted.
    Encryption,
    /// Another process has the lock now.
    LeaseLost,
}

impl Storage {
    /// Opens the store. One on another machine is not connected to yet.
    pub(crate) fn open(settings: &StoreSettings) -> Result<Self, StorageError> {
        match settings {
            StoreSettings::Directory(folder) => Ok(Self::Directory(DirectoryStorage::open(folder)?)),
            StoreSettings::Redis(redis) => Ok(Self::Redis(Arc::new(RedisStorage::new(redis)?))),
        }
    }

    /// Connects to the store, which may have to start first; tries again for this time.
    pub(crate) async fn connect(&self, timeout: Duration) -> Result<(), StorageError> {
        match self {
            Self::Directory(_) => Ok(()),
            Self::Redis(redis) => redis.connect(timeout).await,
        }
    }

    /// The value that a key had when this machine last read or wrote it, if a copy is kept.
    pub(crate) fn read_copy(&self, key: &str) -> Option<Vec<u8>> {
        match self {
            Self::Directory(_) => None,
            Self::Redis(redis) => redis.copy().read(key),
        }
    }

    /// Keeps a copy of this value, or none, for the next start on this machine.
    pub(crate) fn keep_copy(&self, key: &str, value: Option<&[u8]>) {
        match self {
            Self::Directory(_) => {}
            Self::Redis(redis) => redis.copy().keep(key, value),
        }
    }

    /// The value of a key, if it has one.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        match self {
            Self::Directory(directory) => directory.read(key),
            Self::Redis(redis) => redis.read(key).await,
        }
    }

    /// Gives a key this value: after a crash it has the previous value or this one. Fails if the lease is lost.
    pub(crate) async fn write(&self, lease: &Lease, key: &str, value: &[u8]) -> Result<(), StorageError> {
        match (self, lease) {
            (Self::Redis(redis), Lease::Redis(lease)) => redis.write(lease, key, value).await,
            (Self::Directory(directory), _) => directory.write(key, value),
            (Self::Redis(_), Lease::File { .. }) => Err(StorageError::LeaseLost),
        }
    }

    /// Removes a key, if it is there. Fails if the lease is lost.
    pub(crate) async fn remove(&self, lease: &Lease, key: &str) -> Result<(), StorageError> {
        match (self, lease) {
            (Self::Redis(redis), Lease::Redis(lease)) => redis.remove(lease, key).await,
            (Self::Directory(directory), _) => directory.remove(key),
            (Self::Redis(_), Lease::File { .. }) => Err(StorageError::LeaseLost),
        }
    }

    /// The right to change what belongs to this name, unless another process has it.
    pub(crate) async fn lock(&self, name: &str) -> Result<Option<Lease>, StorageError> {
        match self {
            Self::Directory(directory) => directory.lock(name),
            Self::Redis(redis) => Ok(redis.lock(name).await?.map(Lease::Redis)),
        }
    }

    /// Whether the store may lose values that were written: it has fewer copies than there are processes.
    pub(crate) fn may_lose_values(&self) -> bool {
        matches!(self, Self::Redis(_))
    }

    /// Writes a value that the store has lost, where it still has this other value, or nothing; returns whether it did.
    pub(crate) async fn restore(&self, key: &str, lost: Option<&[u8]>, value: &[u8]) -> Result<bool, StorageError> {
        match self {
            Self::Directory(_) => Ok(false),
            Self::Redis(redis) => redis.restore(key, lost, value).await,
        }
    }

    /// The value of a challenge that any process answers, without waiting for another machine.
    pub(crate) fn read_challenge(&self, key: &str) -> Option<Vec<u8>> {
        match self {
            Self::Directory(directory) => directory.read(key).ok()?,
            Self::Redis(redis) => redis.read_challenge(key),
        }
    }

    /// Watches for changes by any process.
    pub(crate) fn watch(&self) -> StorageWatch {
        match self {
            Self::Directory(directory) => StorageWatch::Directory(directory.watch()),
            Self::Redis(redis) => StorageWatch::Redis(RedisWatch::new(Arc::clone(redis))),
        }
    }

    /// How often to look for changes.
    pub(crate) fn watch_interval(&self) -> Duration {
        match self {
            Self::Directory(_) => directory::WATCH_INTERVAL,
            Self::Redis(_) => redis::WATCH_INTERVAL,
        }
    }

    /// How long it takes until other processes see a change.
    pub(crate) fn propagation(&self) -> Duration {
        match self {
            // Challenges are read when they are asked for.
            Self::Directory(_) => Duration::ZERO,
            Self::Redis(_) => redis::PROPAGATION,
        }
    }

    /// Gives up what other processes would wait for, and what belongs to the runtime of this thread.
    pub(crate) async fn close(&self) {
        match self {
            Self::Directory(_) => {}
            Self::Redis(redis) => redis.close().await,
        }
    }
}

impl Changes {
    /// Whether the value of this key may have changed.
    pub(crate) fn include(&self, key: &str) -> bool {
        match self {
            Self::Keys(keys) => keys.iter().any(|changed| changed == key),
            Self::All => true,
        }
    }
}

impl Lease {
    /// Returns when another process may have the lock; a lock on a file cannot be lost.
    pub(crate) async fn lost(&self) {
        match self {
            Self::File { .. } => future::pending().await,
            Self::Redis(lease) => lease.lost().await,
        }
    }
}

impl StorageWatch {
    /// Returns the changes since the last call.
    pub(crate) async fn changes(&mut self) -> Changes {
        match self {
            Self::Directory(watch) => Changes::Keys(watch.changes()),
            Self::Redis(watch) => watch.changes().await,
        }
    }
}

impl StorageError {
    /// Whether this says nothing about an order: it goes on when the store can be used again, or elsewhere. The store
    /// has logged it.
    pub(crate) fn is_interruption(&self) -> bool {
        matches!(self, Self::Unreachable(..) | Self::Refused(..) | Self::LeaseLost)
    }

    /// Whether waiting does not help: the settings are wrong, here or on the store's machine.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(..))
    }
}

/// The folder of the copy. On the command line and in settings files, it is in that of certificates.
const COPY: &str = "store";

impl fmt::Display for StorageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => {
                let path = path.display();
                match error.kind() {
                    io::ErrorKind::PermissionDenied => {
                        write!(formatter, "{path}: the server may not write here: let its user own the folder")
                    }
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        write!(formatter, "{path}: the disk is full: make room")
                    }
                    io::ErrorKind::ReadOnlyFilesystem => {
                        write!(formatter, "{path}: the file system is read-only: name another folder")
                    }
                    _ => write!(formatter, "{path}: {error}"),
                }
            }
            Self::Foreign(path, user) => write!(
                formatter,
                "{}: this folder, or a symbolic link to it, belongs to the user {user}, who could exchange the certificates \
                 and keys in it: run chown on it, or name another one",
                path.display()
            ),
            Self::NotPrivate(path) => write!(
                formatter,
                "{}: others may read this folder, which holds private keys: run chmod 700 on it, or name another one",
                path.display()
            ),
            Self::Unreachable(server, problem) | Self::Refused(server, problem) => {
                write!(formatter, "Redis at {server} cannot be used: {problem}")
            }
            Self::Sealed(server, key) => write!(
                formatter,
                "{key} in Redis at {server} cannot be decrypted: give all servers the same `acme-store-secret`, or \
                 remove this key"
            ),
            Self::Encryption => formatter.write_str("a value cannot be encrypted"),
            Self::LeaseLost => formatter.write_str("another server has taken over the order"),
        }
    }
}

impl Error for StorageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File(_, error) => Some(error),
            _ => None,
        }
    }
}
