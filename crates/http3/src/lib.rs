//! HTTP/3 (RFC 9114) as a pure state machine, either role: bytes of QUIC streams in, events out; no I/O, no clock.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod client;
mod closing;
mod connection;
mod control_stream;
mod endpoint;
mod error;
pub mod frame;
mod limits;
mod order;
mod own_streams;
mod prioritising;
pub mod qpack;
mod received_event;
mod receiving;
mod requests;
mod resets;
mod responses;
mod sections;
mod sending;
mod server;
mod settings;
mod stream;
mod streams;
mod unidirectional;
pub mod varint;

pub use serow_message::{BodyLength, UsageError};
pub use serow_streams::{
    BodyOrder, Counters, Follows, OpenError, ReceivedRequest, ReceivedResponse, StreamId, Turn, scheduler,
};

pub use self::{
    client::{Asking, Client, ClientRole},
    endpoint::Endpoint,
    error::{ErrorCode, ProtocolError},
    limits::Limits,
    order::StreamOrder,
    own_streams::OwnStream,
    server::{Server, ServerRole},
    settings::Settings,
};

/// An event of a server.
pub type Event = serow_streams::Event<ErrorCode>;

/// An event of a client.
pub type ClientEvent = serow_streams::ClientEvent<ErrorCode>;
