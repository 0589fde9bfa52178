//! Servers that speak HTTP/2: many exchanges at once on few connections.
//!
//! | what | file |
//! | --- | --- |
//! | the connections of one thread to one server: choosing one for a request, opening another | `http2/connections.rs` |
//! | a connection: the state that its exchanges share, and the task that receives and sends | `http2/connection.rs` |
//! | a stream, owned by an exchange | `http2/stream.rs` |
//! | an exchange: a request to the server, and its response | `http2/exchange.rs` |
//! | a stream that has become a tunnel (WebSocket) | `http2/tunnel.rs` |
//! | the received part of a response | `http2/slot.rs` |
//! | when a silent connection gets a PING, and when an idle one is closed | `http2/liveness.rs` |
//!
//! The task of a connection only moves frames: it wakes the exchanges that can go on; these take received data as fast
//! as their clients read it, and provide data as fast as their clients send it. Each exchange is slowed down only by
//! its own client and server: the window of a connection is as large as those of all its streams together.

mod connection;
mod connections;
mod exchange;
mod liveness;
mod slot;
mod stream;
mod tunnel;

use serow_gateway::RequestBody;
use serow_http2::Limits;
use serow_message::{InformationalSender, RequestHead};

pub(crate) use self::{connections::Connections, exchange::Exchange, stream::Stream};

/// A request that is to be sent.
#[derive(Clone, Copy)]
pub(crate) struct StreamRequest<'a> {
    pub(crate) head: &'a RequestHead,
    pub(crate) body: &'a RequestBody,
    /// Where informational responses go.
    pub(crate) informational: &'a InformationalSender,
    /// For an extended CONNECT (RFC 8441 §4).
    pub(crate) protocol: Option<&'a str>,
}

/// Limits for the server.
fn limits() -> Limits {
    Limits {
        window: WINDOW,
        stream_window: STREAM_WINDOW,
        largest_stream_window: STREAM_WINDOW,
        // A server resets streams that we have opened, so their number is limited already.
        resets: u32::MAX,
        ..Limits::default()
    }
}

/// Streams at once on one connection; servers as a rule allow 100 to 250.
const MAX_STREAMS: u32 = 128;

/// The maximum of one response in memory while its client does not read: 256 KiB, which fills 1 Gbit/s over 2 ms or 10
/// Gbit/s within a data centre. So a connection holds at most 32 MiB.
const STREAM_WINDOW: u32 = 256 * 1024;

/// The window of a connection, so that no stream waits for another: half of it may have been used and not been given
/// back.
const WINDOW: u32 = 2 * MAX_STREAMS * STREAM_WINDOW;
