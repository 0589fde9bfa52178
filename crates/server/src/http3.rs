//! An HTTP/3 connection: the exchanges of HTTP/2, over the streams of QUIC.

mod connection;
mod early_data;
mod handshake;
mod receiving;
mod sending;
mod waiting;

use std::{future::poll_fn, rc::Rc};

use serow_message::{Handler, Request, Response};

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
    if let End::Close { code, reason } = Watched(&mut http3).end().await {
        http3.close(code, reason);
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

/// A connection that is served. If it is dropped before its end, since the server does not wait any longer, its requests
/// are counted and logged as unfinished.
struct Watched<'a, H, C, F>(&'a mut Http3<H, C, F>)
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>;

impl<H, C, F> Watched<'_, H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    async fn end(self) -> End {
        poll_fn(|context| {
            let polled = self.0.poll(context);
            self.0.tell_counters();
            polled
        })
        .await
    }
}

impl<H, C, F> Drop for Watched<'_, H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    fn drop(&mut self) {
        self.0.requests.give_up_all();
    }
}
