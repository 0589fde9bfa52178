//! An HTTP/2 connection: concurrent requests, each an exchange of its own, and one order in which responses are sent.

mod connection;
mod pace;
mod receiving;
mod sending;
mod waiting;

use std::{future::poll_fn, rc::Rc};

use serow_message::{Connection, Handler, Request, Response};

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
    match Watched(&mut http2).end().await {
        End::Close => http2.close().await,
        End::Cut(broken) => http2.cut(&broken),
    }
    http2.tell_counters();
}

/// A connection that is served. If it is dropped before its end, since the server does not wait any longer, its requests
/// are counted and logged as unfinished.
struct Watched<'a, H, C, F>(&'a mut Http2<H, C, F>)
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
