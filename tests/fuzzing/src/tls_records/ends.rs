//! Both ends of a connection after their handshake: ours, and a peer that has given its keys away.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::BytesMut;
use rcgen::generate_simple_self_signed;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, ConnectionTrafficSecrets, KeyLog, RootCertStore,
    ServerConfig, ServerConnection,
    crypto::aws_lc_rs::{Ticketer, default_provider},
    pki_types::PrivateKeyDer,
    version::{TLS12, TLS13},
};
use serow_tls::{
    Certificates, SelfSigned, TlsAcceptor, TlsClientSettings, TlsConnector, TlsSession, TlsSettings, TlsVersion,
    TlsVersions, Trust,
};

use super::forger::Forger;

/// The settings that all conversations share; all but the first go on with the session of another, which is quicker.
pub(super) struct Ends {
    acceptor: TlsAcceptor,
    /// Of TLS 1.2, and of TLS 1.3; as the others.
    connectors: [TlsConnector; 2],
    /// Of the library.
    clients: [Arc<ClientConfig>; 2],
    server: Arc<ServerConfig>,
    secrets: Arc<Secrets>,
}

impl Ends {
    pub(super) fn new() -> Self {
        let certificate = SelfSigned::new().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.certificate().to_vec().into()).unwrap();
        let settings =
            TlsSettings { certificates: Certificates::SelfSigned(certificate), ..TlsSettings::self_signed().unwrap() };
        let secrets = Arc::new(Secrets::default());
        let mut provider = default_provider();
        provider.cipher_suites.retain(|suite| {
            [CipherSuite::TLS13_AES_256_GCM_SHA384, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]
                .contains(&suite.suite())
        });
        let provider = Arc::new(provider);
        let clients = [&TLS12, &TLS13].map(|version| {
            let config = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&[version]);
            let mut config = config.unwrap().with_root_certificates(roots.clone()).with_no_client_auth();
            config.enable_secret_extraction = true;
            config.key_log = Arc::clone(&secrets) as _;
            Arc::new(config)
        });
        let connectors = [TlsVersion::Tls12, TlsVersion::Tls13].map(|version| {
            let versions = TlsVersions { lowest: version, highest: version };
            let settings = TlsClientSettings { trust: Trust::Unchecked, versions, ..TlsClientSettings::default() };
            TlsConnector::new(settings).unwrap()
        });
        let own = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS12, &TLS13]);
        let config = config.unwrap().with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key);
        let mut server = config.unwrap();
        server.ticketer = Ticketer::new().unwrap();
        server.enable_secret_extraction = true;
        server.key_log = Arc::clone(&secrets) as _;
        Self { acceptor: TlsAcceptor::new(settings).unwrap(), connectors, clients, server: Arc::new(server), secrets }
    }

    /// A server of ours, and a client's place.
    pub(super) fn accept(&self, is_13: bool) -> (TlsSession, Forger) {
        let config = Arc::clone(&self.clients[usize::from(is_13)]);
        let client = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
        self.shake_hands(TlsSession::accept(&self.acceptor).unwrap(), client.into(), is_13)
    }

    /// A client of ours, and a server's place.
    pub(super) fn connect(&self, is_13: bool) -> (TlsSession, Forger) {
        let session = TlsSession::connect(&self.connectors[usize::from(is_13)], "localhost").unwrap();
        let server = ServerConnection::new(Arc::clone(&self.server)).unwrap();
        self.shake_hands(session, server.into(), is_13)
    }

    fn shake_hands(&self, mut session: TlsSession, mut peer: Connection, is_13: bool) -> (TlsSession, Forger) {
        let (mut received, mut sealed) = (BytesMut::new(), Vec::new());
        session.begin(&mut sealed);
        loop {
            let answer = std::mem::take(&mut sealed);
            let mut rest = &answer[..];
            while !rest.is_empty() {
                peer.read_tls(&mut rest).unwrap();
                peer.process_new_packets().unwrap();
            }
            let mut flight = Vec::new();
            while peer.wants_write() {
                peer.write_tls(&mut flight).unwrap();
            }
            received.extend_from_slice(&flight);
            session.receive(&mut received, &mut BytesMut::new(), &mut sealed).unwrap();
            if flight.is_empty() && sealed.is_empty() {
                break;
            }
        }
        let label = match &peer {
            Connection::Client(_) => "CLIENT_TRAFFIC_SECRET_0",
            Connection::Server(_) => "SERVER_TRAFFIC_SECRET_0",
        };
        let (sequence, secrets) = peer.dangerous_extract_secrets().unwrap().tx;
        let ConnectionTrafficSecrets::Aes256Gcm { key, iv } = secrets else { panic!("another cipher") };
        let secret = is_13.then(|| self.secrets.of(label));
        let mut forger = Forger::new(key.as_ref(), iv.as_ref(), secret);
        forger.sequence = sequence;
        (session, forger)
    }
}

/// Of what the keys after the handshake are made, as peers tell.
#[derive(Debug, Default)]
struct Secrets(Mutex<HashMap<String, Vec<u8>>>);

impl Secrets {
    fn of(&self, label: &str) -> Vec<u8> {
        self.0.lock().unwrap()[label].clone()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        self.0.lock().unwrap().insert(label.to_owned(), secret.to_vec());
    }
}
