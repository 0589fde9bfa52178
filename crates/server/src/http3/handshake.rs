//! The handshake of QUIC and TLS.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use serow_message::{Connection, Encryption, Handler, HandshakeStage, Peer};
use serow_quic::{Event, Handshake, Sent};

use crate::{connection_deadline::ConnectionDeadline, worker::Worker};

/// The handling of requests that arrive before the handshake is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyRequests {
    /// There are none: early data is not accepted.
    None,
    /// They wait: the client has not shown that its address is its own (RFC 9000 §8.1), and the server must not refuse,
    /// limit or ban another client by that address.
    Held,
    /// Those that may be repeated are answered.
    Answered,
}

/// How long a handshake may take.
pub(super) struct Deadline(ConnectionDeadline);

impl Deadline {
    pub(super) fn new<H>(worker: &Worker<H>) -> Self {
        let mut deadline = ConnectionDeadline::new(worker.deadlines.register());
        deadline.allow_idle(worker.settings.timeouts.head);
        Self(deadline)
    }

    /// Ready when it takes too long. While the server is stopping, it has as long as a connection that is about to be
    /// closed: its client's packets may be on their way, but those of most that take longer never come.
    pub(super) fn poll_overdue<H>(
        &mut self,
        worker: &Worker<H>,
        quic: &serow_quic::Connection,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        match worker.is_draining() {
            true => self.0.poll_linger(context, || quic.round_trip(), worker.max_linger()),
            false => self.0.poll_overdue(context),
        }
    }
}

/// Waits until the handshake is complete, or requests may be answered before; nothing if it fails or takes too long.
pub(super) async fn complete<H: Handler>(
    worker: &Worker<H>,
    quic: &mut serow_quic::Connection,
    early: EarlyRequests,
    deadline: &mut Deadline,
) -> Option<Connection> {
    let completed = poll_fn(|context| match poll(quic, early, context) {
        Poll::Ready(outcome) => Poll::Ready(outcome),
        Poll::Pending => deadline.poll_overdue(worker, quic, context).map(|()| None),
    });
    let Some(stage) = completed.await else {
        quic.close(serow_http3::ErrorCode::NO_ERROR.0, "the handshake took too long");
        return None;
    };
    let Handshake { server_name, client_certificate } = quic.handshake();
    let encryption = Encryption {
        version: "TLSv1.3",
        cipher_suite: UNKNOWN_SUITE,
        server_name: server_name.map(Into::into),
        client_certificate: client_certificate.map(Into::into),
        stage,
    };
    Some(Connection::encrypted(Peer::Tcp(quic.remote_address()), Some(quic.local_address()), encryption))
}

/// Ready when requests may be answered, or the handshake has failed.
fn poll(
    quic: &mut serow_quic::Connection,
    early: EarlyRequests,
    context: &mut Context<'_>,
) -> Poll<Option<HandshakeStage>> {
    quic.poll_receive(context);
    // Also without early data: in trials, Chromium and Firefox came back with a token for their address only if SETTINGS
    // had been sent before it, and the token is sent with the end of the handshake.
    if early != EarlyRequests::None && quic.is_handshaking() && quic.knows_client_hello() {
        return Poll::Ready(Some(HandshakeStage::EarlyData));
    }
    loop {
        match quic.next_event() {
            Some(Event::Connected) => return Poll::Ready(Some(HandshakeStage::Complete)),
            Some(Event::ConnectionLost { reason }) => {
                tracing::debug!(peer = %quic.remote_address(), %reason, "a connection ended before its first request");
                return Poll::Ready(None);
            }
            Some(_) => {}
            None => break,
        }
    }
    while let Sent::Datagrams = quic.send(context) {}
    Poll::Pending
}

/// `quinn-proto` does not tell which cipher suite rustls has negotiated.
const UNKNOWN_SUITE: &str = "unknown";
