//! PROXY headers in a build without them: no connection begins with one.

use std::net::SocketAddr;

use crate::{before_request::Ended, transport::Transport, worker::Worker};

pub(crate) async fn receive<H>(_: &Worker<H>, _: &mut Transport<H>) -> Result<Option<SocketAddr>, Ended> {
    Ok(None)
}
