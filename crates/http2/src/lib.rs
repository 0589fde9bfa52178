//! HTTP/2 (RFC 9113) as a pure state machine, either role: bytes in, events out; no I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod client;
mod closing;
mod connection;
pub mod dependency;
mod endpoint;
mod error;
pub mod frame;
mod growth;
pub mod hpack;
mod limits;
mod prioritising;
mod receiving;
mod sending;
mod server;
mod settings;
mod stream;
mod streams;
mod window;

pub use serow_message::{BodyLength, UsageError};
pub use serow_streams::{BodyOrder, Counters, OpenError, ReceivedRequest, ReceivedResponse, StreamId, Turn, scheduler};

pub use self::{
    client::{Asking, Client, ClientRole},
    endpoint::Endpoint,
    error::{ErrorCode, ProtocolError},
    limits::Limits,
    server::{Server, ServerRole},
    settings::{Applied, Sender, Settings, SettingsUpdate},
};

/// An event of a server.
pub type Event = serow_streams::Event<ErrorCode>;

/// An event of a client.
pub type ClientEvent = serow_streams::ClientEvent<ErrorCode>;

/// The client's connection preface: the first bytes that it sends (RFC 9113 §3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
