//! HTTP/1.1 (RFC 9112) as a pure state machine, in either role.
//!
//! Bytes go in, events come out; heads and bodies go in, bytes come out. There is no socket, no clock and no thread in
//! this crate, and it is `no_std`, so none can slip in.
//!
//! [`Server`] receives requests and sends responses, [`Client`] the other way round. Both are driven the same way:
//!
//! 1. append what was read to a buffer and call `receive` until it gives `None`: it takes what it has understood from the
//!    front of the buffer and leaves the rest;
//! 2. at the end of the input call `handle_end`;
//! 3. `send_head`, `send_data` (or `begin_chunk`, the data by other means, `end_chunk`), `send_end` append what is to be
//!    written to an output buffer;
//! 4. ask `begin_next` whether the connection serves another message, closes, or becomes a tunnel.
//!
//! ```
//! use bytes::BytesMut;
//! use serow_http1::{Event, Limits, Server};
//!
//! let mut server = Server::new(Limits::default());
//! let mut input = BytesMut::from("GET /a HTTP/1.1\r\nHost: b\r\n\r\n");
//! let Some(Event::Head(request)) = server.receive(&mut input).unwrap() else { panic!("no head") };
//! assert_eq!(request.head.target.path(), "/a");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod body;
mod chunk_extension;
mod chunked;
mod client;
mod error;
mod framing;
mod head;
mod host;
mod limits;
mod outgoing;
mod receiving;
mod response_context;
mod scan;
mod server;

pub use serow_message::{BodyLength, UsageError};

pub use self::{
    client::{Client, ReceivedResponse},
    error::ProtocolError,
    framing::{Framing, Next},
    limits::Limits,
    receiving::Event,
    server::{ReceivedRequest, Server},
};
