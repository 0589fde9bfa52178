//! The bytes between two ends: streams, each of which has an order of its own.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use serow_http3::{
    Asking, BodyLength, Client, ClientEvent, Endpoint, Event, Follows, Limits, OpenError, OwnStream, Server, StreamId,
    StreamOrder,
};
use serow_message::RequestHead;

use crate::machine::both_ends::{Connected, Side};

const NOW: Duration = Duration::from_secs(5);

/// The bytes in flight on a stream in one direction.
#[derive(Debug, Default)]
struct Lane {
    bytes: Vec<u8>,
    fin: bool,
}

/// The streams of one direction.
#[derive(Debug, Default)]
struct Wire {
    lanes: BTreeMap<u64, Lane>,
    /// Those that were reset, perhaps since the receiver asked to stop.
    over: Vec<u64>,
}

impl Wire {
    fn put(&mut self, stream: u64, bytes: &[u8], follows: Follows) {
        if !self.over.contains(&stream) && (!bytes.is_empty() || follows == Follows::Fin) {
            let lane = self.lanes.entry(stream).or_default();
            assert!(!lane.fin, "written behind the end");
            lane.bytes.extend_from_slice(bytes);
            lane.fin = follows == Follows::Fin;
        }
    }

    /// Delivers bytes of one of the streams that the receiver wants.
    fn deliver<Role>(&mut self, lane: usize, bytes: usize, to: &mut Endpoint<Role>) {
        let wanted = |stream: &u64| stream & 3 != 0 || to.wants_data(StreamId::of_quic(*stream));
        let open: Vec<u64> = self.lanes.keys().copied().filter(wanted).collect();
        let Some(&stream) = open.get(lane % open.len().max(1)) else { return };
        let Some(lane) = self.lanes.get_mut(&stream) else { return };
        let taken: Bytes = lane.bytes.drain(..bytes.min(lane.bytes.len())).collect();
        let fin = lane.fin && lane.bytes.is_empty();
        if lane.bytes.is_empty() {
            self.lanes.remove(&stream);
        }
        to.receive(StreamId::of_quic(stream), taken, fin, NOW).expect("no rule is broken");
    }

    /// Cuts a stream off; whether that is new.
    fn end(&mut self, stream: StreamId) -> bool {
        self.lanes.remove(&stream.get());
        let is_new = !self.over.contains(&stream.get());
        if is_new {
            self.over.push(stream.get());
        }
        is_new
    }
}

pub(crate) struct Ends {
    pub(crate) client: Client,
    pub(crate) server: Server,
    to_server: Wire,
    to_client: Wire,
}

impl Ends {
    /// Does what the ends order; what cuts a stream off overtakes its bytes.
    fn carry_orders(&mut self) {
        loop {
            if let Some(order) = self.client.next_order() {
                obey(order, &mut self.to_server, &mut self.to_client, &mut self.server);
            } else if let Some(order) = self.server.next_order() {
                obey(order, &mut self.to_client, &mut self.to_server, &mut self.client);
            } else {
                assert_eq!((self.server.failure(), self.client.failure()), (None, None));
                return;
            }
        }
    }
}

/// Does what an end orders whose bytes go to the peer this way, and come from it that way.
fn obey<Role>(order: StreamOrder, there: &mut Wire, back: &mut Wire, peer: &mut Endpoint<Role>) {
    let result = match order {
        StreamOrder::Reset { stream, code } if there.end(stream) => peer.receive_reset(stream, code, NOW),
        StreamOrder::Reset { .. } => Ok(()),
        StreamOrder::Stop { stream, code } => {
            back.lanes.remove(&stream.get());
            peer.receive_stop(stream, code, NOW)
        }
    };
    result.expect("no rule is broken");
}

impl Connected for Ends {
    fn new(limits: Limits) -> Self {
        let (client, server) = (super::client(limits, NOW), Server::new(limits, NOW));
        Self { client, server, to_server: Wire::default(), to_client: Wire::default() }
    }

    fn open(&mut self, head: &RequestHead, length: BodyLength) -> Result<(StreamId, Follows), OpenError> {
        let mut output = Vec::new();
        let (stream, follows) = self.client.open(head, length, Asking::default(), &mut output)?;
        self.flush(Side::Client);
        self.send(Side::Client, stream, &output, follows);
        Ok((stream, follows))
    }

    fn flush(&mut self, from: Side) {
        for (own, stream) in OwnStream::ALL.into_iter().zip([2, 6, 10]) {
            match from {
                Side::Client => self.to_server.put(stream, &self.client.control(own).split(), Follows::More),
                Side::Server => self.to_client.put(stream + 1, &self.server.control(own).split(), Follows::More),
            }
        }
    }

    fn send(&mut self, from: Side, stream: StreamId, output: &[u8], follows: Follows) {
        match from {
            Side::Client => self.to_server.put(stream.get(), output, follows),
            Side::Server => self.to_client.put(stream.get(), output, follows),
        }
    }

    fn deliver(&mut self, to: Side, lane: usize, bytes: usize) {
        match to {
            Side::Server => self.to_server.deliver(lane, bytes, &mut self.server),
            Side::Client => self.to_client.deliver(lane, bytes, &mut self.client),
        }
    }

    fn server_event(&mut self) -> Option<Event> {
        self.carry_orders();
        self.server.next_event()
    }

    fn client_event(&mut self) -> Option<ClientEvent> {
        self.carry_orders();
        self.client.next_event()
    }

    fn set_writable(&mut self, stream: StreamId, writable: bool) {
        self.client.set_writable(stream, writable);
        self.server.set_writable(stream, writable);
    }

    fn is_quiet(&self) -> bool {
        self.to_server.lanes.is_empty() && self.to_client.lanes.is_empty()
    }
}
