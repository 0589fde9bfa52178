//! Connections to HTTP servers: HTTP/1.1 and HTTP/2 over TCP, TLS and unix sockets, and HTTP/3 over QUIC.
//!
//! | subject | file |
//! | --- | --- |
//! | the server that a URL names | `origin.rs` |
//! | opening a connection, with TLS and ALPN | `dialer.rs` |
//! | HTTP/1.1 and HTTP/2 connections | `http1.rs`, `http2.rs` |
//! | connections to applications that speak FastCGI, SCGI or uwsgi | `cgi.rs` |
//! | HTTP/3 connections, and opening them | `http3.rs`, `http3_dialer.rs` |
//! | connections that carry one exchange at a time, whatever their protocol | `sequential_connection.rs` |
//! | the pipe for a large body | `response_pipe.rs` |
//! | HTTP/1.1 connections that wait for their next request | `idle.rs` |
//! | a connection's wire with its buffers, below both | `buffered_wire.rs` |
//! | the errors of a connection | `error.rs` |
//! | small HTTPS requests to other servers, with limits of time and size | [`fetch`] |
#![forbid(unsafe_code)]

mod buffered_wire;
mod cgi;
mod dialer;
mod error;
pub mod fetch;
mod http1;
mod http2;
mod http3;
mod http3_dialer;
mod idle;
mod response_pipe;
mod sequential_connection;

pub use self::{
    cgi::{CgiConnection, CgiProtocol, CgiRequest},
    dialer::{ClientEncryption, DialError, Dialer},
    error::ClientError,
    http1::Http1,
    http2::Http2,
    http3::Http3,
    http3_dialer::Http3Dialer,
    idle::{IdleHttp1, NotReusable},
    response_pipe::ResponsePipe,
    sequential_connection::SequentialConnection,
};
pub use serow_http3::Limits as Http3Limits;
pub use serow_message::{Origin, OriginError};
pub use serow_net::{Buffers, Destination};
pub use serow_tls::{Protocol, Resumption, TlsClientSettings, TlsConnector, TlsSettingsError, Trust};
