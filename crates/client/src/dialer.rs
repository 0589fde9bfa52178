//! Opening connections to one server.

use std::{error::Error, fmt, future::poll_fn, io, rc::Rc, time::Duration};

use bytes::BytesMut;
use serow_net::{Buffers, Destination, More, Wire};
use serow_tls::{Protocol, TlsConnector, TlsError, TlsSession};
use tokio::time::timeout;

/// Opens connections to one server.
///
/// ```no_run
/// use std::{net::Ipv4Addr, rc::Rc, time::Duration};
/// use serow_client::{Dialer, Destination};
///
/// # async fn dial() -> Result<(), serow_client::DialError> {
/// let destination = Destination::Tcp((Ipv4Addr::LOCALHOST, 8080).into());
/// let dialer = Dialer { destination, encryption: None, timeout: Duration::from_secs(2) };
/// let wire = dialer.dial(&Rc::default()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Dialer {
    /// The server's address.
    pub destination: Destination,
    /// The TLS settings; `None` without TLS.
    pub encryption: Option<ClientEncryption>,
    /// The timeout of opening a connection, including the TLS handshake.
    pub timeout: Duration,
}

/// The TLS settings of connections to one server.
#[derive(Clone, Debug)]
pub struct ClientEncryption {
    /// The connector, which all connections share.
    pub connector: TlsConnector,
    /// The name that the server's certificate must have: a DNS name, or an address without brackets.
    pub server_name: String,
    /// The protocol that ALPN must select, if any.
    pub protocol: Option<Protocol>,
}

/// The error of opening a connection.
#[derive(Debug)]
pub enum DialError {
    /// The connection was refused, or could not be opened.
    Connect(io::Error),
    /// The TLS handshake failed.
    Tls(io::Error),
    /// The server's certificate is not trusted.
    Certificate(io::Error),
    /// The name cannot be the name of a certificate.
    ServerName(TlsError),
    /// The server does not select this protocol by ALPN.
    Protocol(Protocol),
    /// The server does not select HTTP/3 by ALPN.
    NoHttp3,
    /// QUIC needs an IP address, and TLS 1.3 (RFC 9001 §4.2).
    NoQuic,
    /// It took too long.
    TimedOut(Duration),
    /// Nothing came over UDP in this time.
    NoAnswer(Duration),
}

impl Dialer {
    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// If the connection cannot be opened.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn dial(&self, buffers: &Rc<Buffers>) -> Result<Wire, DialError> {
        self.open_in_time(buffers, &[], || ()).await
    }

    /// As [`Self::dial`], but sends these bytes first, before TLS: a PROXY header with the client's address.
    ///
    /// # Errors
    ///
    /// As [`Self::dial`].
    ///
    /// # Panics
    ///
    /// As [`Self::dial`].
    pub async fn dial_with_preamble(&self, buffers: &Rc<Buffers>, preamble: &[u8]) -> Result<Wire, DialError> {
        self.open_in_time(buffers, preamble, || ()).await
    }

    /// As [`Self::dial`]; also returns when the connection was open, before TLS.
    ///
    /// # Errors
    ///
    /// As [`Self::dial`].
    ///
    /// # Panics
    ///
    /// As [`Self::dial`].
    pub async fn dial_observed(&self, buffers: &Rc<Buffers>, connected: impl FnOnce()) -> Result<Wire, DialError> {
        self.open_in_time(buffers, &[], connected).await
    }

    async fn open_in_time(
        &self,
        buffers: &Rc<Buffers>,
        preamble: &[u8],
        connected: impl FnOnce(),
    ) -> Result<Wire, DialError> {
        let opened = timeout(self.timeout, self.open(buffers, preamble, connected)).await;
        opened.map_err(|_| DialError::TimedOut(self.timeout))?
    }

    async fn open(&self, buffers: &Rc<Buffers>, preamble: &[u8], connected: impl FnOnce()) -> Result<Wire, DialError> {
        let mut wire = Wire::new(self.destination.connect().await.map_err(DialError::Connect)?);
        connected();
        let mut unsent = preamble;
        while !unsent.is_empty() {
            let sent = poll_fn(|context| wire.poll_send(context, unsent, More::Nothing, buffers)).await;
            unsent = unsent.get(sent.map_err(DialError::Connect)?..).unwrap_or_default();
        }
        if let Some(encryption) = &self.encryption {
            let session = TlsSession::connect(&encryption.connector, &encryption.server_name);
            wire.encrypt(session.map_err(DialError::ServerName)?, BytesMut::new());
            let agreed = poll_fn(|context| wire.poll_handshake(context, buffers)).await;
            agreed.map_err(|error| DialError::of_handshake(error, encryption.protocol))?;
            if let Some(wanted) = encryption.protocol
                && wire.session().and_then(TlsSession::protocol) != Some(wanted)
            {
                return Err(DialError::Protocol(wanted));
            }
        }
        Ok(wire)
    }
}

impl DialError {
    /// The error of a failed handshake that should have selected this protocol.
    fn of_handshake(error: io::Error, protocol: Option<Protocol>) -> Self {
        match (error.get_ref().and_then(|cause| cause.downcast_ref()), protocol) {
            (Some(TlsError::Certificate(_)), _) => Self::Certificate(error),
            (Some(cause), Some(protocol)) if cause.is_no_application_protocol() => Self::Protocol(protocol),
            _ => Self::Tls(error),
        }
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) | Self::Tls(error) | Self::Certificate(error) => error.fmt(formatter),
            Self::ServerName(error) => error.fmt(formatter),
            Self::Protocol(Protocol::Http1) => formatter.write_str("the server did not select HTTP/1.1 (ALPN)"),
            Self::Protocol(Protocol::Http2) => formatter.write_str("the server did not select HTTP/2 (ALPN)"),
            Self::NoHttp3 => formatter.write_str("the server did not select HTTP/3 (ALPN)"),
            Self::NoQuic => formatter.write_str("HTTP/3 needs a server at an IP address, and TLS 1.3"),
            Self::TimedOut(time) => write!(formatter, "timed out after {time:?}"),
            Self::NoAnswer(time) => write!(formatter, "no answer over UDP within {time:?}"),
        }
    }
}

impl Error for DialError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Their messages are the inner error's.
            Self::Connect(error) | Self::Tls(error) | Self::Certificate(error) => error.source(),
            Self::ServerName(error) => error.source(),
            Self::Protocol(_) | Self::NoHttp3 | Self::NoQuic | Self::TimedOut(_) | Self::NoAnswer(_) => None,
        }
    }
}
