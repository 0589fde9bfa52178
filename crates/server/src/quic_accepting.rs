//! New QUIC connections of a worker thread.

use std::{future::poll_fn, os::fd::OwnedFd, rc::Rc, sync::Arc};

use serow_message::Handler;
use serow_net::PAUSE_AFTER_EXHAUSTION;
use serow_quic::{EarlyData, Endpoint, Incoming, ServerSettings};
use tokio::task::{spawn_local, yield_now};

use crate::{
    http3::{self, EarlyRequests},
    worker::Worker,
};

/// A UDP socket of a worker.
pub(crate) struct QuicSocket {
    pub(crate) socket: OwnedFd,
    /// Its place in the group of sockets of its address.
    pub(crate) slot: u8,
    pub(crate) settings: Arc<ServerSettings>,
}

/// Receives for the connections of a socket, and starts new ones until the server stops.
pub(crate) async fn accept<H: Handler>(worker: Rc<Worker<H>>, socket: QuicSocket) {
    let QuicSocket { socket, slot, settings } = socket;
    let early_data = settings.early_data();
    let endpoint = match Endpoint::new(socket, slot, settings) {
        Ok(endpoint) => endpoint,
        Err(error) => return tracing::error!(%error, "cannot register a UDP socket with the event loop"),
    };
    for number in 1_u64.. {
        match poll_fn(|context| endpoint.poll_incoming(context)).await {
            Ok(incoming) => start(&worker, &endpoint, early_data, incoming),
            Err(error) => {
                tracing::warn!(%error, "cannot receive from a UDP socket");
                tokio::time::sleep(PAUSE_AFTER_EXHAUSTION).await;
            }
        }
        if number.is_multiple_of(ACCEPTED_IN_TURN) {
            yield_now().await;
        }
    }
}

fn start<H: Handler>(worker: &Rc<Worker<H>>, endpoint: &Endpoint, early_data: EarlyData, incoming: Incoming) {
    if worker.refuses_new_clients() {
        // The client tries again, elsewhere or over TCP.
        return endpoint.refuse(incoming);
    }
    let address = incoming.remote_address();
    if !incoming.is_validated() && worker.handshakes.are_many() {
        // The server keeps no state for a client that forges addresses (RFC 9000 §8.1).
        let _ = endpoint.retry(incoming);
        return;
    }
    if worker.is_full() && !worker.close_longest_idle() {
        return endpoint.refuse(incoming);
    }
    let mut guard = worker.enter();
    match worker.clients.admit(address.ip().to_canonical()) {
        Ok(client) => guard.count_for(client),
        Err(refusal) => {
            worker.counters.note_refused_client(refusal);
            // It learns nothing, which costs the least.
            return endpoint.ignore(incoming);
        }
    }
    let early = match (early_data, incoming.is_validated()) {
        (EarlyData::Refused, _) => EarlyRequests::None,
        (EarlyData::Accepted, false) => EarlyRequests::Held,
        (EarlyData::Accepted, true) => EarlyRequests::Answered,
    };
    // Before the task has begun: many may come with one look at the socket.
    let handshake = worker.handshakes.begin();
    let Some(connection) = endpoint.accept(incoming) else { return };
    worker.counters.accepted.add(1);
    worker.counters.accepted_quic.add(1);
    spawn_local(http3::serve(Rc::clone(worker), connection, early, guard, handshake));
}

/// New clients after which the connections of the thread have their turn: each costs a key exchange, a quarter of a
/// millisecond.
const ACCEPTED_IN_TURN: u64 = 4;
