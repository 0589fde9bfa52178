//! A reverse proxy as a handler: load balancing, health checks, retries.
//!
//! ```no_run
//! use serow::Server;
//! use serow_proxy::{ForwardingSettings, Proxy, ServerSettings, BackgroundTasks, Upstream, UpstreamSettings};
//!
//! let servers = ["127.0.0.1:9000", "unix:/run/app.sock"].map(str::parse).map(|address| address.map(ServerSettings::new));
//! let servers = servers.into_iter().collect::<Result<_, _>>()?;
//! let upstream = Upstream::new(UpstreamSettings::new("app", servers));
//! // Checks the health of servers and resolves names.
//! let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]);
//! Server::new().listen("127.0.0.1:8080").run(Proxy::new(upstream, ForwardingSettings::default()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | find this thread's connections to the upstream and its share of the balancing | `local_upstream.rs`, `thread_local_pool.rs` |
//! | make the head for servers: without hop-by-hop fields, with fields that describe the client | `request_head.rs`, `via.rs`, crate `serow-gateway` |
//! | servers that are healthy, in rotation and not full are candidates; a session has its own; if all are full, the request waits | `selection.rs`, `sticky.rs`, crate `serow-gateway` |
//! | load balancing chooses one of them | `balancing.rs`, `balancing/` |
//! | take an idle connection, or open one | `attempt.rs`, `pool.rs`, `http2/connections.rs` |
//! | send the request as its body arrives; receive the response's head, informational ones first | `sequential_exchange.rs`, `http2/` |
//! | or send it by FastCGI, SCGI or uwsgi, with the variables of its script, also if the client has gone | `cgi.rs`, `persistence.rs` |
//! | if the attempt failed: decide whether to retry, within the budget | `attempt_error.rs`, `retry.rs` |
//! | record the outcome for the server's health, for all threads | `outlier.rs`, `latency.rs`, `counters.rs` |
//! | make the response's head for the client; forward the body as the client reads it, or into a buffer; join tunnels | `response_head.rs`, `body_forwarding.rs`, `sequential_exchange/response_body.rs`, `http2/`, `tunnel.rs` |
//! | or send an error response | `error_response.rs` |
//!
//! Besides the requests, one thread checks servers and resolves names: `background_tasks.rs`, `health_check/`,
//! `names/`.
//!
//! # Ownership
//!
//! An [`Upstream`] is shared by all threads: its [`Server`]s consist of atomics (health, requests in flight, counters,
//! latency), and their list is behind a lock that a thread takes only when its version has changed. Connections and
//! balancing state belong to one thread each, so a request never waits for another thread.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod attempt;
mod attempt_error;
mod attempt_log;
mod background_tasks;
mod balancing;
mod body_forwarding;
mod cgi;
mod control;
mod counters;
mod error_response;
mod exchange_deadline;
mod forwarding;
mod health;
mod health_check;
mod http2;
mod latency;
mod lease;
mod local_upstream;
mod names;
mod outlier;
mod persistence;
mod pool;
mod proxy;
mod proxy_header;
mod report;
mod request_head;
mod response_head;
mod retry;
mod selection;
mod sequential_exchange;
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

pub use serow_client::{CgiProtocol, Protocol};
pub use serow_dns::ResolverSettings;
pub use serow_gateway::{
    Attempt, Attempts, BufferSettings, FieldNames, Forwarded, ForwardedFields, InternalRedirects, Network,
    NetworkError, QueueSettings, ResponseBuffering, SpoolSpace, TrustedProxies,
};
pub use serow_message::{ServerAddress, ServerAddressError, ServerLocation};

pub use self::{
    background_tasks::BackgroundTasks,
    control::ControlError,
    proxy::Proxy,
    report::{CheckReport, ServerReport, ServerState, UpstreamReport},
    request_head::{field_values, set_field},
    server::{Administration, Server},
    settings::{
        Balancing, CheckKind, CheckSettings, CheckStart, CrashSettings, ForwardingSettings, ForwardingTimeouts,
        HashKey, HostSetting, HttpCheck, KeepSettings, PassiveSettings, ProxyHeader, RetrySettings, ServerSettings,
        StickyMode, StickySettings, StickyValue, Successor, UpstreamSettings, UpstreamTimeouts,
    },
    upstream::Upstream,
};
