//! The connection to Redis: opened when it is needed, given up after any error.
//!
//! The crate's own `ConnectionManager` is not used: it keeps a connection that does not answer any more, and does not say
//! when it has opened another one, which is when the run of Redis has to be noted.

use std::{
    error::Error,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisError, RedisFuture, aio::MultiplexedConnection,
    io::AsyncDNSResolver,
};
use serow_dns::Resolver;
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    time::{Instant, timeout},
};

use super::{address::RedisAddress, scripts};
use crate::storage::{StorageError, StoreSecret};

/// A connection that is opened again after an error, at the next call.
pub(super) struct RedisConnection {
    client: Client,
    /// Host and port.
    name: String,
    secret: StoreSecret,
    open: AsyncMutex<Option<OpenConnection>>,
    /// How many connections have been opened: what was known of Redis before may not be true any more.
    opened: watch::Sender<u64>,
    outage: Mutex<Option<Outage>>,
}

#[derive(Clone)]
struct OpenConnection {
    connection: MultiplexedConnection,
    number: u64,
}

/// Since when Redis cannot be used, and why.
struct Outage {
    since: Instant,
    /// Until then, calls fail at once.
    retry_at: Instant,
    problem: String,
}

impl RedisConnection {
    pub(super) fn new(address: &RedisAddress, secret: StoreSecret) -> Result<Self, StorageError> {
        let name = address.name();
        let client = Client::open(address.information.clone());
        let client = client.map_err(|error| StorageError::Unreachable(name.clone(), error.to_string()))?;
        let (opened, _) = watch::channel(0);
        Ok(Self { client, name, secret, open: AsyncMutex::default(), opened, outage: Mutex::default() })
    }

    /// Host and port.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Notices when a connection is opened, and numbers it.
    pub(super) fn opened(&self) -> watch::Receiver<u64> {
        self.opened.subscribe()
    }

    /// Runs a command within [`TIMEOUT`].
    pub(super) async fn call<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StorageError> {
        let outcome = timeout(TIMEOUT, async {
            let OpenConnection { mut connection, number } = self.connection().await?;
            match command.query_async(&mut connection).await {
                Ok(value) => Ok(value),
                Err(error) => {
                    self.close(number).await;
                    Err(describe(&error))
                }
            }
        });
        let outcome = match outcome.await {
            Ok(outcome) => outcome,
            Err(_) => {
                // Whatever it waited for, the connection does not answer.
                if let Ok(mut open) = self.open.try_lock() {
                    *open = None;
                }
                Err(format!("it does not answer within {TIMEOUT:?}"))
            }
        };
        match outcome {
            Ok(value) => {
                self.note_success();
                Ok(value)
            }
            Err(problem) => {
                self.note_failure(&problem);
                Err(StorageError::Unreachable(self.name.clone(), problem))
            }
        }
    }

    /// Closes the connection, which belongs to the runtime of this thread.
    pub(super) async fn disconnect(&self) {
        *self.open.lock().await = None;
    }

    async fn close(&self, number: u64) {
        let mut open = self.open.lock().await;
        if open.as_ref().is_some_and(|open| open.number == number) {
            *open = None;
        }
    }

    async fn connection(&self) -> Result<OpenConnection, String> {
        let mut open = self.open.lock().await;
        if let Some(open) = &*open {
            return Ok(open.clone());
        }
        if let Some(outage) = &*self.outage.lock().unwrap_or_else(PoisonError::into_inner)
            && Instant::now() < outage.retry_at
        {
            return Err(outage.problem.clone());
        }
        let configuration = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(TIMEOUT))
            .set_response_timeout(None)
            .set_dns_resolver(Names::default());
        let connection = self.client.get_multiplexed_async_connection_with_config(&configuration).await;
        let mut connection = connection.map_err(|error| describe(&error))?;
        self.check_in(&mut connection).await?;
        let number = *self.opened.borrow() + 1;
        self.opened.send_replace(number);
        Ok(open.insert(OpenConnection { connection, number }).clone())
    }

    /// Notes which run of Redis this is, and checks that the other servers have the same secret.
    async fn check_in(&self, connection: &mut MultiplexedConnection) -> Result<(), String> {
        let information: String =
            redis::cmd("INFO").arg("server").query_async(connection).await.map_err(|error| describe(&error))?;
        // Without it, only an empty Redis is noticed.
        let run = information.lines().find_map(|line| line.trim().strip_prefix("run_id:")).unwrap_or("unknown");
        let sealed = self.secret.seal(SECRET, b"").map_err(|_| "a value cannot be encrypted".to_owned())?;
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::CHECK_IN).arg(3).arg(RUN).arg(SETTLING).arg(SECRET);
        command.arg(run).arg(SETTLING_TIME.as_millis() as u64).arg(sealed);
        let sealed: Vec<u8> = command.query_async(connection).await.map_err(|error| describe(&error))?;
        let problem = "another secret encrypts its values: give all servers the same `acme-store-secret`";
        self.secret.open(SECRET, &sealed).map(drop).map_err(|_| problem.to_owned())
    }

    fn note_success(&self) {
        let outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(outage) = outage {
            tracing::info!(
                "certificates: Redis at {} can be used again, after {} s",
                self.name,
                outage.since.elapsed().as_secs()
            );
        }
    }

    fn note_failure(&self, problem: &str) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match &mut *outage {
            Some(outage) if now < outage.retry_at => {}
            Some(outage) => {
                outage.retry_at = now + RETRY_INTERVAL;
                problem.clone_into(&mut outage.problem);
            }
            None => {
                // At start, the error says it.
                if *self.opened.borrow() > 0 {
                    tracing::warn!(
                        "certificates: Redis at {} cannot be used ({problem}); the certificates in use stay in use",
                        self.name
                    );
                }
                *outage = Some(Outage { since: now, retry_at: now + RETRY_INTERVAL, problem: problem.to_owned() });
            }
        }
    }
}

/// The error, with its source where that says more.
fn describe(error: &RedisError) -> String {
    match error.source() {
        Some(source) if !error.to_string().contains(&source.to_string()) => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

/// Looks names up as the rest of the server does, and not with libraries that a sandbox may not open.
#[derive(Default)]
struct Names {
    resolver: Resolver,
}

impl AsyncDNSResolver for Names {
    fn resolve<'a, 'b: 'a>(
        &'a self,
        host: &'b str,
        port: u16,
    ) -> RedisFuture<'a, Box<dyn Iterator<Item = SocketAddr> + Send + 'a>> {
        Box::pin(async move {
            let addresses = match host.parse() {
                Ok(address) => vec![address],
                Err(_) => self.resolver.addresses(host).await.map_err(std::io::Error::other)?.items,
            };
            let addresses = addresses.into_iter().map(move |address| SocketAddr::new(address, port));
            Ok(Box::new(addresses) as Box<dyn Iterator<Item = SocketAddr> + Send>)
        })
    }
}

/// Redis answers within a millisecond; a lease of 30 s allows for several calls that fail.
const TIMEOUT: Duration = Duration::from_secs(2);

/// After a failure, calls fail at once for so long: a fleet must not keep a Redis busy that starts.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// How long nobody orders after Redis has started again: the watches notice it after half a second, and write back what
/// it has lost.
const SETTLING_TIME: Duration = Duration::from_secs(5);

/// The run of Redis that the servers know.
pub(super) const RUN: &str = "serow:{acme}:run";
/// Exists while nobody may take a lock.
pub(super) const SETTLING: &str = "serow:{acme}:settling";
/// Encrypted with the secret of all servers.
const SECRET: &str = "serow:{acme}:secret";
