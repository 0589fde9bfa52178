//! Connections to HTTP servers: HTTP/1.1 and HTTP/2, over TCP, TLS and unix sockets.
//!
//! | what | file |
//! | --- | --- |
//! | what a URL says of the server | `origin.rs` |
//! | opening a connection, and what is spoken on it | `dialer.rs` |
//! | a connection of HTTP/1.1, of HTTP/2 | `http1.rs`, `http2.rs` |
//! | a connection of HTTP/1.1 that waits for its next request | `idle.rs` |
//! | the wire with its buffers, below both | `buffered_wire.rs` |
//! | why a connection is of no more use | `error.rs` |
#![forbid(unsafe_code)]

mod buffered_wire;
mod dialer;
mod error;
mod http1;
mod http2;
mod idle;
mod origin;

pub use self::{
    dialer::{ClientEncryption, DialError, Dialer},
    error::ClientError,
    http1::Http1,
    http2::Http2,
    idle::{IdleHttp1, NotReusable},
    origin::{Origin, OriginError},
};
pub use serow_net::{Buffers, Destination};
pub use serow_tls::{Protocol, Resumption, TlsClientSettings, TlsConnector, TlsSettingsError, Trust};
