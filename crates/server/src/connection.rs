//! The beginning of a connection: who is at the other end, and which protocol it speaks.

use std::{future::poll_fn, rc::Rc, task::Poll};

use bytes::Buf;
use serow_message::{Connection, Handler, Peer, Scheme};
use serow_net::{Accepted, Socket, proxy_protocol};

use crate::{
    ProxyProtocol, http1,
    population::Inhabitant,
    transport::{Broken, Transport},
    worker::Worker,
};

/// Serves a connection from its first byte to its last.
pub(crate) async fn serve<H: Handler>(worker: Rc<Worker<H>>, accepted: Accepted, inhabitant: Inhabitant) {
    let mut peer = match accepted.peer {
        serow_net::Peer::Tcp(address) => Peer::Tcp(address),
        serow_net::Peer::Unix => Peer::Unix,
    };
    let socket = match Socket::new(accepted.socket) {
        Ok(socket) => socket,
        Err(error) => return tracing::warn!(%error, "a connection could not be watched"),
    };
    let mut transport = Transport::new(Rc::clone(&worker), socket);
    transport.allow(worker.settings.timeouts.head);
    if worker.settings.proxy_protocol == ProxyProtocol::Required {
        match receive_proxy_header(&worker, &mut transport).await {
            Ok(Some(source)) => peer = Peer::Tcp(source),
            Ok(None) => {}
            Err(reason) => return tracing::debug!(reason, "a connection without a valid PROXY header"),
        }
    }
    http1::serve(worker, transport, Connection::new(peer, None, Scheme::Http), inhabitant).await;
}

/// Takes the PROXY header from the front of the connection; gives the client's address, where it has one.
async fn receive_proxy_header<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
) -> Result<Option<std::net::SocketAddr>, &'static str> {
    poll_fn(|context| {
        loop {
            match proxy_protocol::parse(&transport.input) {
                Ok(Some((header, length))) => {
                    transport.input.advance(length);
                    return Poll::Ready(Ok(header.source()));
                }
                Ok(None) => {}
                Err(_) => return Poll::Ready(Err("it is malformed")),
            }
            let is_silent = transport.input.is_empty();
            match transport.poll_fill(context) {
                Poll::Ready(Ok(1..)) if is_silent => transport.allow(worker.settings.timeouts.head),
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0) | Err(Broken::Lost(_))) => return Poll::Ready(Err("the connection ended")),
                Poll::Ready(Err(_)) => return Poll::Ready(Err("the connection failed")),
                Poll::Pending if is_silent && worker.is_draining() => {
                    return transport.patience.poll_parting(context).map(|()| Err("the server stops"));
                }
                Poll::Pending => {
                    return transport.patience.poll_overdue(context).map(|()| Err("it did not come in time"));
                }
            }
        }
    })
    .await
}
