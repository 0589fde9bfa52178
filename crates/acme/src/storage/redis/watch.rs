//! Changes by other servers: noticed by asking Redis, and the challenges among them kept in memory, since handshakes and
//! requests cannot wait for Redis.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{CHANGES, MAX_CHANGES, RedisStorage, VERSION, connection::RUN, scripts};
use crate::storage::{Changes, StorageError};

/// The challenges of the fleet, as of a moment ago.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    challenges: Mutex<HashMap<String, (Vec<u8>, Instant)>>,
}

/// Notices changes.
pub(crate) struct RedisWatch {
    storage: Arc<RedisStorage>,
    /// The version up to which changes are known.
    version: i64,
    /// The run of Redis, and the number of the connection, that `version` is of.
    run: String,
    connection: u64,
}

impl Mirror {
    pub(super) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        challenges.get(key).map(|(value, _)| value.clone())
    }

    fn update(&self, changes: Vec<(String, Option<Vec<u8>>)>, now: Instant) {
        let mut challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in changes {
            match value {
                Some(value) => challenges.insert(key, (value, now)),
                None => challenges.remove(&key),
            };
        }
        // As in Redis, which does not say when it removes one.
        challenges.retain(|_, (_, since)| now.saturating_duration_since(*since) < CHALLENGE_LIFE);
    }

    fn clear(&self) {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl RedisWatch {
    pub(crate) fn new(storage: Arc<RedisStorage>) -> Self {
        Self { storage, version: 0, run: String::new(), connection: 0 }
    }

    /// Returns the changes since the last call. While Redis cannot be used, there are none.
    pub(crate) async fn changes(&mut self) -> Changes {
        match self.poll().await {
            Ok(changes) => changes,
            // The connection has reported it; the next call starts over.
            Err(_) => Changes::Keys(Vec::new()),
        }
    }

    async fn poll(&mut self) -> Result<Changes, StorageError> {
        let (run, version, mut keys) = self.ask(self.version).await?;
        let connection = *self.storage.connection.opened().borrow();
        if run.is_empty() {
            // Redis was emptied while it ran: with the next connection, its run is noted again.
            self.storage.connection.disconnect().await;
            return Ok(Changes::Keys(Vec::new()));
        }
        let version: i64 = version.parse().unwrap_or_default();
        let is_other = run != self.run || connection != self.connection || version < self.version;
        let is_all = is_other || keys.len() >= MAX_CHANGES;
        if is_all {
            keys = self.ask(0).await?.2;
        }
        let challenges: Vec<_> = keys.iter().filter(|key| key.starts_with("challenges/")).cloned().collect();
        let values = self.storage.read_all(&challenges).await?;
        // The authority cannot validate with an answer that cannot be decrypted: it counts as missing.
        let values = values.into_iter().map(|value| value.and_then(Result::ok));
        if is_all {
            // Only now: until the new ones have been read, the known ones are answered.
            self.storage.mirror.clear();
        }
        self.storage.mirror.update(challenges.into_iter().zip(values).collect(), Instant::now());
        (self.version, self.run, self.connection) = (version, run, connection);
        if is_all {
            return Ok(Changes::All);
        }
        keys.retain(|key| !key.starts_with("challenges/"));
        Ok(Changes::Keys(keys))
    }

    async fn ask(&self, version: i64) -> Result<(String, String, Vec<String>), StorageError> {
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::CHANGES).arg(3);
        for name in [RUN, VERSION, CHANGES] {
            command.arg(self.storage.connection.key(name));
        }
        command.arg(version);
        self.storage.connection.call(&command).await
    }
}

/// How long a challenge is kept whose server has died before it withdrew it. An authority validates within minutes.
pub(super) const CHALLENGE_LIFE: Duration = Duration::from_secs(3600);
