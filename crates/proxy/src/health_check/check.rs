//! One check of one server.

use std::rc::Rc;

use serow_client::{Buffers, ClientEncryption, Destination, Dialer, Protocol};
use serow_message::Scheme;
use serow_net::Wire;
use serow_tls::TlsSession;
use tokio::time::timeout;

use super::{cgi, error::CheckError, grpc, http::Question};
use crate::{
    server::Server,
    settings::{CheckKind, CheckSettings, HttpCheck, ProxyHeader, UpstreamSettings},
};

/// Checks a server once, on a connection of its own.
pub(super) async fn check(
    server: &Server,
    upstream: &UpstreamSettings,
    settings: &CheckSettings,
    buffers: &Rc<Buffers>,
) -> Result<(), CheckError> {
    let checked = timeout(settings.timeout, attempt(server, upstream, settings, buffers)).await;
    checked.unwrap_or(Err(CheckError::TimedOut(settings.timeout)))
}

async fn attempt(
    server: &Server,
    upstream: &UpstreamSettings,
    settings: &CheckSettings,
    buffers: &Rc<Buffers>,
) -> Result<(), CheckError> {
    let address = &server.settings().address;
    let dialer = dialer(server, upstream, settings);
    let preamble = upstream.proxy_header.map(ProxyHeader::for_itself).unwrap_or_default();
    let wire = dialer.dial_with_preamble(buffers, &preamble).await.map_err(CheckError::Dial)?;
    match (&settings.kind, upstream.cgi_protocol) {
        (CheckKind::Tcp, _) => Ok(()),
        // All of its processes have requests, which are no sign of a failure, and none would answer in time.
        (CheckKind::Http(_), Some(_)) if server.is_full() => Ok(()),
        (CheckKind::Http(check), Some(protocol)) => {
            cgi::ask(wire, Rc::clone(buffers), protocol, check, &address.authority()).await
        }
        (CheckKind::Http(check), None) => {
            let question = Question { check, authority: address.authority(), scheme: address.scheme };
            match spoken(&wire, address.protocol, check) {
                Protocol::Http1 => question.ask_http1(wire, Rc::clone(buffers)).await,
                Protocol::Http2 => question.ask_http2(wire, Rc::clone(buffers)).await,
            }
        }
        (CheckKind::Grpc(service), _) => {
            grpc::ask(wire, Rc::clone(buffers), service, &address.authority(), address.scheme).await
        }
    }
}

fn dialer(server: &Server, upstream: &UpstreamSettings, settings: &CheckSettings) -> Dialer {
    let address = &server.settings().address;
    let destination = match (server.destination(), settings.port) {
        (Destination::Tcp(address), Some(port)) => Destination::Tcp((address.ip(), port).into()),
        (destination, _) => destination.clone(),
    };
    let protocol = match &settings.kind {
        CheckKind::Tcp => None,
        CheckKind::Http(check) if check.send.is_some() => Some(Protocol::Http1),
        CheckKind::Http(_) => address.protocol,
        CheckKind::Grpc(_) => Some(Protocol::Http2),
    };
    let encryption = match (address.scheme, &upstream.encryption) {
        (Scheme::Https, Some(connector)) => {
            // Raw requests are HTTP/1.1 and gRPC is HTTP/2: ALPN must not select anything else.
            let connector = protocol.map_or_else(|| connector.clone(), |protocol| connector.offering(&[protocol]));
            // One that knows no ALPN speaks HTTP/1.1.
            let protocol = protocol.filter(|protocol| *protocol == Protocol::Http2);
            Some(ClientEncryption { connector, server_name: address.server_name(), protocol })
        }
        _ => None,
    };
    Dialer { destination, encryption, timeout: settings.timeout }
}

/// The protocol of the connection: selected by ALPN, or given in the server's address.
fn spoken(wire: &Wire, protocol: Option<Protocol>, check: &HttpCheck) -> Protocol {
    if check.send.is_some() {
        return Protocol::Http1;
    }
    wire.session().and_then(TlsSession::protocol).or(protocol).unwrap_or(Protocol::Http1)
}
