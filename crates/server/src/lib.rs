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
#![forbid(unsafe_code)]

mod accepting;
mod access_log;
mod alternative_service;
mod bound_server;
mod client_rules;
mod connection;
mod connection_counter;
mod connection_deadline;
mod error;
mod exchange;
mod http1;
mod http2;
mod http3;
mod listener_terms;
mod multiplexed;
mod oversized;
mod quic_accepting;
mod quic_handshakes;
mod quic_sockets;
mod serve;
mod server;
mod settings;
mod shared_ports;
mod signals;
mod status;
mod stop;
mod stop_warning;
mod transport;
mod worker;
mod worker_cores;

pub use bytes::Bytes;
#[cfg(feature = "json")]
pub use serow_message::Json;
pub use serow_message::{
    AccessNote, Body, BodyKind, BoxError, BoxedHandler, Connection, Encryption, Extensions, FieldName, FileChanged,
    FileRange, FileVersion, Handler, HandlerExt, HandlerService, HandshakeStage, Headers, Incoming, IncomingError,
    InformationalSender, InvalidHeader, KnownHeader, LimitStatus, Method, OnUpgrade, Peer, PeerCredentials, Priority,
    Request, RequestHead, Response, RouteNote, Scheme, ServiceHandler, StatusCode, Target, TargetForm, UpgradeRefused,
    Upgraded, User, Version, is_token_byte, websocket,
};
pub use serow_net::{Address, AddressError, BindError, ListenOptions};
pub use serow_pacing::Pacing;
pub use serow_tls::{
    CertificateFiles, CertificateTable, Certificates, ClientCertificates, KeepError, SelfSigned, ServerCertificate,
    SharedSecret, TlsDescription, TlsSettings, TlsSettingsError, TlsVersion, TlsVersions, UnknownNames, kept_text,
};

pub use self::{
    access_log::{AccessLog, Served, ServedStream},
    bound_server::BoundServer,
    client_rules::ClientRules,
    error::Error,
    quic_sockets::SharedQuicSockets,
    serve::{ListeningSocket, Serve, ServeUntil, serve},
    server::Server,
    settings::{Limits, ProxyProtocol, Timeouts, Versions},
    status::{
        ConnectionCounts, ConnectionError, DelayCounts, PacingCounts, RequestCounts, Status, StatusReport, StreamCounts,
    },
    stop::Stopper,
    worker_cores::{WorkerCores, WorkerCoresError},
};
