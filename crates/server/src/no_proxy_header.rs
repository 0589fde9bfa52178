//! PROXY headers in a build without them: no connection begins with one.

use std::net::SocketAddr;

use crate::{connection::Ended, transport::Transport, worker::Worker};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProxyProtocol;

impl ProxyProtocol {
    pub(crate) fn is_required(self) -> bool {
        false
    }
}

pub(crate) async fn receive<H>(_: &Worker<H>, _: &mut Transport<H>) -> Result<Option<SocketAddr>, Ended> {
    Ok(None)
}
