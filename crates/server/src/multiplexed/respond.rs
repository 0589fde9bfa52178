//! From the handler's response to the state of sending.

use std::future::Future;

use serow_message::{Body, BodyKind, BodyLength, Handler, Request, Response, StatusCode, Unanswered, UsageError};

use super::{
    Machine, Multiplexed,
    exchange::{ResponseStage, Streaming},
    tunnel::Tunnel,
    websocket,
};

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Takes the handler's response: the scheduler decides when its head is written; the kind of its body decides how
    /// it is sent.
    pub(super) fn respond(&mut self, index: usize, response: Response) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let stream = exchange.stream;
        let response = match exchange.is_websocket && response.status.is_success() {
            // RFC 8441 §5: any 2xx would open the WebSocket, which only 101 does here (RFC 6455 §4.1).
            true => Response::plain_status(StatusCode::BAD_GATEWAY),
            false => response,
        };
        let Response { mut status, mut headers, body, mut extensions } = response;
        let is_unanswered = extensions.get::<Unanswered>().is_some();
        if exchange.sender.as_ref().is_some_and(|sender| !sender.is_abandoned()) {
            // The response may be made of the body, or somebody reads it elsewhere: no later time to ask for it.
            self.machine.send_continue(stream);
        }
        if exchange.is_websocket {
            status = websocket::translate(status, &mut headers);
        }
        if let (Some(record), Some(log)) = (&mut exchange.record, &self.worker.log) {
            record.note_response(&**log, &headers, &mut extensions);
        }
        if !extensions.is_empty() {
            exchange.extensions = extensions;
        }
        if is_unanswered {
            (exchange.sent.status, exchange.sent.has_begun) = (status, true);
            return self.give_up(index, M::CANCEL);
        }
        let tunnel = if status.is_success() { exchange.upgrade.take() } else { None };
        let length = match tunnel {
            Some(_) => BodyLength::Unknown,
            None => body.length().map_or(BodyLength::Unknown, BodyLength::Known),
        };
        (exchange.sent.status, exchange.sent.has_begun) = (status, true);
        let has_body = match self.machine.send_head(stream, status, headers, length) {
            Ok(has_body) => has_body,
            Err(misuse) => return self.reject(index, status, misuse),
        };
        exchange.stage = match tunnel {
            Some(pending) => ResponseStage::Tunnel(Box::new(Tunnel::new(pending))),
            None if has_body => stage(body),
            None => ResponseStage::Head,
        };
        match exchange.stage {
            ResponseStage::Bytes(_) | ResponseStage::File(_) => self.machine.set_ready(stream, true),
            _ => {}
        }
    }

    /// The handler's response is invalid: the client gets a 500.
    #[cold]
    fn reject(&mut self, index: usize, status: StatusCode, misuse: UsageError) {
        tracing::error!(%status, error = %misuse, "the service returned an invalid response");
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            return self.give_up(index, M::INTERNAL_ERROR);
        }
        self.respond(index, Response::plain_status(StatusCode::INTERNAL_SERVER_ERROR));
    }
}

/// How a body of this kind is sent.
fn stage(body: Body) -> ResponseStage {
    match body.into_kind() {
        BodyKind::Empty => ResponseStage::Bytes(bytes::Bytes::new()),
        BodyKind::Bytes(bytes) => ResponseStage::Bytes(bytes),
        BodyKind::File(range) => ResponseStage::File(range),
        BodyKind::Incoming(incoming) => streaming(incoming.into()),
        BodyKind::Stream(stream) => streaming(stream.into()),
    }
}

fn streaming(body: Body) -> ResponseStage {
    ResponseStage::Stream(Box::new(Streaming { body, piece: bytes::Bytes::new(), end: None }))
}
