//! Settings of an upstream and of forwarding.

mod balancing;
mod check;
mod passive;
mod retry;
mod sticky;

use std::time::Duration;

use serow_client::TlsConnector;
use serow_gateway::{BufferSettings, FieldNames, Forwarded, QueueSettings};

pub use self::{
    balancing::{Balancing, HashKey},
    check::{CheckKind, CheckSettings, CheckStart, HttpCheck},
    passive::PassiveSettings,
    retry::RetrySettings,
    sticky::{StickyMode, StickySettings, StickyValue},
};
use crate::address::ServerAddress;

/// A group of servers that answer the same requests.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// How it is called in logs, in the status and at the administration's door.
    pub name: String,
    /// The servers.
    pub servers: Vec<ServerSettings>,
    /// The load balancing algorithm.
    pub balancing: Balancing,
    /// Whether a client stays with the server that it had first.
    pub sticky: Option<StickySettings>,
    /// How long servers may take.
    pub timeouts: UpstreamTimeouts,
    /// Which connections are kept.
    pub keep: KeepSettings,
    /// How requests wait while all servers are at their limits.
    pub queue: QueueSettings,
    /// Whether requests also wait while there is no server at all; by default they are refused then.
    pub waits_for_servers: bool,
    /// Within which time a server that came back gets its whole share again; zero: at once.
    pub slow_start: Duration,
    /// When a request is retried.
    pub retries: RetrySettings,
    /// How requests are retried that may have crashed a server, if servers are local processes. Others are not known to
    /// crash.
    pub crashes: Option<CrashSettings>,
    /// Passive health checks.
    pub passive: PassiveSettings,
    /// How the servers' health is checked, if it is.
    pub check: Option<CheckSettings>,
    /// How connections to servers with `https` are encrypted.
    pub encryption: Option<TlsConnector>,
    /// The PROXY header that connections begin with, if they do.
    pub proxy_header: Option<ProxyHeader>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Its location and protocol.
    pub address: ServerAddress,
    /// Its share among the others: 1 by default.
    pub weight: u16,
    /// Whether it gets requests only if no other server can.
    pub backup: bool,
    /// Requests that it gets at a time, from all threads of this process; none: any number.
    pub max_requests: Option<u32>,
    /// Its name in session cookies, if they should not reveal its address.
    pub id: Option<String>,
}

/// How long servers may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamTimeouts {
    /// For opening a connection, TLS included; 2 s. A server nearby answers in a millisecond, a packet that was lost comes
    /// again after one second.
    pub connect: Duration,
    /// Until the response begins; 60 s, as nginx has it.
    pub response: Duration,
    /// Between two pieces of a body, either way; 60 s, as nginx has it.
    pub transfer: Duration,
    /// For all of it: waiting, all attempts, the whole response; none by default.
    pub total: Option<Duration>,
}

/// Which connections are kept for further requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepSettings {
    /// Idle ones for each server and thread; 64.
    pub idle: usize,
    /// How long; 55 s, since most servers close idle connections after 60 or 75 s, and the proxy should close first.
    pub idle_time: Duration,
}

/// Which form of the PROXY protocol a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeader {
    /// A line of text.
    Version1,
    /// Binary.
    Version2,
}

/// How requests are changed on their way.
#[derive(Clone, Debug, Default)]
pub struct ForwardingSettings {
    /// The host in requests to servers.
    pub host: HostSetting,
    /// CutOff from the beginning of paths that begin with it: `/a` of `/a/b` and of `/a`, but not of `/ab`. Paths are compared as
    /// routes see them: decoded, and with one slash where there are several.
    pub strip_prefix: Option<String>,
    /// Put before each path; behind it stands a slash in any case.
    pub add_prefix: Option<String>,
    /// The fields that describe the client to servers.
    pub forwarded: Forwarded,
    /// Which names fields of requests may have.
    pub field_names: FieldNames,
    /// Fields that are set in requests; those with an empty value are removed.
    pub request_headers: Vec<(String, String)>,
    /// Fields that are set in responses; those with an empty value are removed.
    pub response_headers: Vec<(String, String)>,
    /// Whether request bodies are buffered before a server is selected.
    pub buffering: Option<BufferSettings>,
    /// Whether responses have [`Attempts`](crate::Attempts) in their extensions, for the access log.
    pub note_attempts: bool,
}

/// When a request is sent again that a server may have crashed with, for servers that are processes of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashSettings {
    /// Servers that have to be up then: with two of them the request cannot take the last one. Until so many are, it waits.
    /// `None` is never.
    pub min_servers: Option<usize>,
}

/// The host in requests to servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostSetting {
    /// As the client named it.
    #[default]
    Keep,
    /// The server's own name or address.
    Server,
    /// This one.
    Fixed(String),
}

impl UpstreamSettings {
    /// An upstream of these servers, with default settings.
    #[must_use]
    pub fn new(name: impl Into<String>, servers: Vec<ServerSettings>) -> Self {
        Self {
            name: name.into(),
            servers,
            balancing: Balancing::default(),
            sticky: None,
            timeouts: UpstreamTimeouts::default(),
            keep: KeepSettings::default(),
            queue: QueueSettings::default(),
            waits_for_servers: false,
            slow_start: Duration::ZERO,
            retries: RetrySettings::default(),
            crashes: None,
            passive: PassiveSettings::default(),
            check: None,
            encryption: None,
            proxy_header: None,
        }
    }
}

impl ServerSettings {
    /// A server at this address, like all others.
    #[must_use]
    pub fn new(address: ServerAddress) -> Self {
        Self { address, weight: 1, backup: false, max_requests: None, id: None }
    }
}

impl Default for UpstreamTimeouts {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { connect: Duration::from_secs(2), response: minute, transfer: minute, total: None }
    }
}

impl Default for KeepSettings {
    fn default() -> Self {
        Self { idle: 64, idle_time: Duration::from_secs(55) }
    }
}
