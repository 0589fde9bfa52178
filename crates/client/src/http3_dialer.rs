//! Opening HTTP/3 connections to one server.

use std::{
    future::poll_fn,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    task::{Context, Poll},
    time::Duration,
};

use serow_http3::Limits;
use serow_net::Destination;
use serow_quic::{
    ClientSettings, ConnectError, Connection, ConnectionError, Endpoint, Event, ReceiveBuffers, Sent, TransportSettings,
};
use serow_tls::TlsConnector;
use tokio::time::timeout;

use crate::{DialError, Dialer, Http3};

/// Opens HTTP/3 connections to one server.
#[derive(Clone, Debug)]
pub struct Http3Dialer {
    server: SocketAddr,
    server_name: String,
    settings: ClientSettings,
    connector: TlsConnector,
    timeout: Duration,
    buffers: ReceiveBuffers,
}

impl Http3Dialer {
    /// To the same server as this one, for one thread.
    ///
    /// # Errors
    ///
    /// If it is not at an IP address, or not encrypted with TLS 1.3: QUIC needs both.
    pub fn new(dialer: &Dialer) -> Result<Self, DialError> {
        let (Destination::Tcp(server), Some(encryption)) = (&dialer.destination, &dialer.encryption) else {
            return Err(DialError::NoQuic);
        };
        let settings = ClientSettings::new(&encryption.connector, TRANSPORT).ok_or(DialError::NoQuic)?;
        let server_name = encryption.server_name.clone();
        let buffers = ReceiveBuffers::default();
        let connector = encryption.connector.clone();
        Ok(Self { server: *server, server_name, settings, connector, timeout: dialer.timeout, buffers })
    }

    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// If the connection cannot be opened.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn dial(&self, limits: Limits, now: Duration) -> Result<Http3, DialError> {
        let own = match self.server {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let endpoint = Endpoint::client(own, &self.buffers).map_err(DialError::Connect)?;
        let mut quic = endpoint.connect(&self.settings, self.server, &self.server_name).map_err(of_connect)?;
        let handshake = poll_fn(|context| poll_handshake(&endpoint, &mut quic, &self.connector, context));
        timeout(self.timeout, handshake).await.map_err(|_| DialError::NoAnswer(self.timeout))??;
        Ok(Http3::new(endpoint, quic, limits, now))
    }
}

/// Ready when the handshake has ended.
fn poll_handshake(
    endpoint: &Endpoint,
    quic: &mut Connection,
    connector: &TlsConnector,
    context: &mut Context<'_>,
) -> Poll<Result<(), DialError>> {
    loop {
        endpoint.receive(context).map_err(DialError::Connect)?;
        quic.poll_receive(context);
        while let Some(event) = quic.next_event() {
            match event {
                Event::Connected => return Poll::Ready(Ok(())),
                Event::ConnectionLost { reason } => {
                    // The server need not wait for the rest, as far as the kernel takes it.
                    while let Sent::Datagrams = quic.send(context) {}
                    return Poll::Ready(Err(of_handshake(reason, connector)));
                }
                _ => {}
            }
        }
        match quic.send(context) {
            Sent::Datagrams => {}
            Sent::Nothing | Sent::Blocked => return Poll::Pending,
        }
    }
}

fn of_connect(error: ConnectError) -> DialError {
    DialError::Connect(io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// Why a handshake failed.
fn of_handshake(error: ConnectionError, connector: &TlsConnector) -> DialError {
    let alert = match &error {
        ConnectionError::TransportError(own) => alert(u64::from(own.code)),
        ConnectionError::ConnectionClosed(close) => alert(u64::from(close.error_code)),
        _ => None,
    };
    let is_own = matches!(error, ConnectionError::TransportError(_));
    match alert {
        Some(NO_APPLICATION_PROTOCOL) => DialError::NoHttp3,
        Some(alert) if is_own && CERTIFICATE_ALERTS.contains(&alert) => {
            DialError::Certificate(connector.last_rejection().map_or_else(|| error.into(), io::Error::other))
        }
        Some(_) => DialError::Tls(error.into()),
        None => DialError::Connect(error.into()),
    }
}

/// The TLS alert that an error code stands for (RFC 9001 §4.8).
fn alert(code: u64) -> Option<u8> {
    (0x100..0x200).contains(&code).then_some(code as u8)
}

/// RFC 7301 §3.2.
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// bad_certificate to unknown_ca, but for illegal_parameter (RFC 8446 §6).
const CERTIFICATE_ALERTS: [u8; 6] = [42, 43, 44, 45, 46, 48];

/// A response may be as large as it likes, and the server opens no streams but those that HTTP/3 needs. Windows as those of
/// browsers.
const TRANSPORT: TransportSettings =
    TransportSettings { streams: 0, stream_window: 6 << 20, window: 15 << 20, idle: Duration::from_secs(60) };
