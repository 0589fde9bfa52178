//! An HTTP server for a handler or any `tower` service.
//!
//! ```no_run
//! use serow::{Request, Server};
//!
//! fn main() -> Result<(), serow::Error> {
//!     Server::new().listen("127.0.0.1:8080").run(|_: Request| async { "Hello, World!" })
//! }
//! ```
//!
//! A [`Handler`] is an async function from [`Request`] to what converts into a [`Response`]: text, bytes, a status, a status
//! with one of these, a `Result` of two of them, or with the cargo feature `json`, `Json`. An axum router or another
//! `tower::Service` becomes one by [`ServiceHandler`], and [`HandlerExt::layer`] wraps one in a `tower` layer.
//! [`HandlerExt::boxed`] erases its type.
//!
//! Each worker thread has a runtime, a listening socket and a clone of the handler of its own; a connection stays where
//! it was accepted, so futures need not be `Send`, and requests do not take locks.
//!
//! # Cargo features
//!
//! | feature | by default | what it adds |
//! | --- | --- | --- |
//! | `tls` | yes | TLS on TCP connections: [`Server::listen_tls`], [`Server::tls`] |
//! | `http2` | yes | HTTP/2: [`Server::versions`] |
//! | `http3` | yes | HTTP/3: [`Server::http3`], and `tls` |
//! | `proxy-protocol` | yes | the client's address from a proxy in front: [`Server::proxy_protocol`] |
//! | `json` | no | values as responses: `Json` |
//!
//! With `default-features = false` it serves HTTP/1.1 in cleartext, without any code in C, and there is much less to compile;
//! the methods and types of the other features do not exist then. There is no feature for compression, since this
//! crate does not compress: a `tower` layer does, or the crate `serow-files`.
#![forbid(unsafe_code)]
// Only versions of HTTP that are left out use the dead code.
#![cfg_attr(not(all(feature = "http2", feature = "http3")), allow(dead_code))]

mod accepting;
mod access_log;
mod alternative_service;
mod before_request;
mod bound_server;
mod client_rules;
mod connection;
mod connection_counter;
mod connection_deadline;
mod error;
mod exchange;
mod guarded_io;
mod http1;
#[cfg(feature = "http2")]
mod http2;
#[cfg(feature = "http3")]
mod http3;
mod listener_terms;
#[cfg(any(feature = "http2", feature = "http3"))]
mod multiplexed;
mod oversized;
#[cfg_attr(not(feature = "proxy-protocol"), path = "no_proxy_header.rs")]
mod proxy_header;
#[cfg_attr(not(feature = "http3"), path = "no_quic.rs")]
mod quic;
#[cfg(feature = "http3")]
mod quic_accepting;
#[cfg_attr(not(feature = "http3"), path = "no_quic_handshakes.rs")]
mod quic_handshakes;
#[cfg(feature = "http3")]
mod quic_sockets;
mod running_server;
mod serve;
mod server;
mod settings;
mod shared_ports;
mod signals;
mod status;
mod stop;
mod stop_warning;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod transport;
#[cfg_attr(not(feature = "http2"), path = "no_versions.rs")]
mod versions;
mod worker;
mod worker_cores;

pub use bytes::Bytes;
#[cfg(feature = "json")]
pub use serow_message::Json;
pub use serow_message::{
    AccessLog, AccessNote, Address, AddressError, Body, BodyKind, BoxError, BoxedHandler, Connection, Encryption,
    Extensions, FieldName, FileChanged, FileRange, FileVersion, Handler, HandlerExt, HandlerService, HandshakeStage,
    Headers, Incoming, IncomingError, InformationalSender, InvalidHeader, KnownHeader, LimitStatus, Method, OnUpgrade,
    Peer, PeerCredentials, Priority, Request, RequestContext, RequestHead, Response, RouteNote, Scheme, Served,
    ServedStream, ServiceHandler, StatusCode, Target, TargetForm, Unanswered, UpgradeRefused, Upgraded, User, Version,
    WorkerCores, WorkerCoresTextError, is_token_byte, websocket,
};
pub use serow_net::{BindError, ListenOptions};
#[cfg(any(feature = "http2", feature = "http3"))]
pub use serow_pacing::Pacing;
#[cfg(feature = "tls")]
pub use serow_tls::{
    CertificateFiles, CertificateTable, Certificates, ClientCertificates, KeepError, SelfSigned, ServerCertificate,
    SharedSecret, TlsDescription, TlsSettings, TlsSettingsError, TlsVersion, TlsVersions, UnknownNames, kept_text,
};

#[cfg(feature = "http3")]
pub use self::quic_sockets::SharedQuicSockets;
#[cfg(feature = "proxy-protocol")]
pub use self::settings::ProxyProtocol;
#[cfg(feature = "http2")]
pub use self::versions::Versions;
pub use self::{
    bound_server::{BoundServer, TlsFiles},
    client_rules::ClientRules,
    error::Error,
    running_server::{EndOfAccepting, RunningServer},
    serve::{ListeningSocket, Serve, ServeUntil, serve},
    server::Server,
    settings::{Limits, Timeouts},
    status::{
        ConnectionCounts, ConnectionError, DelayCounts, PacingCounts, RequestCounts, Status, StatusReport, StreamCounts,
    },
    stop::Stopper,
    worker_cores::WorkerCoresError,
};
