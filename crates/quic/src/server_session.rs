//! TLS of a server's connections. A session keeps what rustls needs only as long as its handshake lasts: a connection that
//! is idle for hours has no use for it.

use std::{any::Any, io::Cursor, sync::Arc};

use quinn_proto::{
    ConnectionId, Side, TransportError, TransportErrorCode,
    crypto::{
        ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
        rustls::{HandshakeData, QuicServerConfig},
    },
    transport_parameters::TransportParameters,
};
use rustls::{
    AlertDescription,
    pki_types::CertificateDer,
    quic::{KeyChange, Secrets, ServerConnection, Version},
};

/// Makes the sessions of a server's connections.
pub(crate) struct ServerTls {
    settings: Arc<rustls::ServerConfig>,
    quic: QuicServerConfig,
}

/// The session of one connection.
struct ServerSession {
    tls: Arc<ServerTls>,
    version: u32,
    stage: HandshakeStage,
    /// Of the keys after those in use.
    next: Option<Secrets>,
}

enum HandshakeStage {
    Handshake {
        connection: Box<ServerConnection>,
        has_read_hello: bool,
    },
    Complete(Identity),
    /// No session could be made.
    Failed,
}

/// The data of a session whose handshake is complete.
struct Identity {
    server_name: Option<Box<str>>,
    certificates: Option<Box<[CertificateDer<'static>]>>,
}

impl ServerTls {
    /// With these settings; nothing if they do not allow TLS 1.3 with the cipher suite of first packets.
    pub(crate) fn new(settings: Arc<rustls::ServerConfig>) -> Option<Self> {
        let quic = QuicServerConfig::try_from(Arc::clone(&settings)).ok()?;
        let tls = Self { settings, quic };
        tls.connection(V1, Vec::new()).is_some().then_some(tls)
    }

    fn session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> ServerSession {
        let mut encoded = Vec::new();
        parameters.write(&mut encoded);
        let stage = match self.connection(version, encoded) {
            Some(connection) => HandshakeStage::Handshake { connection, has_read_hello: false },
            None => HandshakeStage::Failed,
        };
        ServerSession { tls: self, version, stage, next: None }
    }

    fn connection(&self, version: u32, parameters: Vec<u8>) -> Option<Box<ServerConnection>> {
        let version = if DRAFTS_WITH_OLD_LABELS.contains(&version) { Version::V1Draft } else { Version::V1 };
        ServerConnection::new(Arc::clone(&self.settings), version, parameters).ok().map(Box::new)
    }
}

impl ServerConfig for ServerTls {
    fn initial_keys(&self, version: u32, destination: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.quic.initial_keys(version, destination)
    }

    fn retry_tag(&self, version: u32, destination: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.quic.retry_tag(version, destination, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        Box::new(self.session(version, parameters))
    }
}

impl ServerSession {
    fn connection(&self) -> Option<&ServerConnection> {
        match &self.stage {
            HandshakeStage::Handshake { connection, .. } => Some(connection),
            HandshakeStage::Complete(_) | HandshakeStage::Failed => None,
        }
    }

    /// Forgets what only a handshake needs, once all of it has been written, with the tickets behind it.
    fn forget_handshake(&mut self) {
        let HandshakeStage::Handshake { connection, .. } = &self.stage else { return };
        if connection.is_handshaking() || self.next.is_none() {
            return;
        }
        self.stage = HandshakeStage::Complete(Identity {
            server_name: connection.server_name().map(Into::into),
            certificates: connection
                .peer_certificates()
                .map(|chain| chain.iter().map(|certificate| certificate.clone().into_owned()).collect()),
        });
    }
}

impl Session for ServerSession {
    fn initial_keys(&self, destination: &ConnectionId, _: Side) -> Keys {
        match self.tls.quic.initial_keys(self.version, destination) {
            Ok(keys) => keys,
            Err(UnsupportedVersion) => unreachable!("a session has a version that its settings accepted"),
        }
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let server_name = match &self.stage {
            HandshakeStage::Handshake { connection, has_read_hello: true } => connection.server_name().map(Into::into),
            HandshakeStage::Complete(identity) => identity.server_name.as_deref().map(Into::into),
            HandshakeStage::Handshake { .. } | HandshakeStage::Failed => return None,
        };
        Some(Box::new(HandshakeData { protocol: None, server_name }))
    }

    /// As of quinn's sessions: a `Vec<CertificateDer>`.
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let certificates: Vec<CertificateDer<'static>> = match &self.stage {
            HandshakeStage::Handshake { connection, .. } => {
                connection.peer_certificates()?.iter().map(|certificate| certificate.clone().into_owned()).collect()
            }
            HandshakeStage::Complete(identity) => identity.certificates.as_ref()?.to_vec(),
            HandshakeStage::Failed => return None,
        };
        Some(Box::new(certificates))
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.connection()?.zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        // For clients.
        None
    }

    fn is_handshaking(&self) -> bool {
        match &self.stage {
            HandshakeStage::Handshake { connection, .. } => connection.is_handshaking(),
            HandshakeStage::Complete(_) => false,
            HandshakeStage::Failed => true,
        }
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let HandshakeStage::Handshake { connection, has_read_hello } = &mut self.stage else {
            // A client has nothing to say behind its handshake (RFC 9001 §4.4, §6).
            return Err(alert(AlertDescription::UnexpectedMessage, "a TLS message behind the handshake".to_owned()));
        };
        if let Err(error) = connection.read_hs(bytes) {
            return Err(match connection.alert() {
                Some(description) => alert(description, error.to_string()),
                None => TransportError {
                    code: TransportErrorCode::PROTOCOL_VIOLATION,
                    frame: None,
                    reason: format!("TLS error: {error}"),
                },
            });
        }
        let knows =
            connection.alpn_protocol().is_some() || connection.server_name().is_some() || !connection.is_handshaking();
        Ok(knows && !std::mem::replace(has_read_hello, true))
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(encoded) = self.connection().and_then(|connection| connection.quic_transport_parameters()) else {
            return Ok(None);
        };
        TransportParameters::read(Side::Server, &mut Cursor::new(encoded)).map(Some).map_err(Into::into)
    }

    fn write_handshake(&mut self, output: &mut Vec<u8>) -> Option<Keys> {
        let HandshakeStage::Handshake { connection, .. } = &mut self.stage else { return None };
        let before = output.len();
        let keys = match connection.write_hs(output) {
            Some(KeyChange::Handshake { keys }) => keys,
            Some(KeyChange::OneRtt { keys, next }) => {
                self.next = Some(next);
                keys
            }
            None => {
                if output.len() == before {
                    self.forget_handshake();
                }
                return None;
            }
        };
        Some(Keys {
            header: KeyPair { local: Box::new(keys.local.header), remote: Box::new(keys.remote.header) },
            packet: KeyPair { local: Box::new(keys.local.packet), remote: Box::new(keys.remote.packet) },
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair { local: Box::new(keys.local), remote: Box::new(keys.remote) })
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        // Servers send them.
        false
    }

    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn alert(description: AlertDescription, reason: String) -> TransportError {
    TransportError { code: TransportErrorCode::crypto(description.into()), frame: None, reason }
}

/// RFC 9000 §15.
const V1: u32 = 1;

/// Drafts before 33, whose labels for keys are others.
const DRAFTS_WITH_OLD_LABELS: std::ops::RangeInclusive<u32> = 0xff00_001d..=0xff00_0020;

#[cfg(test)]
mod tests {
    use rustls::quic::ClientConnection;
    use serow_tls::{TlsAcceptor, TlsClientSettings, TlsConnector, TlsSettings, Trust};

    use super::*;

    fn session() -> ServerSession {
        let acceptor = TlsAcceptor::new(TlsSettings::self_signed().unwrap()).unwrap();
        let mut settings = rustls::ServerConfig::clone(&acceptor.quic_settings());
        settings.max_early_data_size = 0;
        settings.alpn_protocols = vec![b"h3".to_vec()];
        let parameters = TransportParameters::read(Side::Client, &mut Cursor::new([])).unwrap();
        Arc::new(ServerTls::new(Arc::new(settings)).unwrap()).session(V1, &parameters)
    }

    fn client() -> ClientConnection {
        let settings = TlsClientSettings { trust: Trust::Unchecked, ..TlsClientSettings::default() };
        let connector = TlsConnector::new(settings).unwrap();
        let name = "localhost".try_into().unwrap();
        let mut settings = rustls::ClientConfig::clone(&connector.quic_settings());
        settings.alpn_protocols = vec![b"h3".to_vec()];
        ClientConnection::new(Arc::new(settings), Version::V1, name, Vec::new()).unwrap()
    }

    /// Passes messages back and forth until neither side writes; returns how many keys the server got.
    fn shake_hands(session: &mut ServerSession, client: &mut ClientConnection) -> usize {
        let mut keys = 0;
        loop {
            let (mut from_client, mut is_over) = (Vec::new(), true);
            while client.write_hs(&mut from_client).is_some() {}
            if !from_client.is_empty() {
                session.read_handshake(&from_client).unwrap();
                is_over = false;
            }
            loop {
                let mut from_server = Vec::new();
                let has_keys = session.write_handshake(&mut from_server).is_some();
                keys += usize::from(has_keys);
                if !from_server.is_empty() {
                    client.read_hs(&from_server).unwrap();
                } else if !has_keys {
                    break;
                }
            }
            if is_over {
                return keys;
            }
        }
    }

    #[test]
    fn a_complete_handshake_leaves_names_and_next_keys_and_no_connection_of_rustls() {
        let (mut session, mut client) = (session(), client());
        assert!(session.is_handshaking() && session.handshake_data().is_none());
        assert_eq!(shake_hands(&mut session, &mut client), 2);
        assert!(!session.is_handshaking() && !client.is_handshaking());
        assert!(matches!(session.stage, HandshakeStage::Complete(_)));
        assert!(client.tls13_tickets_received() > 0, "the tickets behind the handshake were written");
        let data = session.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
        assert_eq!(data.server_name.as_deref(), Some("localhost"));
        assert!(session.peer_identity().is_none());
        assert!(session.next_1rtt_keys().is_some() && session.next_1rtt_keys().is_some());
    }

    #[test]
    fn a_message_behind_the_handshake_is_unexpected() {
        let (mut session, mut client) = (session(), client());
        shake_hands(&mut session, &mut client);
        let error = session.read_handshake(&[24, 0, 0, 1, 0]).unwrap_err();
        assert_eq!(u64::from(error.code), 0x10a);
    }

    #[test]
    fn a_handshake_that_waits_for_the_client_keeps_its_connection() {
        let (mut session, mut client) = (session(), client());
        let mut hello = Vec::new();
        assert!(client.write_hs(&mut hello).is_none());
        assert!(session.read_handshake(&hello).unwrap());
        let mut output = Vec::new();
        while session.write_handshake(&mut output).is_some() {}
        assert!(session.is_handshaking() && matches!(session.stage, HandshakeStage::Handshake { .. }));
        assert!(session.handshake_data().is_some() && session.transport_parameters().unwrap().is_some());
    }
}
