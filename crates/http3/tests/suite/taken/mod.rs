//! A server's reading of its client's streams, in pieces of any size; also for fuzzing.

use core::time::Duration;

use bytes::Bytes;
use serow_http3::{Limits, ProtocolError, Server, StreamId, StreamOrder};

use super::described::describe;

/// The events and the error of a server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// A line for each event; data that follow each other are one.
    pub(crate) events: Vec<String>,
    pub(crate) error: Option<ProtocolError>,
    /// Bytes of bodies.
    data: Vec<u8>,
}

/// A server's end of a connection.
pub(crate) struct Taking {
    server: Server,
    seen: Seen,
}

const NOW: Duration = Duration::from_secs(1);

impl Taking {
    /// Behind the beginning of the client's three streams.
    pub(crate) fn new(limits: Limits) -> Self {
        let mut taking = Self { server: Server::new(limits, NOW), seen: Seen::default() };
        for (stream, bytes) in [(2, &[0, 4, 0][..]), (6, &[2]), (10, &[3])] {
            taking.take(stream, bytes, false);
        }
        taking
    }

    /// Takes a piece of a stream.
    pub(crate) fn take(&mut self, stream: u64, piece: &[u8], fin: bool) {
        let _ = self.server.receive(StreamId::of_quic(stream), Bytes::copy_from_slice(piece), fin, NOW);
        while let Some(event) = self.server.next_event() {
            match event {
                serow_http3::Event::Data { stream, data } => {
                    let line = format!("data {stream}");
                    if self.seen.events.last() != Some(&line) {
                        self.seen.events.push(line);
                    }
                    self.seen.data.extend_from_slice(&data);
                }
                other => self.seen.events.push(describe(&other)),
            }
        }
        while let Some(order) = self.server.next_order() {
            // A stream that has come whole needs no STOP_SENDING.
            if let StreamOrder::Reset { .. } = order {
                self.seen.events.push(format!("{order:?}"));
            }
        }
        self.seen.error = self.server.failure();
    }

    pub(crate) fn finish(self) -> Seen {
        self.seen
    }
}

/// Takes a stream split at these places, and its end with the last piece.
pub(crate) fn take_split(stream: u64, bytes: &[u8], places: impl IntoIterator<Item = usize>, limits: Limits) -> Seen {
    let mut taking = Taking::new(limits);
    let mut before = 0;
    for place in places {
        if place > before && place < bytes.len() {
            taking.take(stream, &bytes[before..place], false);
            before = place;
        }
    }
    taking.take(stream, &bytes[before..], stream.is_multiple_of(4));
    taking.finish()
}
