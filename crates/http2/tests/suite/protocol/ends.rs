//! The bytes between two ends: one sequence in each direction.

use core::time::Duration;

use bytes::BytesMut;
use serow_http2::{Asking, BodyLength, Client, ClientEvent, Event, Limits, OpenError, Server, StreamId};
use serow_message::RequestHead;
use serow_streams::Follows;

use crate::machine::both_ends::{Connected, Side};

const NOW: Duration = Duration::from_secs(5);

pub(crate) struct Ends {
    pub(crate) client: Client,
    pub(crate) server: Server,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    at_server: BytesMut,
    at_client: BytesMut,
}

impl Connected for Ends {
    fn new(limits: Limits) -> Self {
        Self {
            client: Client::new(Limits::default(), NOW),
            server: Server::new(limits, NOW),
            to_server: Vec::new(),
            to_client: Vec::new(),
            at_server: BytesMut::new(),
            at_client: BytesMut::new(),
        }
    }

    fn open(&mut self, head: &RequestHead, length: BodyLength) -> Result<(StreamId, Follows), OpenError> {
        super::open(&mut self.client, head, length, Asking::default())
    }

    fn flush(&mut self, from: Side) {
        match from {
            Side::Client => self.client.write_control(&mut self.to_server),
            Side::Server => self.server.write_control(&mut self.to_client),
        }
    }

    fn send(&mut self, from: Side, _: StreamId, output: &[u8], _: Follows) {
        match from {
            Side::Client => self.to_server.extend_from_slice(output),
            Side::Server => self.to_client.extend_from_slice(output),
        }
    }

    fn deliver(&mut self, to: Side, _: usize, bytes: usize) {
        let (wire, input) = match to {
            Side::Server => (&mut self.to_server, &mut self.at_server),
            Side::Client => (&mut self.to_client, &mut self.at_client),
        };
        input.extend(wire.drain(..bytes.min(wire.len())));
    }

    fn server_event(&mut self) -> Option<Event> {
        self.server.receive(&mut self.at_server, NOW).expect("no rule is broken")
    }

    fn client_event(&mut self) -> Option<ClientEvent> {
        self.client.receive(&mut self.at_client, NOW).expect("no rule is broken")
    }

    fn note_consumed(&mut self, by: Side, stream: StreamId, bytes: usize) {
        match by {
            Side::Client => self.client.note_consumed(stream, bytes),
            Side::Server => self.server.note_consumed(stream, bytes),
        }
    }

    fn is_quiet(&self) -> bool {
        self.to_server.is_empty() && self.to_client.is_empty()
    }

    fn reset_unfinished(&mut self) -> bool {
        let had_unfinished = self.server.has_unfinished_requests();
        self.server.reset_unfinished_requests();
        had_unfinished
    }
}
