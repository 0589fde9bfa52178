//! The start of a connection: the client's address, the TLS handshake, and the choice of the protocol.

use std::{net::SocketAddr, ops::ControlFlow, rc::Rc, sync::Arc};

use serow_message::{Connection, Handler, Peer, PeerCredentials, Scheme};
use serow_net::{Accepted, Socket, Wire};

#[cfg(feature = "http2")]
use crate::http2;
use crate::{
    alternative_service::AlternativeService,
    before_request::{Ended, receive},
    connection_counter::ConnectionGuard,
    http1,
    listener_terms::ListenerTerms,
    proxy_header,
    status::Counters,
    tls::{self, TlsAcceptor},
    transport::Transport,
    versions::SpokenVersion,
    worker::Worker,
};

/// Serves a connection from its first byte to its last.
pub(crate) async fn serve<H: Handler>(
    worker: Rc<Worker<H>>,
    accepted: Accepted,
    terms: Rc<ListenerTerms>,
    mut guard: ConnectionGuard,
) {
    let peer = match accepted.peer {
        serow_net::Peer::Tcp(address) => Peer::Tcp(address),
        serow_net::Peer::Unix => Peer::Unix,
    };
    let mut transport = Transport::new(Rc::clone(&worker), Socket::accepted(accepted.socket));
    let ListenerTerms { tls, alternative } = &*terms;
    transport.alternative = alternative.as_ref().and_then(AlternativeService::current);
    transport.allow_idle(worker.settings.timeouts.head);
    let begun =
        match begin(&worker, &mut transport, Ends { peer, local: accepted.local }, tls.as_ref(), &mut guard).await {
            Ok(begun) => begun,
            Err(reason) => {
                reason.count(&worker.counters, &transport.wire);
                return tracing::debug!(%peer, %reason, "a connection ended before its first request");
            }
        };
    let counters = Arc::clone(&worker.counters);
    let (all, open) = begun.version.counters(&counters);
    all.add(1);
    let _open = open.enter();
    match begun.version {
        SpokenVersion::Http1 => http1::serve(worker, transport, begun.connection, guard).await,
        // Boxed, so that connections of HTTP/1 do not carry the room for it.
        #[cfg(feature = "http2")]
        SpokenVersion::Http2 => Box::pin(http2::serve(worker, transport, begun.connection, guard)).await,
    }
}

/// The two ends of a connection.
struct Ends {
    peer: Peer,
    local: Option<SocketAddr>,
}

/// The result of the start of a connection.
struct Begun {
    connection: Connection,
    version: SpokenVersion,
}

/// Receives what comes before the first request.
async fn begin<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
    Ends { mut peer, local }: Ends,
    tls: Option<&TlsAcceptor>,
    guard: &mut ConnectionGuard,
) -> Result<Begun, Ended> {
    if worker.settings.proxy_protocol.is_required()
        && let Some(source) = proxy_header::receive(worker, transport).await?
    {
        // The peer of the connection is a proxy: the limits are those of its client.
        guard.count_for(worker.clients.admit(source.ip()).map_err(Ended::Client)?);
        peer = Peer::Tcp(source);
    }
    let scheme = match tls {
        None => Scheme::Http,
        Some(acceptor) => {
            tls::begin(worker, transport, acceptor).await?;
            Scheme::Https
        }
    };
    let version = receive_version(worker, transport).await?;
    let credentials = credentials(transport, peer);
    let connection = match tls::encryption(&transport.wire) {
        Some(encryption) => Connection::encrypted(peer, local, encryption),
        None => Connection::new(peer, local, scheme),
    };
    Ok(Begun { connection: connection.with_credentials(credentials), version })
}

/// The process that connected; TCP does not reveal it.
fn credentials<H: Handler>(transport: &Transport<H>, peer: Peer) -> Option<PeerCredentials> {
    let serow_net::PeerCredentials { process, user } = match peer {
        Peer::Unix => transport.wire.socket().peer_credentials().ok()?,
        Peer::Tcp(_) => return None,
    };
    Some(PeerCredentials { process, user })
}

/// Determines the version of HTTP that the client speaks: by ALPN, or without TLS by its first bytes (RFC 9113 §3.3:
/// prior knowledge). If the server speaks only one version, it is that one.
async fn receive_version<H: Handler>(worker: &Worker<H>, transport: &mut Transport<H>) -> Result<SpokenVersion, Ended> {
    let versions = worker.settings.versions;
    let received = receive(worker, transport, |transport| {
        let input = &transport.input[..];
        match tls::agreed_version(&transport.wire) {
            _ if input.is_empty() => ControlFlow::Continue(()),
            Some(version) => ControlFlow::Break(version),
            None => versions.recognize(input, transport.wire.is_encrypted()),
        }
    });
    match received.await {
        // A part of the preface, and no more: HTTP/1 has an answer to that.
        Err(_) if !transport.input.is_empty() => Ok(SpokenVersion::Http1),
        received => received,
    }
}

impl Ended {
    #[cold]
    fn count(&self, counters: &Counters, wire: &Wire) {
        match self {
            Self::Quietly(_) => {}
            Self::Refused(_) => counters.refused.add(1),
            Self::Client(refusal) => counters.note_refused_client(*refusal),
            Self::TransportError(error) if tls::has_failed(wire, error) => counters.handshakes_failed.add(1),
            Self::TransportError(_) => {}
        }
    }
}
