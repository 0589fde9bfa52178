//! The PROXY header at the front of connections.

use std::{net::SocketAddr, ops::ControlFlow};

use bytes::Buf;
use serow_message::Handler;

use crate::{
    before_request::{self, Ended},
    transport::Transport,
    worker::Worker,
};

/// Takes the PROXY header from the front of the connection; gives the client's address, where it has one.
pub(crate) async fn receive<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
) -> Result<Option<SocketAddr>, Ended> {
    before_request::receive(worker, transport, |transport| {
        match serow_message::proxy_protocol::parse(&transport.input) {
            Ok(Some((header, length))) => {
                transport.input.advance(length);
                ControlFlow::Break(Ok(header.source()))
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(Err(Ended::Refused("its PROXY header is malformed"))),
        }
    })
    .await?
}
