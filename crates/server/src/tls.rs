//! TLS on TCP connections: the settings of a server, and the handshakes.

use std::{mem, ops::ControlFlow, time::Duration};

use serow_message::{Encryption, Handler, HandshakeStage};
use serow_net::Wire;
pub(crate) use serow_tls::TlsAcceptor;
use serow_tls::{
    CertificateDemand, Protocol, SharedSecret, TlsError, TlsSession, TlsSettings, TlsSettingsError, TlsVersion,
};

use crate::{
    Error,
    before_request::{self, Ended},
    transport::{Transport, TransportError},
    versions::{SpokenVersion, Versions},
    worker::Worker,
};

/// The TLS settings of a server that is not bound yet.
#[derive(Clone, Default)]
pub(crate) struct TlsPlan {
    pub(crate) settings: Option<TlsSettings>,
    /// Takes precedence over that of the settings.
    pub(crate) shared_secret: Option<SharedSecret>,
}

impl TlsPlan {
    pub(crate) fn is_set(&self) -> bool {
        self.settings.is_some()
    }

    /// Reads the files, if there are settings.
    pub(crate) fn acceptor(self, versions: Versions) -> Result<Option<TlsAcceptor>, Error> {
        let Some(settings) = self.settings else { return Ok(None) };
        let protocols = match (versions.has_http1(), versions.has_http2()) {
            (true, true) => settings.protocols,
            (true, false) => vec![Protocol::Http1],
            (false, _) => vec![Protocol::Http2],
        };
        let shared_secret = self.shared_secret.or(settings.shared_secret);
        Ok(Some(TlsAcceptor::new(TlsSettings { protocols, shared_secret, ..settings })?))
    }
}

/// The error of a listener for TLS without TLS settings.
pub(crate) fn missing() -> Error {
    TlsSettingsError::NoCertificate.into()
}

/// Encrypts everything from now on, including the input that was received and not parsed.
pub(crate) async fn begin<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
    acceptor: &TlsAcceptor,
) -> Result<(), Ended> {
    if acceptor.obtains_on_demand() {
        await_certificate(worker, transport, acceptor).await?;
    }
    let session = TlsSession::accept(acceptor).map_err(|_| Ended::Refused("TLS cannot be begun"))?;
    transport.wire.encrypt(session, mem::take(&mut transport.input));
    Ok(())
}

/// Waits until there is a certificate for the server name that the client requests, if one can be obtained.
async fn await_certificate<H: Handler>(
    worker: &Worker<H>,
    transport: &mut Transport<H>,
    acceptor: &TlsAcceptor,
) -> Result<(), Ended> {
    let demand = before_request::receive(worker, transport, |transport| match acceptor.demand(&transport.input) {
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

/// The properties of a handshake that handlers and logs see.
pub(crate) fn encryption(wire: &Wire) -> Option<Encryption> {
    let description = wire.description()?;
    Some(Encryption {
        version: match description.version() {
            TlsVersion::Tls12 => "TLSv1.2",
            TlsVersion::Tls13 => "TLSv1.3",
        },
        cipher_suite: description.cipher_suite(),
        server_name: description.server_name().map(Into::into),
        client_certificate: description.client_certificate().map(Into::into),
        stage: HandshakeStage::Complete,
    })
}

/// The version that the client chose by ALPN.
pub(crate) fn agreed_version(wire: &Wire) -> Option<SpokenVersion> {
    match wire.session()?.protocol()? {
        Protocol::Http1 => Some(SpokenVersion::Http1),
        Protocol::Http2 => SpokenVersion::HTTP2,
    }
}

/// Whether a connection that ended with this error had not completed its handshake. One that validated a name
/// (tls-alpn-01) ended as intended.
pub(crate) fn has_failed(wire: &Wire, error: &TransportError) -> bool {
    let is_validation = match error {
        TransportError::Lost(error) => {
            error.get_ref().and_then(|inner| inner.downcast_ref()) == Some(&TlsError::Validated)
        }
        TransportError::TimedOut | TransportError::Unfinished(_) => false,
    };
    !is_validation && wire.session().is_some_and(|session| !session.is_established())
}

/// How long a handshake waits for a certificate at most: browsers give up after a similar time, and a connection that
/// waits costs memory, whoever opened it.
const MAX_CERTIFICATE_WAIT: Duration = Duration::from_secs(30);
