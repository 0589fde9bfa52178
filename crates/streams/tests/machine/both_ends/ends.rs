//! The bytes between two ends, as `protocol` carries them.

use serow_message::{BodyLength, RequestHead};
use serow_streams::{Follows, OpenError, StreamId};

use crate::protocol::{ClientEvent, Event, Limits};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Client,
}

/// A client and a server, and the bytes that are under way between them.
pub(crate) trait Connected {
    /// Nothing has been sent yet.
    fn new(limits: Limits) -> Self;

    /// The client begins a request.
    fn open(&mut self, head: &RequestHead, length: BodyLength) -> Result<(StreamId, Follows), OpenError>;

    /// An end sends what goes before everything else.
    fn flush(&mut self, from: Side);

    /// An end sends what it has written for a stream.
    fn send(&mut self, from: Side, stream: StreamId, output: &[u8], follows: Follows);

    /// So many bytes arrive of those that are under way; HTTP/3: on one of the streams.
    fn deliver(&mut self, to: Side, lane: usize, bytes: usize);

    /// The next event at the server, who breaks no rule.
    fn server_event(&mut self) -> Option<Event>;

    /// The next event at the client.
    fn client_event(&mut self) -> Option<ClientEvent>;

    /// HTTP/2: an end has used bytes of a body.
    fn note_consumed(&mut self, _by: Side, _stream: StreamId, _bytes: usize) {}

    /// HTTP/3: both transports have room for a stream, or none.
    fn set_writable(&mut self, _stream: StreamId, _writable: bool) {}

    /// Whether nothing is under way.
    fn is_quiet(&self) -> bool;

    /// HTTP/2: does what a driver does whose client has had time to end its requests; whether there was any.
    fn reset_unfinished(&mut self) -> bool {
        false
    }
}
