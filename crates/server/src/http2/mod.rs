//! HTTP/2 over a transport.

use std::rc::Rc;

use serow_message::{Connection, Handler};

use crate::{population::Inhabitant, transport::Transport, worker::Worker};

/// Serves a connection until its end.
pub(crate) async fn serve<H: Handler>(
    _worker: Rc<Worker<H>>,
    _transport: Transport<H>,
    _connection: Connection,
    _inhabitant: Inhabitant,
) {
}
