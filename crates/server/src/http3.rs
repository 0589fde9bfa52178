//! An HTTP/3 connection: the exchanges of HTTP/2, over the streams of QUIC.

mod connection;
mod early_data;
mod gathering;
mod handshake;
mod receiving;
mod sending;
mod waiting;

use std::{future::poll_fn, rc::Rc};

use serow_message::Handler;

pub(crate) use self::handshake::EarlyRequests;
use self::{
    connection::{End, Http3},
    early_data::EarlyHandshake,
    handshake::Deadline,
};
use crate::{connection_counter::ConnectionGuard, quic_handshakes::HandshakeGuard, worker::Worker};

/// Serves a connection from its handshake to its end, and counts it until then.
pub(crate) async fn serve<H: Handler>(
    worker: Rc<Worker<H>>,
    mut quic: serow_quic::Connection,
    early: EarlyRequests,
    guard: ConnectionGuard,
    handshake: HandshakeGuard,
) {
    let mut deadline = Deadline::new(&worker);
    let Some(connection) = handshake::complete(&worker, &mut quic, early, &mut deadline).await else {
        worker.counters.handshakes_failed.add(1);
        drop(guard);
        // It counts as long as it takes memory.
        poll_fn(|context| quic.poll_drained(context)).await;
        return drop(handshake);
    };
    let handshake = quic.is_handshaking().then(|| EarlyHandshake::new(early, deadline, handshake));
    worker.counters.begun_http3.add(1);
    let open = worker.counters.open_http3.enter();
    let handler = &worker.handler;
    let mut http3 = Http3::new(Rc::clone(&worker), quic, connection, handshake, |request| handler.call(request));
    let end = poll_fn(|context| {
        let polled = http3.poll(context);
        http3.tell_counters();
        polled
    });
    match end.await {
        End::Close { code, reason } => http3.close(code, reason),
        End::Lost => http3.lose(),
    }
    http3.tell_counters();
    if http3.handshake.is_some() {
        worker.counters.handshakes_failed.add(1);
    }
    let mut quic = http3.into_quic();
    // For QUIC the connection lives on, to answer late packets; for everyone else it has ended.
    drop((open, guard));
    poll_fn(|context| quic.poll_drained(context)).await;
}
