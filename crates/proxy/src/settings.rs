//! Settings of an upstream and of forwarding.

mod balancing;
mod check;
mod passive;
mod retry;
mod sticky;

use std::time::Duration;

use serow_client::{CgiProtocol, TlsConnector};
use serow_gateway::{BufferSettings, FieldNames, Forwarded, InternalRedirects, QueueSettings, ResponseBuffering};
use serow_variables::Text;

pub use self::{
    balancing::{Balancing, HashKey},
    check::{CheckKind, CheckSettings, CheckStart, HttpCheck},
    passive::PassiveSettings,
    retry::RetrySettings,
    sticky::{StickyMode, StickySettings, StickyValue},
};
use crate::ServerAddress;

/// A group of servers that answer the same requests.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// Its name in logs, in the status and at the admin endpoint.
    pub name: String,
    /// The servers.
    pub servers: Vec<ServerSettings>,
    /// The protocol of the servers, if it is not HTTP.
    pub cgi_protocol: Option<CgiProtocol>,
    /// The load balancing algorithm.
    pub balancing: Balancing,
    /// Whether a client stays with the server that it had first.
    pub sticky: Option<StickySettings>,
    /// The time limits for servers.
    pub timeouts: UpstreamTimeouts,
    /// Which idle connections are kept.
    pub keep: KeepSettings,
    /// How requests wait while all servers are at their limits.
    pub queue: QueueSettings,
    /// Whether requests also wait while there is no server at all; by default they are refused then.
    pub waits_for_servers: bool,
    /// The time in which a server that came back reaches its full share; zero: at once.
    pub slow_start: Duration,
    /// When a request is retried.
    pub retries: RetrySettings,
    /// How requests are retried that may have crashed a server, if servers are local processes. Others are not known to
    /// crash.
    pub crashes: Option<CrashSettings>,
    /// Whether a server whose response is overdue gets no more requests, if servers are local processes, which are replaced
    /// then ([`Server::is_overdue`](crate::Server::is_overdue)).
    pub holds_overdue: bool,
    /// Passive health checks.
    pub passive: PassiveSettings,
    /// Active health checks, if there are any.
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

/// The time limits for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamTimeouts {
    /// For opening a connection, TLS included; 2 s. A nearby server responds within a millisecond, and a lost packet is
    /// repeated after one second.
    pub connect: Duration,
    /// Until the response begins; 60 s, as in nginx.
    pub response: Duration,
    /// Between two pieces of a body, either way; 60 s, as in nginx.
    pub transfer: Duration,
    /// For the whole request: waiting, all attempts, the response; none by default.
    pub total: Option<Duration>,
}

/// Which idle connections are kept for further requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepSettings {
    /// Idle ones for each server and thread; 64.
    pub idle: usize,
    /// How long; 55 s, since most servers close idle connections after 60 or 75 s, and the proxy should close first.
    pub idle_time: Duration,
}

/// The version of the PROXY protocol.
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
    /// Stripped from paths that begin with it: `/a` of `/a/b` and of `/a`, but not of `/ab`. Paths are compared as
    /// routes do: decoded, and with repeated slashes as one.
    pub strip_prefix: Option<String>,
    /// Put before each path, always followed by a slash.
    pub add_prefix: Option<String>,
    /// The fields that describe the client to servers.
    pub forwarded: Forwarded,
    /// The allowed names of header fields in requests.
    pub field_names: FieldNames,
    /// Fields that are set in requests; those with an empty value are removed.
    pub request_headers: Vec<(String, String)>,
    /// Fields that are set in requests to texts with variables; one that is empty for a request is removed.
    pub request_texts: Vec<(String, Text)>,
    /// Variables that are set for applications that speak FastCGI, SCGI or uwsgi, to texts with variables of this server.
    pub cgi_variables: Vec<(String, Text)>,
    /// Fields that are set in responses; those with an empty value are removed.
    pub response_headers: Vec<(String, String)>,
    /// Whether responses may name what is sent in their place.
    pub internal_redirects: InternalRedirects,
    /// Whether request bodies are buffered before a server is selected.
    pub buffering: Option<BufferSettings>,
    /// Whether responses are buffered whose clients do not keep up; they are by default.
    pub response_buffering: ResponseBuffering,
    /// Whether responses have [`Attempts`](crate::Attempts) in their extensions, for the access log.
    pub note_attempts: bool,
    /// Time limits in place of those of the upstream.
    pub timeouts: Option<ForwardingTimeouts>,
}

/// Time limits for servers in place of those of the upstream ([`UpstreamTimeouts`]): those that are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardingTimeouts {
    /// Until the response begins.
    pub response: Option<Duration>,
    /// Between two pieces of a body, either way.
    pub transfer: Option<Duration>,
    /// For the whole request.
    pub total: Option<Duration>,
}

/// When a request is sent again that a server may have crashed with, for servers that are processes of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashSettings {
    /// How many servers have to be up for a retry: with two of them, the request cannot crash the last one. Until then,
    /// it waits. `None`: no retries.
    pub min_servers: Option<usize>,
    /// Where the process listens that takes the place of a crashed one.
    pub successor: Successor,
}

/// Where the successor of a crashed process listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// Elsewhere. A request that comes to the server before its end is known is lost, though it has crashed nothing.
    Elsewhere,
    /// At the same socket, which outlives the process: a request waits there. If it is lost, its own process has crashed.
    SameSocket,
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
            cgi_protocol: None,
            balancing: Balancing::default(),
            sticky: None,
            timeouts: UpstreamTimeouts::default(),
            keep: KeepSettings::default(),
            queue: QueueSettings::default(),
            waits_for_servers: false,
            slow_start: Duration::ZERO,
            retries: RetrySettings::default(),
            crashes: None,
            holds_overdue: false,
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
