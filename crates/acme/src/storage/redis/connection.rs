//! The connection to Redis: opened when it is needed, given up after any error.
//!
//! The crate's own `ConnectionManager` is not used: it keeps a connection that does not answer any more, and does not say
//! when it has opened another one, which is when the run of Redis has to be noted.

use std::{
    error::Error,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, RedisFuture, aio::MultiplexedConnection, io::AsyncDNSResolver,
};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serow_dns::Resolver;
use serow_message::{RedisPlace, RedisUrl};
use tokio::{
    net::TcpStream,
    sync::{Mutex as AsyncMutex, watch},
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;

use super::scripts;
use crate::storage::{RedisStoreSettings, StorageError, StoreSecret};

/// A connection that is opened again after an error, at the next call.
pub(super) struct RedisConnection {
    client: Client,
    /// Host and port.
    name: String,
    /// The beginning of the names of all keys.
    prefix: String,
    secret: StoreSecret,
    tls: Option<Arc<ClientConfig>>,
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
    problem: Problem,
}

/// Why a call has failed.
#[derive(Clone)]
enum Problem {
    /// The connection is missing, or Redis is not ready.
    Away(String),
    /// Redis refuses the user, or its values have another secret.
    Refusal(String),
}

/// Where a URL leads, and as which user.
fn connection_info(url: &RedisUrl) -> Result<ConnectionInfo, RedisError> {
    let address = match url.places.first() {
        Some(RedisPlace::Tcp(host, port)) => ConnectionAddr::Tcp(host.clone(), *port),
        Some(RedisPlace::Unix(path)) => ConnectionAddr::Unix(path.clone()),
        None => return Err((ErrorKind::InvalidClientConfig, "the URL names no server").into()),
    };
    let mut user = RedisConnectionInfo::default().set_db(url.database.into());
    if let Some(name) = &url.username {
        user = user.set_username(name);
    }
    if let Some(password) = &url.password {
        user = user.set_password(password);
    }
    Ok(address.into_connection_info()?.set_redis_settings(user))
}

impl RedisConnection {
    pub(super) fn new(settings: &RedisStoreSettings) -> Result<Self, StorageError> {
        let RedisStoreSettings { address, secret, prefix, tls, .. } = settings;
        let place = address.places.first().map(ToString::to_string);
        let name = place.unwrap_or_default();
        let client = connection_info(address).and_then(Client::open);
        let client = client.map_err(|error| StorageError::Unreachable(name.clone(), error.to_string()))?;
        let (opened, _) = watch::channel(0);
        let (prefix, open, outage) = (prefix.clone(), AsyncMutex::default(), Mutex::default());
        let (secret, tls) = (secret.clone(), tls.clone());
        Ok(Self { client, name, prefix, secret, tls, open, opened, outage })
    }

    /// Host and port.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The whole name of a key. In a cluster, what is in braces decides about the node: all keys are in one slot, since
    /// one call of a script changes several of them.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{{acme}}:{name}", self.prefix)
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
                Err(Problem::Away(format!("it does not answer within {TIMEOUT:?}")))
            }
        };
        match outcome {
            Ok(value) => {
                self.note_success();
                Ok(value)
            }
            Err(problem) => {
                self.note_failure(&problem);
                let name = self.name.clone();
                Err(match problem {
                    Problem::Away(text) => StorageError::Unreachable(name, text),
                    Problem::Refusal(text) => StorageError::Refused(name, text),
                })
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

    async fn connection(&self) -> Result<OpenConnection, Problem> {
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
        let mut connection = match &self.tls {
            Some(tls) => self.open_encrypted(tls, configuration).await?,
            None => {
                let connection = self.client.get_multiplexed_async_connection_with_config(&configuration).await;
                connection.map_err(|error| describe(&error))?
            }
        };
        self.check_in(&mut connection).await?;
        let number = *self.opened.borrow() + 1;
        self.opened.send_replace(number);
        Ok(open.insert(OpenConnection { connection, number }).clone())
    }

    async fn open_encrypted(
        &self,
        tls: &Arc<ClientConfig>,
        configuration: AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, Problem> {
        let failed = |error: std::io::Error| Problem::Away(error.to_string());
        let information = self.client.get_connection_info();
        let ConnectionAddr::Tcp(host, port) = information.addr() else {
            return Err(Problem::Away("only a host can have TLS".to_owned()));
        };
        let addresses: Vec<SocketAddr> = match Names::default().resolve(host, *port).await {
            Ok(addresses) => addresses.collect(),
            Err(error) => return Err(describe(&error)),
        };
        let stream = TcpStream::connect(&addresses[..]).await.map_err(failed)?;
        // A command is one small packet, which must not wait for another.
        let _ = stream.set_nodelay(true);
        let name = ServerName::try_from(host.clone()).map_err(|error| Problem::Away(error.to_string()))?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await.map_err(failed)?;
        let opened = MultiplexedConnection::new_with_config(information.redis_settings(), stream, configuration).await;
        let (connection, driver) = opened.map_err(|error| describe(&error))?;
        tokio::spawn(driver);
        Ok(connection)
    }

    /// Notes which run of Redis this is, and checks that the other servers have the same secret.
    async fn check_in(&self, connection: &mut MultiplexedConnection) -> Result<(), Problem> {
        let information: String =
            redis::cmd("INFO").arg("server").query_async(connection).await.map_err(|error| describe(&error))?;
        // Without it, only an empty Redis is noticed.
        let run = information.lines().find_map(|line| line.trim().strip_prefix("run_id:")).unwrap_or("unknown");
        let sealed =
            self.secret.seal(SECRET_NAME, b"").map_err(|_| Problem::Away("a value cannot be encrypted".to_owned()))?;
        let mut command = redis::cmd("EVAL");
        command.arg(scripts::CHECK_IN).arg(3);
        for name in [RUN, SETTLING, SECRET] {
            command.arg(self.key(name));
        }
        command.arg(run).arg(SETTLING_TIME.as_millis() as u64).arg(sealed);
        let sealed: Vec<u8> = command.query_async(connection).await.map_err(|error| describe(&error))?;
        let problem = "another secret encrypts its values: give all servers the same `acme-store-secret`";
        self.secret.open(SECRET_NAME, &sealed).map(drop).map_err(|_| Problem::Refusal(problem.to_owned()))
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

    fn note_failure(&self, problem: &Problem) {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match &mut *outage {
            Some(outage) if now < outage.retry_at => {}
            Some(outage) => {
                outage.retry_at = now + RETRY_INTERVAL;
                outage.problem = problem.clone();
            }
            None => {
                // At start, the error says it.
                if *self.opened.borrow() > 0 {
                    tracing::warn!(
                        "certificates: Redis at {} cannot be used ({}); the certificates in use stay in use",
                        self.name,
                        problem.text()
                    );
                }
                *outage = Some(Outage { since: now, retry_at: now + RETRY_INTERVAL, problem: problem.clone() });
            }
        }
    }
}

impl Problem {
    fn text(&self) -> &str {
        let (Self::Away(text) | Self::Refusal(text)) = self;
        text
    }
}

/// The error, with its source where that says more.
fn describe(error: &RedisError) -> Problem {
    let text = match error.source() {
        Some(source) if !error.to_string().contains(&source.to_string()) => format!("{error}: {source}"),
        _ => error.to_string(),
    };
    match error.kind() {
        ErrorKind::AuthenticationFailed => Problem::Refusal(text),
        _ => Problem::Away(text),
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
pub(super) const RUN: &str = "run";
/// Exists while nobody may take a lock.
pub(super) const SETTLING: &str = "settling";
/// Encrypted with the secret of all servers.
const SECRET: &str = "secret";
/// The data authenticated with it: the same with each prefix.
const SECRET_NAME: &str = "serow:{acme}:secret";
