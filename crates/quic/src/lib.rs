//! QUIC (RFC 9000) for threads with a runtime of their own.
//!
//! `quinn-proto` is QUIC without I/O. This crate gives each thread an [`Endpoint`] of its own: a socket, the connections
//! whose packets arrive there, and their timers. The crate `quinn` has one task that drives the endpoint for all threads.
//!
//! | what | file |
//! | --- | --- |
//! | the socket of a thread, and which connection a datagram is for | `endpoint.rs` |
//! | one connection: events, timers, sending | `connection.rs` |
//! | the streams of an HTTP/3 connection, for servers and clients | `http3_streams.rs` |
//! | congestion control, and the bound on less urgent bytes in flight | `congestion.rs`, `congestion/` |
//! | connection IDs that name the socket of their owner | `connection_id.rs` |
//! | the program by which the kernel finds that socket | `serow_net::reuse_port::quic_steering` |
//! | secrets that the endpoints of a server share | `secrets.rs` |
//! | TLS of a server's connections, forgotten after the handshake | `server_session.rs` |
//! | transport parameters, and TLS for QUIC | `settings.rs` |
//! | early data (0-RTT) without replay | `early_data.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod congestion;
mod connection;
mod connection_id;
mod early_data;
mod endpoint;
mod http3_streams;
mod secrets;
mod server_session;
mod settings;

pub use quinn_proto::{ConnectError, ConnectionError, Event};

pub use self::{
    connection::{Connection, Handshake, Sent},
    early_data::EarlyData,
    endpoint::{Endpoint, Incoming, ReceiveBuffers},
    http3_streams::{Delivery, Http3Streams, Http3StreamsError, Piece},
    secrets::Secrets,
    settings::{ClientSettings, ServerSettings, TransportSettings},
};
