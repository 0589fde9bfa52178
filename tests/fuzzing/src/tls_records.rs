//! A peer that has shaken hands and then keeps to no rules, on either side: whatever it seals, nothing breaks, what is data comes as it
//! was sent, and what it does not read does not pile up.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{Arc, Mutex},
};

use arbitrary::Arbitrary;
use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf::{HKDF_SHA384, KeyType, Prk},
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
    Certificates, MAX_RECORD_PLAINTEXT, SelfSigned, TlsAcceptor, TlsClientSettings, TlsConnector, TlsError, TlsSession,
    TlsSettings, TlsVersion, TlsVersions, Trust,
};

use crate::with_value;

#[derive(Debug, Arbitrary)]
struct Script {
    is_13: bool,
    /// Whether ours is the client's side.
    is_client: bool,
    /// How many bytes come at once.
    piece: u16,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Record {
        kind: u8,
        content: Vec<u8>,
        zeroes: u8,
    },
    Data {
        length: u16,
        zeroes: u8,
    },
    KeyUpdate {
        request_update: bool,
    },
    Ticket {
        length: u8,
    },
    Alert {
        level: u8,
        description: u8,
    },
    /// What nobody has sealed.
    Raw(Vec<u8>),
    Seal {
        length: u16,
        record: u16,
    },
    Close,
}

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(script: Script) {
    let (mut session, mut forger) =
        ENDS.with_borrow(|ends| if script.is_client { ends.connect(script.is_13) } else { ends.accept(script.is_13) });
    let (mut received, mut plaintext, mut sealed) = (BytesMut::new(), BytesMut::new(), Vec::new());
    let (mut expected, mut closed, mut raw) = (Vec::new(), false, false);
    for step in script.steps {
        let record = match step {
            Step::Record { kind, content, zeroes } => forger.record(kind, content, zeroes),
            Step::Data { length, zeroes } => forger.record(DATA, vec![7; usize::from(length % 17_000)], zeroes),
            Step::KeyUpdate { request_update } => {
                forger.record(HANDSHAKE, vec![KEY_UPDATE, 0, 0, 1, u8::from(request_update)], 0)
            }
            Step::Ticket { length } => {
                let mut message = vec![TICKET, 0, 0, 13u8.saturating_add(length), 0, 0, 1, 0, 1, 2, 3, 4, 0, 0, length];
                message.resize(message.len() + usize::from(length) + 2, 0);
                forger.record(HANDSHAKE, message, 0)
            }
            Step::Alert { level, description } => forger.record(ALERT, vec![level, description], 0),
            Step::Raw(bytes) => Record { bytes, kind: 0, content: Vec::new() },
            Step::Seal { length, record } => {
                let outcome = session.seal(&vec![1; usize::from(length)], usize::from(record), &mut sealed);
                assert!(outcome.is_ok() || outcome == Err(TlsError::NotEstablished));
                sealed.clear();
                continue;
            }
            Step::Close => {
                let before = sealed.len();
                session.close(&mut sealed);
                assert!(sealed.len() - before <= MAX_ALERT_LENGTH);
                sealed.clear();
                continue;
            }
        };
        raw |= record.kind == 0 && !record.bytes.is_empty();
        let before = sealed.len();
        for piece in record.bytes.chunks(usize::from(script.piece).max(1)) {
            received.extend_from_slice(piece);
            if session.receive(&mut received, &mut plaintext, &mut sealed).is_err() {
                assert!(!session.is_established() && sealed.len() - before <= MAX_ALERT_LENGTH);
                assert!(plaintext == expected, "{} bytes for {}", plaintext.len(), expected.len());
                return;
            }
            assert!(received.len() < 5 + MAX_RECORD_PLAINTEXT + 256);
        }
        // Behind bytes of nobody's nothing can be opened; and whoever has said goodbye is heard no more.
        if raw {
            assert!(plaintext == expected, "{} bytes for {}", plaintext.len(), expected.len());
            continue;
        }
        if !closed && record.kind == DATA {
            expected.extend_from_slice(&record.content);
        }
        closed |= session.is_closed_by_peer();
        forger.note_accepted(&record);
        assert!(plaintext == expected, "{} bytes for {}", plaintext.len(), expected.len());
        assert!(sealed.len() - before <= MAX_ALERT_LENGTH && received.is_empty());
    }
}

thread_local! {
    static ENDS: RefCell<Ends> = RefCell::new(Ends::new());
}

/// What all conversations share; all but the first go on with the session of another, which is quicker.
struct Ends {
    acceptor: TlsAcceptor,
    /// Of TLS 1.2, and of TLS 1.3; as the others.
    connectors: [TlsConnector; 2],
    /// Of the library.
    clients: [Arc<ClientConfig>; 2],
    server: Arc<ServerConfig>,
    secrets: Arc<Secrets>,
}

impl Ends {
    fn new() -> Self {
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
    fn accept(&self, is_13: bool) -> (TlsSession, Forger) {
        let config = Arc::clone(&self.clients[usize::from(is_13)]);
        let client = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
        self.shake_hands(TlsSession::accept(&self.acceptor).unwrap(), client.into(), is_13)
    }

    /// A client of ours, and a server's place.
    fn connect(&self, is_13: bool) -> (TlsSession, Forger) {
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
        (session, Forger { sequence, ..Forger::new(key.as_ref(), iv.as_ref(), secret) })
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

/// What a peer could encrypt who keeps to no rules.
struct Forger {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    /// In TLS 1.3.
    secret: Option<Vec<u8>>,
    /// What our side has of a message of the handshake.
    message: Vec<u8>,
}

struct Record {
    bytes: Vec<u8>,
    kind: u8,
    content: Vec<u8>,
}

impl Forger {
    fn new(key: &[u8], iv: &[u8], secret: Option<Vec<u8>>) -> Self {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap());
        Self { key, iv: iv.try_into().unwrap(), sequence: 0, secret, message: Vec::new() }
    }

    fn of_secret(secret: Vec<u8>) -> Self {
        Self::new(&expand(&secret, "key", 32), &expand(&secret, "iv", 12), Some(secret))
    }

    fn record(&mut self, kind: u8, content: Vec<u8>, zeroes: u8) -> Record {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= sequence;
        }
        let length = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
        let mut text = content.clone();
        let (head, additional) = if self.secret.is_some() {
            text.push(kind);
            text.resize(text.len() + usize::from(zeroes), 0);
            let header = [&[DATA, 3, 3][..], &length(text.len() + 16)].concat();
            (header.clone(), header)
        } else {
            let header = [&[kind, 3, 3][..], &length(text.len() + 24)].concat();
            let additional = [&self.sequence.to_be_bytes()[..], &[kind, 3, 3], &length(text.len())].concat();
            ([&header, &nonce[4..]].concat(), additional)
        };
        self.sequence += 1;
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(additional), &mut text)
            .unwrap();
        let (kind, content) = if self.secret.is_some() { meant(kind, content) } else { (kind, content) };
        // What is all zeroes has no kind, but is nobody's raw bytes either.
        Record { bytes: [head, text].concat(), kind: if kind == 0 { u8::MAX } else { kind }, content }
    }

    /// What was accepted of messages may be the last part of new keys, maybe with tickets in front of it.
    fn note_accepted(&mut self, record: &Record) {
        if record.kind != HANDSHAKE || self.secret.is_none() {
            return;
        }
        self.message.extend_from_slice(&record.content);
        while let Some(&[kind, high, middle, low]) = self.message.first_chunk() {
            let length = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
            if self.message.len() < length {
                return;
            }
            self.message.drain(..length);
            if kind == KEY_UPDATE
                && let Some(secret) = &self.secret
            {
                *self = Self::of_secret(expand(secret, "traffic upd", 48));
            }
        }
    }
}

/// RFC 8446 §5.4: a kind of 0 is taken for padding, and the last byte before it that is not is the kind.
fn meant(kind: u8, mut content: Vec<u8>) -> (u8, Vec<u8>) {
    content.push(kind);
    let end = content.iter().rposition(|byte| *byte != 0);
    content.truncate(end.map_or(0, |end| end + 1));
    let kind = content.pop().unwrap_or(0);
    (kind, content)
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// RFC 8446 §7.1: HKDF-Expand-Label without a context.
fn expand(secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let [lengths, labels] = [length, label.len()].map(|length| u8::try_from(length).unwrap());
    let information: [&[u8]; 3] = [&[0, lengths, labels], label.as_bytes(), &[0]];
    let mut made = vec![0; length];
    let secret = Prk::new_less_safe(HKDF_SHA384, secret);
    secret.expand(&information, Length(length)).unwrap().fill(&mut made).unwrap();
    made
}

const DATA: u8 = 23;
const HANDSHAKE: u8 = 22;
const KEY_UPDATE: u8 = 24;
const TICKET: u8 = 4;
const ALERT: u8 = 21;

/// In TLS 1.2: a header, an explicit nonce, two bytes and a tag.
const MAX_ALERT_LENGTH: usize = 5 + 8 + 2 + 16;
