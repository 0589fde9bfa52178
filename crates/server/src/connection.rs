//! The start of a connection: the client's address, the TLS handshake, and the choice of the protocol.

use std::{future::poll_fn, ops::ControlFlow, rc::Rc, sync::Arc, task::Poll, time::Duration};

use bytes::Buf;
use serow_message::{Connection, Encryption, Handler, HandshakeStage, Peer, PeerCredentials, Scheme};
use serow_net::{Accepted, Socket};
use serow_tls::{CertificateDemand, Protocol, TlsAcceptor, TlsDescription, TlsSession, TlsVersion};

use crate::{
    ProxyProtocol, Versions,
    client_rules::ClientRefusal,
    connection_counter::ConnectionGuard,
    http1, http2,
    listener_terms::ListenerTerms,
    status::Counters,
    transport::{Transport, TransportError},
    worker::Worker,
};

/// Serves a connection from its first byte to its last.
pub(crate) async fn serve<H: Handler>(
    worker: Rc<Worker<H>>,
    accepted: Accepted,
    ListenerTerms { tls, alternative }: ListenerTerms,
    mut guard: ConnectionGuard,
) {
    let peer = match accepted.peer {
        serow_net::Peer::Tcp(address) => Peer::Tcp(address),
        serow_net::Peer::Unix => Peer::Unix,
    };
    let socket = match Socket::new(accepted.socket) {
        Ok(socket) => socket,
        Err(error) => return tracing::warn!(%error, "cannot register a connection with the event loop"),
    };
    let mut transport = Transport::new(Rc::clone(&worker), socket);
    transport.alternative = alternative.and_then(|alternative| alternative.current());
    transport.allow_idle(worker.settings.timeouts.head);
    let begun = match begin(&worker, &mut transport, peer, tls.as_ref(), &mut guard).await {
        Ok(begun) => begun,
        Err(reason) => {
            reason.count(&worker.counters, transport.wire.session());
            return tracing::debug!(?peer, %reason, "a connection ended before its first request");
        }
    };
    let counters = Arc::clone(&worker.counters);
    let (all, open) = match begun.version {
        SpokenVersion::Http1 => (&counters.begun_http1, &counters.open_http1),
        SpokenVersion::Http2 => (&counters.begun_http2, &counters.open_http2),
    };
    all.add(1);
    let _open = open.enter();
    match begun.version {
        SpokenVersion::Http1 => http1::serve(worker, transport, begun.connection, guard).await,
        // Boxed, so that connections of HTTP/1 do not carry the room for it.
        SpokenVersion::Http2 => Box::pin(http2::serve(worker, transport, begun.connection, guard)).await,
    }
}

/// The result of the start of a connection.
struct Begun {
    connection: Connection,
    version: SpokenVersion,
}

/// The protocol that the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpokenVersion {
    Http1,
    Http2,
}

/// Why a connection ended before its first request.
enum Ended {
    /// Not an error: the client disconnected, or the server stops.
    Quietly(&'static str),
    /// Its first bytes are invalid.
    Refused(&'static str),
    /// Its client may not connect.
    Client(ClientRefusal),
    TransportError(TransportError),
}

/// Receives what comes before the first request.
async fn begin<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
    mut peer: Peer,
    tls: Option<&TlsAcceptor>,
    guard: &mut ConnectionGuard,
) -> Result<Begun, Ended> {
    if worker.settings.proxy_protocol == ProxyProtocol::Required
        && let Some(source) = receive_proxy_header(worker, transport).await?
    {
        // Whoever is connected is a proxy: the client counts.
        guard.count_for(worker.clients.admit(source.ip()).map_err(Ended::Client)?);
        peer = Peer::Tcp(source);
    }
    let scheme = match tls {
        None => Scheme::Http,
        Some(acceptor) => {
            if acceptor.obtains_on_demand() {
                await_certificate(worker, transport, acceptor).await?;
            }
            let session = TlsSession::accept(acceptor).map_err(|_| Ended::Refused("TLS cannot be begun"))?;
            transport.encrypt(session);
            Scheme::Https
        }
    };
    let version = receive_version(worker, transport).await?;
    let local = transport.wire.socket().local_address();
    let credentials = credentials(transport, peer);
    let connection = match transport.wire.description() {
        Some(description) => Connection::encrypted(peer, local, encryption(&description)),
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

/// The properties of a handshake that handlers and logs see.
fn encryption(description: &TlsDescription) -> Encryption {
    Encryption {
        version: match description.version() {
            TlsVersion::Tls12 => "TLSv1.2",
            TlsVersion::Tls13 => "TLSv1.3",
        },
        cipher_suite: description.cipher_suite(),
        server_name: description.server_name().map(Into::into),
        client_certificate: description.client_certificate().map(Into::into),
        stage: HandshakeStage::Complete,
    }
}

/// Takes the PROXY header from the front of the connection; gives the client's address, where it has one.
async fn receive_proxy_header<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
) -> Result<Option<std::net::SocketAddr>, Ended> {
    receive(worker, transport, |transport| match serow_proxy_protocol::parse(&transport.input) {
        Ok(Some((header, length))) => {
            transport.input.advance(length);
            ControlFlow::Break(Ok(header.source()))
        }
        Ok(None) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(Err(Ended::Refused("its PROXY header is malformed"))),
    })
    .await?
}

/// Waits until there is a certificate for the server name that the client requests, if one can be obtained.
async fn await_certificate<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
    acceptor: &TlsAcceptor,
) -> Result<(), Ended> {
    let demand = receive(worker, transport, |transport| match acceptor.demand(&transport.input) {
        CertificateDemand::Unknown => ControlFlow::Continue(()),
        demand => ControlFlow::Break(demand),
    });
    if let CertificateDemand::Pending(certificate) = demand.await? {
        let time = worker.settings.timeouts.head;
        transport.allow_any_time();
        // Without a certificate, the handshake goes on as for any unknown name.
        let _ = tokio::time::timeout(time.min(MAX_CERTIFICATE_WAIT), certificate).await;
        transport.allow_idle(time);
    }
    Ok(())
}

/// How long a handshake waits for a certificate at most: browsers give up after a similar time, and a connection that
/// waits costs memory, whoever opened it.
const MAX_CERTIFICATE_WAIT: Duration = Duration::from_secs(30);

/// Determines the version of HTTP that the client speaks: by ALPN, or without TLS by its first bytes (RFC 9113 §3.3:
/// prior knowledge). If the server speaks only one version, it is that one.
async fn receive_version<H: Handler>(worker: &Worker<H>, transport: &mut Transport<H>) -> Result<SpokenVersion, Ended> {
    let versions = worker.settings.versions;
    let received = receive(worker, transport, |transport| {
        let input = &transport.input[..];
        let agreed = transport.wire.session().and_then(TlsSession::protocol);
        match agreed {
            _ if input.is_empty() => ControlFlow::Continue(()),
            Some(Protocol::Http2) => ControlFlow::Break(SpokenVersion::Http2),
            Some(Protocol::Http1) => ControlFlow::Break(SpokenVersion::Http1),
            None if versions == Versions::Http1 => ControlFlow::Break(SpokenVersion::Http1),
            // RFC 9113 §3.3: who wants HTTP/2 over TLS has to say so in the handshake.
            None if versions != Versions::Http2 && transport.wire.is_encrypted() => {
                ControlFlow::Break(SpokenVersion::Http1)
            }
            // Whether it is one, the machine finds out.
            None if versions == Versions::Http2 => ControlFlow::Break(SpokenVersion::Http2),
            None if input.starts_with(serow_http2::PREFACE) => ControlFlow::Break(SpokenVersion::Http2),
            None if serow_http2::PREFACE.starts_with(input) => ControlFlow::Continue(()),
            None => ControlFlow::Break(SpokenVersion::Http1),
        }
    });
    match received.await {
        // A part of the preface, and no more: HTTP/1 has an answer to that.
        Err(_) if !transport.input.is_empty() => Ok(SpokenVersion::Http1),
        received => received,
    }
}

/// Receives until `look` has found what it looks for.
async fn receive<H: Handler, T>(
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

impl Ended {
    #[cold]
    fn count(&self, counters: &Counters, session: Option<&TlsSession>) {
        match (self, session) {
            (Self::Quietly(_), _) => {}
            (Self::Refused(_), _) => counters.refused.add(1),
            (Self::Client(refusal), _) => counters.note_refused_client(*refusal),
            (Self::TransportError(error), _) if error.is_validation() => {}
            (Self::TransportError(_), Some(session)) if !session.is_established() => counters.handshakes_failed.add(1),
            (Self::TransportError(_), _) => {}
        }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
