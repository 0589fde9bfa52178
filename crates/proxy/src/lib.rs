//! Requests that other servers answer: balancing, health, retries.
//!
//! ```no_run
//! use serow::Server;
//! use serow_proxy::{ForwardingSettings, Proxy, ServerSettings, BackgroundTasks, Upstream, UpstreamSettings};
//!
//! let servers = ["127.0.0.1:9000", "unix:/run/app.sock"].map(str::parse).map(|address| address.map(ServerSettings::new));
//! let servers = servers.into_iter().collect::<Result<_, _>>()?;
//! let upstream = Upstream::new(UpstreamSettings::new("app", servers));
//! // Checks servers, and looks names up again.
//! let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]);
//! Server::new().listen("127.0.0.1:8080").run(Proxy::new(upstream, ForwardingSettings::default()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way of a request
//!
//! | step | file |
//! | --- | --- |
//! | what a thread has of the upstream is found: its connections, its turn | `local_upstream.rs` |
//! | the head for servers is made: without the fields of the client's connection, with what servers are told of the client | `request_head.rs`, `forwarded.rs`, `trust.rs`, `field_names.rs`, `path_prefix.rs`, `via.rs` |
//! | servers that are healthy, wanted and not full are candidates; a session has its own; where all are full, the request waits | `selection.rs`, `sticky.rs`, `queue.rs` |
//! | one of them is chosen | `balancing.rs`, `balancing/` |
//! | a connection that is idle is taken, or one is opened | `attempt.rs`, `pool.rs`, `http2/connections.rs` |
//! | the request goes out, as its body comes in; the response's head comes back, interim ones before it | `http1.rs`, `http2/` |
//! | where the attempt failed: whether there is another, and within which budget | `failure.rs`, `retry.rs` |
//! | what the attempt tells of the server is noted, for all threads | `outlier.rs`, `latency.rs`, `counters.rs` |
//! | the response's head is made the client's, its body is handed over as the client takes it; a changed protocol becomes a tunnel | `response_head.rs`, `http1.rs`, `http2/`, `tunnel.rs` |
//! | or the client is told why there is none | `failure_page.rs` |
//!
//! Beside the requests, one thread checks servers and looks names up: `background_tasks.rs`, `health/`, `names/`.
//!
//! # Who owns what
//!
//! An [`Upstream`] is shared by all threads: its [`Server`]s consist of atomics (health, requests in flight, counters,
//! latency), and their list is behind a lock that a thread takes only when its version has changed. Connections and
//! balancing state belong to one thread each, so a request never waits for another thread.
#![forbid(unsafe_code)]

mod address;
mod attempt;
mod attempt_error;
mod attempts;
mod background_tasks;
mod balancing;
mod body_forwarding;
mod control;
mod cookies;
mod counters;
mod error_response;
mod exchange_deadline;
mod forwarding;
mod health;
mod health_check;
mod http1;
mod http2;
mod latency;
mod lease;
mod local_upstream;
mod names;
mod outlier;
mod path_prefix;
mod pool;
mod proxy;
mod proxy_header;
mod queue;
mod report;
mod request_body;
mod request_head;
mod response_head;
mod retry;
mod selection;
mod server;
mod server_response;
mod settings;
mod sticky;
mod thread;
mod thread_local_pool;
mod tunnel;
mod upstream;
mod via;
mod warnings;
mod websocket;

pub use serow_dns::ResolverSettings;
pub use serow_gateway::{
    BufferSettings, FieldNames, Forwarded, ForwardedFields, Network, NetworkError, QueueSettings, SpoolSpace,
    TrustedProxies,
};

pub use self::{
    address::{ServerAddress, ServerAddressError, ServerLocation},
    attempts::{Attempt, Attempts},
    background_tasks::BackgroundTasks,
    control::ControlError,
    proxy::Proxy,
    report::{CheckReport, ServerReport, ServerState, UpstreamReport},
    server::{Administration, Server},
    settings::{
        Balancing, CheckKind, CheckSettings, CheckStart, CrashSettings, ForwardingSettings, HashKey, HostSetting,
        HttpCheck, KeepSettings, PassiveSettings, ProxyHeader, RetrySettings, ServerSettings, StickyMode,
        StickySettings, StickyValue, UpstreamSettings, UpstreamTimeouts,
    },
    upstream::Upstream,
};
