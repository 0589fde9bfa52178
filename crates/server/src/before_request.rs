//! The part of a connection before its first request: receiving, and the reasons why it ends.

use std::{fmt, future::poll_fn, ops::ControlFlow, task::Poll};

use serow_message::Handler;

use crate::{
    client_rules::ClientRefusal,
    transport::{Transport, TransportError},
    worker::Worker,
};

/// Why a connection ended before its first request.
pub(crate) enum Ended {
    /// Not an error: the client disconnected, or the server stops.
    Quietly(&'static str),
    /// Its first bytes are invalid.
    Refused(&'static str),
    /// Its client may not connect.
    Client(ClientRefusal),
    TransportError(TransportError),
}

/// Receives until `look` has found what it looks for.
pub(crate) async fn receive<H: Handler, T>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
    look: impl Fn(&mut Transport<H>) -> ControlFlow<T>,
) -> Result<T, Ended> {
    poll_fn(|context| {
        loop {
            if let ControlFlow::Break(found) = look(transport) {
                return Poll::Ready(Ok(found));
            }
            let was_silent = transport.is_silent();
            match transport.poll_fill(context) {
                Poll::Ready(Ok(1..)) if was_silent => transport.allow_idle(worker.settings.timeouts.head),
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(Ended::Quietly("the client left"))),
                Poll::Ready(Err(broken)) => return Poll::Ready(Err(Ended::TransportError(broken))),
                Poll::Pending if was_silent && worker.is_draining() && !transport.wire.is_handshaking() => {
                    let parted = transport.poll_drain_grace(context);
                    return parted.map(|()| Err(Ended::Quietly("the server stops")));
                }
                Poll::Pending => {
                    transport.deadline.end_drain_grace(worker.settings.timeouts.head);
                    let overdue = transport.deadline.poll_overdue(context);
                    return overdue.map(|()| Err(Ended::TransportError(TransportError::TimedOut)));
                }
            }
        }
    })
    .await
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quietly(reason) | Self::Refused(reason) => formatter.write_str(reason),
            Self::Client(refusal) => refusal.fmt(formatter),
            Self::TransportError(TransportError::Lost(error) | TransportError::Unfinished(error)) => {
                error.fmt(formatter)
            }
            Self::TransportError(TransportError::TimedOut) => formatter.write_str("timed out before the first request"),
        }
    }
}
