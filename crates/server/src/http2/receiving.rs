//! Receiving: what the client sent is passed to the exchanges.

use std::future::Future;

use serow_http2::{Event, ProtocolError};
use serow_message::{Handler, Request, Response};

use super::{
    connection::{Http2, Understood},
    waiting::Waiting,
};

impl<H, C, F> Http2<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Processes the received frames that are complete, up to so many requests.
    pub(super) fn handle_input(&mut self) -> Understood {
        let (now, mut requests) = (self.now(), 0);
        loop {
            match self.requests.machine.receive(&mut self.transport.input, now) {
                Ok(Some(event)) => {
                    if let Event::Request(_) = event {
                        requests += 1;
                        self.waiting = Waiting::Undecided;
                    }
                    self.requests.handle(event);
                    if requests == REQUESTS_IN_TURN {
                        return Understood::Part;
                    }
                }
                Ok(None) => return Understood::All,
                Err(error) => {
                    tracing::debug!(peer = %self.requests.connection.peer(), %error, "closed a connection with GOAWAY");
                    if let ProtocolError::Connection { code, .. } = error {
                        self.requests.worker.counters.note_http2_error(code);
                    }
                    return Understood::TransportError;
                }
            }
        }
    }
}

/// Requests of one connection after which others have their turn. A hundred connections that send as many requests as they
/// may at once (128) would keep others waiting for all of them.
const REQUESTS_IN_TURN: u32 = 32;
