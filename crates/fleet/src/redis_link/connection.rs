//! The connection to the Redis server that can be written to: found among sentinels, or the nodes of a cluster.

use std::{io, sync::Arc, time::Duration};

use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisConnectionInfo, Value, aio::MultiplexedConnection};
use rustls_pki_types::ServerName;
use serow_dns::Resolver;
use serow_message::RedisPlace;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::{
    bounded_stream::{BoundedStream, Received},
    error::{FleetError, Reason},
    limited_replies::LimitedReplies,
};
use crate::{FleetSettings, RedisUrl};

/// An open connection.
pub(super) struct Connection {
    connection: MultiplexedConnection,
    task: JoinHandle<()>,
    received: Received,
    timeout: Duration,
    /// Where it leads.
    pub(super) node: RedisPlace,
}

/// The bound on the memory that the other end of a connection can fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// All answers of an exchange together; a connection with more ends.
    Exchange,
    /// Each answer; a larger one becomes an error.
    Replies,
}

/// Opens connections.
pub(super) struct Connector {
    bound: Bound,
    settings: Arc<FleetSettings>,
    resolver: Resolver,
    /// The node of a cluster that has the keys, as the others have said.
    moved: Option<RedisPlace>,
    /// Which URL is next, when one is of no use.
    next: usize,
}

impl Connector {
    pub(super) fn new(settings: Arc<FleetSettings>, bound: Bound) -> Self {
        Self { bound, settings, resolver: Resolver::default(), moved: None, next: 0 }
    }

    /// Opens a connection; the next call tries another place, if this one is of no use.
    pub(super) async fn connect(&mut self) -> Result<Connection, FleetError> {
        let settings = Arc::clone(&self.settings);
        let url = &settings.urls[self.next % settings.urls.len()];
        self.next = self.next.wrapping_add(1);
        if let Some(primary) = &url.primary {
            return self.by_sentinels(url, primary).await;
        }
        match self.moved.take() {
            Some(node) => self.open(url, &node, true).await,
            None => self.open(url, &url.places[0], true).await,
        }
    }

    /// The connection is of use: it is where to begin next time.
    pub(super) fn keep(&mut self, node: &RedisPlace) {
        self.next = self.next.wrapping_sub(1);
        if self.is_cluster() {
            self.moved = Some(node.clone());
        }
    }

    /// A node of a cluster has said that another one has the keys. Only nodes of a cluster may send servers elsewhere;
    /// returns whether this is one.
    pub(super) fn follow(&mut self, node: &RedisPlace) -> bool {
        if self.is_cluster() {
            self.moved = Some(node.clone());
        }
        self.is_cluster()
    }

    fn is_cluster(&self) -> bool {
        self.settings.urls.len() > 1
    }

    async fn by_sentinels(&self, url: &RedisUrl, primary: &str) -> Result<Connection, FleetError> {
        let mut problem = FleetError::new(Reason::Unreachable, "no sentinel can be reached");
        for sentinel in &url.places {
            let node = match self.ask(url, sentinel, primary).await {
                Ok(node) => node,
                Err(error) => {
                    problem = error;
                    continue;
                }
            };
            let mut connection = self.open(url, &node, true).await?;
            let role = connection.call(&redis::cmd("ROLE")).await?;
            // It may have been replaced a moment ago.
            return match role {
                Value::Array(parts) if text(parts.first()).as_deref() == Some("master") => Ok(connection),
                _ => Err(FleetError::new(Reason::NotReady, "the server that a sentinel names is not a primary")),
            };
        }
        Err(problem)
    }

    async fn ask(&self, url: &RedisUrl, sentinel: &RedisPlace, primary: &str) -> Result<RedisPlace, FleetError> {
        let mut command = redis::cmd("SENTINEL");
        command.arg("get-master-addr-by-name").arg(primary);
        // Sentinels have no users as a rule, and refuse a password that they do not need.
        let mut connection = self.open(url, sentinel, false).await?;
        let answer = match connection.call(&command).await {
            Err(error) if error.reason == Reason::Refused => {
                connection = self.open(url, sentinel, true).await?;
                connection.call(&command).await?
            }
            answer => answer?,
        };
        let Value::Array(parts) = answer else {
            return Err(FleetError::new(Reason::NotReady, "the sentinels do not know a primary of this name"));
        };
        let port = text(parts.get(1)).and_then(|port| port.parse().ok());
        let node = text(parts.first()).zip(port).map(|(host, port)| RedisPlace::Tcp(host, port));
        node.ok_or_else(FleetError::unexpected)
    }

    /// Opens a connection to a node, with the user's name and password or without.
    async fn open(&self, url: &RedisUrl, node: &RedisPlace, has_user: bool) -> Result<Connection, FleetError> {
        let limit = self.settings.timeout;
        let opened = timeout(limit, async {
            match node {
                RedisPlace::Unix(path) => {
                    let stream = UnixStream::connect(path).await.map_err(|error| unreachable(&error))?;
                    self.log_in(url, node, has_user, stream).await
                }
                RedisPlace::Tcp(host, port) => {
                    let stream = self.connect_tcp(host, *port).await?;
                    match (&self.settings.tls, url.is_tls) {
                        (Some(tls), true) => {
                            let name = ServerName::try_from(host.clone())
                                .map_err(|error| FleetError::new(Reason::Unreachable, error.to_string()))?;
                            let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
                            self.log_in(url, node, has_user, stream.map_err(|error| unreachable(&error))?).await
                        }
                        _ => self.log_in(url, node, has_user, stream).await,
                    }
                }
            }
        });
        opened.await.unwrap_or_else(|_| Err(too_slow(limit)))
    }

    async fn connect_tcp(&self, host: &str, port: u16) -> Result<TcpStream, FleetError> {
        let addresses = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.resolver.addresses(host).await;
                found.map_err(|error| FleetError::new(Reason::Unreachable, error.to_string()))?.items
            }
        };
        let mut problem = FleetError::new(Reason::Unreachable, "its name has no address");
        for address in addresses {
            match TcpStream::connect((address, port)).await {
                Ok(stream) => {
                    // An exchange is one small packet, which must not wait for another.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => problem = unreachable(&error),
            }
        }
        Err(problem)
    }

    async fn log_in<S>(
        &self,
        url: &RedisUrl,
        node: &RedisPlace,
        has_user: bool,
        stream: S,
    ) -> Result<Connection, FleetError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut information = RedisConnectionInfo::default().set_skip_set_lib_name();
        if has_user {
            information = information.set_db(url.database.into());
            if let Some(username) = self.settings.username.as_ref().or(url.username.as_ref()) {
                information = information.set_username(username);
            }
            if let Some(password) = self.settings.password.as_ref().or(url.password.as_ref()) {
                information = information.set_password(password);
            }
        }
        let configuration = AsyncConnectionConfig::new().set_response_timeout(None);
        let failed = |error| FleetError::of(&error);
        let mut received = Received::default();
        let (connection, task) = match self.bound {
            Bound::Exchange => {
                let bounded = BoundedStream::new(stream);
                received = bounded.1;
                let opened = MultiplexedConnection::new_with_config(&information, bounded.0, configuration).await;
                let (connection, driver) = opened.map_err(failed)?;
                (connection, tokio::spawn(driver))
            }
            Bound::Replies => {
                let limited = LimitedReplies::new(stream);
                let opened = MultiplexedConnection::new_with_config(&information, limited, configuration).await;
                let (connection, driver) = opened.map_err(failed)?;
                (connection, tokio::spawn(driver))
            }
        };
        Ok(Connection { connection, task, received, timeout: self.settings.timeout, node: node.clone() })
    }
}

impl Connection {
    /// Whether the other end has it open, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        !self.task.is_finished()
    }

    /// Sends a command, and returns its answer.
    pub(super) async fn call(&mut self, command: &Cmd) -> Result<Value, FleetError> {
        let mut pipeline = Pipeline::new();
        pipeline.add_command(command.clone());
        let answers = self.call_all(&pipeline).await?;
        FleetError::checked(answers.into_iter().next().unwrap_or(Value::Nil))
    }

    /// Sends a command beside others, without a timeout, and returns its answer, which may be an error of Redis.
    pub(super) async fn send(&self, command: &Cmd) -> Result<Value, FleetError> {
        let mut pipeline = Pipeline::new();
        pipeline.add_command(command.clone());
        let answers = self.connection.clone().send_packed_commands(&pipeline, 0, 1).await;
        let answers = answers.map_err(|error| FleetError::of(&error))?;
        answers.into_iter().next().ok_or_else(FleetError::unexpected)
    }

    /// Sends commands, and returns as many answers, of which some may be errors.
    pub(super) async fn call_all(&mut self, pipeline: &Pipeline) -> Result<Vec<Value>, FleetError> {
        self.received.reset();
        let answers = timeout(self.timeout, self.connection.send_packed_commands(pipeline, 0, pipeline.len())).await;
        let answers = answers.map_err(|_| too_slow(self.timeout))?.map_err(|error| FleetError::of(&error))?;
        if answers.len() == pipeline.len() { Ok(answers) } else { Err(FleetError::unexpected()) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Whatever it waits for.
        self.task.abort();
    }
}

/// A text that Redis has sent.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

fn unreachable(error: &io::Error) -> FleetError {
    FleetError::new(Reason::Unreachable, error.to_string())
}

pub(super) fn too_slow(limit: Duration) -> FleetError {
    FleetError::new(Reason::Timeout, format!("it does not answer within {limit:?}"))
}
