//! A handshake, until it is complete.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use rustls::{
    AlertDescription, CertificateError, HandshakeKind, InvalidMessage, ProtocolVersion,
    pki_types::{ServerName, UnixTime},
    server::danger::ClientCertVerifier,
};

use crate::{
    Protocol, TlsAcceptor, TlsConnector, TlsDescription, TlsError, TlsVersion, UnexpectedProtocol,
    acceptor::Terms,
    certificate_table::VALIDATION_PROTOCOL,
    certificates,
    connection::{Connection, Progress},
    record::{HEADER_LENGTH, RecordHeader},
    side::Side,
    traffic::Traffic,
};

/// A handshake that is not complete.
pub(crate) struct Handshake {
    connection: Connection,
    /// Bytes of whole records at the front of the input that the library has seen and needs again: messages that are
    /// fragmented across records.
    seen: usize,
    /// Whether it has seen the header of the next record.
    seen_header: bool,
    begun: bool,
    server_name: Option<Arc<str>>,
    /// Verifies the client's certificate.
    client_verifier: Option<Arc<dyn ClientCertVerifier>>,
}

impl Handshake {
    /// A server's handshake.
    pub(crate) fn accept(acceptor: &TlsAcceptor) -> Result<Self, TlsError> {
        let Terms { config, client_verifier } = acceptor.terms();
        Ok(Self { client_verifier, ..Self::new(Connection::accept(config)?, None) })
    }

    /// A client's handshake.
    pub(crate) fn connect(connector: &TlsConnector, server_name: &str) -> Result<Self, TlsError> {
        let name = ServerName::try_from(server_name).map_err(|_| TlsError::ServerName(server_name.to_owned()))?;
        // RFC 6066 §3: an address is not sent.
        let sent_name = match &name {
            ServerName::DnsName(name) => Some(Arc::from(name.as_ref().to_ascii_lowercase())),
            _ => None,
        };
        Ok(Self::new(Connection::connect(connector, name.to_owned())?, sent_name))
    }

    fn new(connection: Connection, server_name: Option<Arc<str>>) -> Self {
        Self { connection, seen: 0, seen_header: false, begun: false, server_name, client_verifier: None }
    }

    /// Appends what is sent before anything is received: the ClientHello.
    pub(crate) fn begin(&mut self, sealed: &mut Vec<u8>) {
        self.send_queued(&mut [], sealed);
    }

    /// Takes whole records of the handshake from the front of `received`; returns whether it is complete. Bytes after
    /// its last record are left.
    pub(crate) fn receive(&mut self, received: &mut BytesMut, sealed: &mut Vec<u8>) -> Result<bool, TlsError> {
        if !self.begun && !received.is_empty() {
            check_first_bytes(received, self.connection.side())?;
            self.begun = true;
        }
        // Record by record, so that the library does not process data after the handshake.
        while self.connection.state().is_handshaking() {
            let rest = &received[self.seen.min(received.len())..];
            let Some(header) = RecordHeader::of(rest) else { return Ok(false) };
            let whole = HEADER_LENGTH + header.length();
            // The library sees a partial record once, for its header, which it may refuse. Not more often: it tries
            // again to decrypt what it cannot (early data, RFC 8446 §4.2.10), and only so many times.
            let shown = rest.len().min(whole);
            let is_whole = shown == whole;
            if !is_whole && std::mem::replace(&mut self.seen_header, true) {
                return Ok(false);
            }
            let outcome = self.process(received, self.seen + shown, sealed);
            let request = certificates::take_request();
            self.server_name = request.name.or(self.server_name.take());
            if let Err(error) = outcome {
                if request.refused {
                    // In place of the library's alert, access_denied.
                    sealed.extend_from_slice(&UNRECOGNIZED_NAME);
                    return Err(TlsError::UnknownName(self.server_name.take()));
                }
                self.send_queued(received, sealed);
                return Err(error.into());
            }
            if !is_whole {
                self.seen = self.seen.saturating_sub(shown);
                return Ok(false);
            }
            self.seen_header = false;
            if self.seen > MAX_HANDSHAKE_BUFFER {
                return Err(rustls::Error::from(InvalidMessage::HandshakePayloadTooLarge).into());
            }
        }
        self.send_queued(received, sealed);
        Ok(true)
    }

    /// The established session.
    ///
    /// # Errors
    ///
    /// When the session was resumed and the client's certificate is no longer valid (`sealed` then has the alert), when
    /// the client only validated a name, and when the library's keys cannot be used.
    pub(crate) fn into_traffic(self, sealed: &mut Vec<u8>) -> Result<Traffic, TlsError> {
        let accepted = self.check_resumed_client();
        let connection = self.connection.state();
        let protocol = connection.alpn_protocol().and_then(Protocol::of_name);
        let certificate = match self.connection.side() {
            // Verified, and not needed any more.
            Side::Client => None,
            Side::Server => connection.peer_certificates().and_then(|chain| chain.first()),
        };
        let suite = connection.negotiated_cipher_suite().ok_or_else(TlsError::unusable_keys)?;
        let description = TlsDescription {
            version: match connection.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => TlsVersion::Tls13,
                _ => TlsVersion::Tls12,
            },
            cipher_suite: suite.suite().as_str().unwrap_or("unknown"),
            server_name: self.server_name,
            client_certificate: certificate.map(|certificate| Arc::from(certificate.as_ref())),
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        };
        let is_validation = connection.alpn_protocol() == Some(VALIDATION_PROTOCOL);
        let mut traffic = Traffic::new(self.connection, protocol, description)?;
        if is_validation {
            traffic.close(sealed);
            return Err(TlsError::Validated);
        }
        if let Err(error) = accepted {
            traffic.refuse(AlertDescription::from(error.clone()), sealed);
            return Err(TlsError::Certificate(error));
        }
        Ok(traffic)
    }

    /// Verifies the certificate of a client that resumes a session: the library did so when the session began, which
    /// may be long ago, since each resumption renews the ticket.
    fn check_resumed_client(&self) -> Result<(), CertificateError> {
        let connection = self.connection.state();
        let resumed = connection.handshake_kind() == Some(HandshakeKind::Resumed);
        let (Some(verifier), true) = (&self.client_verifier, resumed) else { return Ok(()) };
        let Some([certificate, intermediates @ ..]) = connection.peer_certificates() else {
            // Tickets have other keys on servers that do not require certificates; this does not rely on it.
            let mandatory = verifier.client_auth_mandatory();
            return if mandatory { Err(CertificateError::ApplicationVerificationFailure) } else { Ok(()) };
        };
        match verifier.verify_client_cert(certificate, intermediates, UnixTime::now()) {
            Ok(_) => Ok(()),
            Err(rustls::Error::InvalidCertificate(error)) => Err(error),
            Err(_) => Err(CertificateError::ApplicationVerificationFailure),
        }
    }

    /// Has the library process the first `shown` bytes.
    fn process(&mut self, received: &mut BytesMut, shown: usize, sealed: &mut Vec<u8>) -> Result<(), rustls::Error> {
        let mut shown = shown;
        loop {
            let (discard, progress) = self.connection.process(&mut received[..shown], sealed);
            let progress = progress?;
            received.advance(discard);
            shown -= discard;
            if matches!(progress, Progress::Waits) {
                self.seen = shown;
                return Ok(());
            }
            // From here on `Traffic` handles the records.
            if !self.connection.state().is_handshaking() {
                self.seen = 0;
                return Ok(());
            }
        }
    }

    /// Appends what the library still has to send: tickets, or the alert of a failure. It processes no input meanwhile.
    fn send_queued(&mut self, received: &mut [u8], sealed: &mut Vec<u8>) {
        while self.connection.state().wants_write() {
            if !matches!(self.connection.process(received, sealed), (_, Ok(Progress::Sent))) {
                return;
            }
        }
    }
}

/// RFC 8446 §5.1: the first byte is the type `handshake`, the second the major version. A server may also send an
/// alert.
fn check_first_bytes(received: &[u8], side: Side) -> Result<(), TlsError> {
    match (received, side) {
        ([] | [HANDSHAKE] | [HANDSHAKE, 3, ..], _) | ([ALERT] | [ALERT, 3, ..], Side::Client) => Ok(()),
        // The beginning of `HTTP/1.1`, and a method (RFC 9110 §9.1).
        ([b'H', ..], Side::Client) => Err(TlsError::NotTls(UnexpectedProtocol::HttpResponse)),
        ([b'A'..=b'Z', ..], Side::Server) => Err(TlsError::NotTls(UnexpectedProtocol::HttpRequest)),
        _ => Err(TlsError::NotTls(UnexpectedProtocol::Unknown)),
    }
}

/// RFC 8446 §5.1
const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;

/// The alert of a server without a certificate for the client's name (RFC 6066 §3), before there are keys: a record
/// (RFC 8446 §5.1) with two bytes, `fatal` and the alert.
const UNRECOGNIZED_NAME: [u8; 7] = [ALERT, 3, 3, 0, 2, 2, 112];

/// Bytes of records that are kept for an incomplete message. The library accepts messages of up to 64 KiB; and as much
/// again for the overhead of their fragments. Without a limit, a message in fragments of one byte, each in a record
/// full of padding, would take 16 KiB for each of its bytes.
const MAX_HANDSHAKE_BUFFER: usize = 128 * 1024;
