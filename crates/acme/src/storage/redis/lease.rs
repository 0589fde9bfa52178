//! A lock in Redis, which its holder renews, and which ends by itself when the holder dies.

use std::{process, sync::Arc, time::Duration};

use aws_lc_rs::rand;
use data_encoding::HEXLOWER;
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep, sleep_until},
};

use super::{
    connection::{RUN, RedisConnection, SETTLING},
    scripts,
};
use crate::storage::StorageError;

/// A lock that this process has. It is given up when this is dropped.
#[derive(Debug)]
pub(crate) struct RedisLease {
    shared: Arc<SharedLease>,
    /// Dropped with this.
    _end: oneshot::Sender<()>,
}

#[derive(Debug)]
struct SharedLease {
    key: String,
    /// The fencing token, the process and a random text.
    owner: String,
    /// Until when the lease is valid by this machine's clock; nothing if it is lost.
    valid_until: watch::Sender<Option<Instant>>,
}

/// Renews the lease until it is dropped or lost.
pub(super) struct LeaseRenewal {
    connection: Arc<RedisConnection>,
    shared: Arc<SharedLease>,
    ended: oneshot::Receiver<()>,
}

impl RedisLease {
    /// Takes a lock, unless another process has it; the renewal has to be run.
    pub(super) async fn take(
        connection: &Arc<RedisConnection>,
        name: &str,
    ) -> Result<Option<(Self, LeaseRenewal)>, StorageError> {
        let mut random = [0; 16];
        rand::fill(&mut random).map_err(|_| StorageError::Encryption)?;
        let key = connection.key(&format!("lock:{name}"));
        let asked_at = Instant::now();
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::LOCK).arg(4).arg(&key);
        [SETTLING, TOKEN, RUN].iter().for_each(|name| {
            command.arg(connection.key(name));
        });
        // The process is for people who look for the holder.
        command.arg(format!("{}-{}", process::id(), HEXLOWER.encode(&random))).arg(LEASE.as_millis() as u64);
        let owner: Option<String> = connection.call(&command).await?;
        let Some(owner) = owner else { return Ok(None) };
        let (valid_until, _) = watch::channel(Some(asked_at + LEASE));
        let shared = Arc::new(SharedLease { key, owner, valid_until });
        let (end, ended) = oneshot::channel();
        let renewal = LeaseRenewal { connection: Arc::clone(connection), shared: Arc::clone(&shared), ended };
        Ok(Some((Self { shared, _end: end }, renewal)))
    }

    /// The key of the lock.
    pub(super) fn key(&self) -> &str {
        &self.shared.key
    }

    /// The owner of the lock, for a script.
    pub(super) fn owner(&self) -> &str {
        &self.shared.owner
    }

    /// The lease in milliseconds, and 1 if it has not ended, for a script.
    pub(super) fn arguments(&self) -> (u64, u8) {
        self.shared.arguments()
    }

    /// Notes that another process has the lock.
    pub(super) fn lose(&self) {
        self.shared.valid_until.send_replace(None);
    }

    /// Returns when the lock is lost.
    pub(crate) async fn lost(&self) {
        let mut changes = self.shared.valid_until.subscribe();
        loop {
            let valid_until = *changes.borrow_and_update();
            let Some(valid_until) = valid_until.filter(|time| *time > Instant::now()) else { return };
            tokio::select! {
                // The sender lives as long as this.
                _ = changes.changed() => {}
                () = sleep_until(valid_until) => {}
            }
        }
    }
}

impl SharedLease {
    fn arguments(&self) -> (u64, u8) {
        let is_valid = self.valid_until.borrow().is_some_and(|time| time > Instant::now());
        (LEASE.as_millis() as u64, u8::from(is_valid))
    }
}

impl LeaseRenewal {
    /// Renews until the lease is dropped, and then gives the lock up.
    pub(super) async fn run(mut self) {
        let mut opened = self.connection.opened();
        opened.mark_unchanged();
        let mut delay = RENEWAL_INTERVAL;
        loop {
            tokio::select! {
                _ = &mut self.ended => return self.release().await,
                () = sleep(delay) => {}
                // Redis may have started again, and not have the lock any more.
                _ = opened.changed() => {}
            }
            let asked_at = Instant::now();
            let (lease, is_valid) = self.shared.arguments();
            let mut command = redis::cmd("EVAL");
            command.arg(scripts::RENEW).arg(1).arg(&self.shared.key);
            command.arg(&self.shared.owner).arg(lease).arg(is_valid);
            delay = match self.connection.call::<bool>(&command).await {
                Ok(true) => {
                    self.shared.valid_until.send_replace(Some(asked_at + LEASE));
                    RENEWAL_INTERVAL
                }
                Ok(false) => {
                    self.shared.valid_until.send_replace(None);
                    return;
                }
                Err(_) => RETRY_INTERVAL,
            };
        }
    }

    async fn release(self) {
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::UNLOCK).arg(1).arg(&self.shared.key).arg(&self.shared.owner);
        // Otherwise it ends by itself.
        let _ = self.connection.call::<bool>(&command).await;
    }
}

/// How long a lock outlives its holder: authorities keep orders for days, and processes rarely pause for longer.
const LEASE: Duration = Duration::from_secs(30);

/// Two renewals may fail.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(10);

/// After a renewal that failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Counts the locks.
const TOKEN: &str = "token";
