//! The handshake of QUIC and TLS.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use serow_message::{Connection, Encryption, Handler, Peer};
use serow_quic::{Event, Handshake, Sent};

use crate::{connection_deadline::ConnectionDeadline, worker::Worker};

/// Waits until the handshake is complete; nothing if it fails or takes too long. While the server is stopping, it has as
/// long as a connection that is about to be closed: its client's packets may be on their way, but those of most that take
/// longer never come.
pub(super) async fn complete<H: Handler>(worker: &Worker<H>, quic: &mut serow_quic::Connection) -> Option<Connection> {
    let mut deadline = ConnectionDeadline::new(worker.deadlines.register());
    deadline.allow_idle(worker.settings.timeouts.head);
    let completed = poll_fn(|context| match poll(quic, context) {
        Poll::Ready(outcome) => Poll::Ready(outcome),
        Poll::Pending if worker.is_draining() => {
            deadline.poll_linger(context, || quic.round_trip(), worker.max_linger()).map(|()| false)
        }
        Poll::Pending => deadline.poll_overdue(context).map(|()| false),
    });
    if !completed.await {
        quic.close(serow_http3::ErrorCode::NO_ERROR.0, "the handshake took too long");
        return None;
    }
    let Handshake { server_name, client_certificate } = quic.handshake();
    let encryption = Encryption {
        version: "TLSv1.3",
        cipher_suite: UNKNOWN_SUITE,
        server_name: server_name.map(Into::into),
        client_certificate: client_certificate.map(Into::into),
    };
    Some(Connection::encrypted(Peer::Tcp(quic.remote_address()), Some(quic.local_address()), encryption))
}

/// Ready when the handshake has ended: whether it succeeded.
fn poll(quic: &mut serow_quic::Connection, context: &mut Context<'_>) -> Poll<bool> {
    quic.poll_receive(context);
    loop {
        match quic.next_event() {
            Some(Event::Connected) => return Poll::Ready(true),
            Some(Event::ConnectionLost { reason }) => {
                tracing::debug!(peer = %quic.remote_address(), %reason, "a connection ended before its first request");
                return Poll::Ready(false);
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
