//! An HTTP/2 connection: concurrent requests, each an exchange of its own, and one order in which responses are sent.

mod connection;
mod pace;
mod receiving;
mod sending;
mod waiting;

use std::{future::poll_fn, rc::Rc};

use serow_message::{Connection, Handler};

use self::connection::{End, Http2};
use crate::{connection_counter::ConnectionGuard, transport::Transport, worker::Worker};

/// Serves a connection until its end, and counts it until then.
pub(crate) async fn serve<H: Handler>(
    worker: Rc<Worker<H>>,
    transport: Transport<H>,
    connection: Connection,
    _guard: ConnectionGuard,
) {
    let handler = &worker.handler;
    let mut http2 = Http2::new(Rc::clone(&worker), transport, connection, |request| handler.call(request));
    let end = poll_fn(|context| {
        let polled = http2.poll(context);
        http2.tell_counters();
        polled
    });
    match end.await {
        End::Close => http2.close().await,
        End::Cut(broken) => http2.cut(&broken),
    }
    http2.tell_counters();
}
