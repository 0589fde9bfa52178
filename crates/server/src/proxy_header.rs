//! The PROXY header at the front of connections.

use std::{net::SocketAddr, ops::ControlFlow};

use bytes::Buf;
use serow_message::Handler;

use crate::{
    connection::{self, Ended},
    transport::Transport,
    worker::Worker,
};

/// Whether connections begin with a PROXY header (HAProxy's protocol, versions 1 and 2), in which a proxy in front
/// sends the client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// They do not begin with one.
    #[default]
    Off,
    /// All do; the server closes a connection that does not. Only for listeners that only the proxy can
    /// reach: a client
    /// that sends the header can claim any address.
    Required,
}

impl ProxyProtocol {
    pub(crate) fn is_required(self) -> bool {
        self == Self::Required
    }
}

/// Takes the PROXY header from the front of the connection; gives the client's address, where it has one.
pub(crate) async fn receive<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
) -> Result<Option<SocketAddr>, Ended> {
    connection::receive(worker, transport, |transport| match serow_proxy_protocol::parse(&transport.input) {
        Ok(Some((header, length))) => {
            transport.input.advance(length);
            ControlFlow::Break(Ok(header.source()))
        }
        Ok(None) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(Err(Ended::Refused("its PROXY header is malformed"))),
    })
    .await?
}
