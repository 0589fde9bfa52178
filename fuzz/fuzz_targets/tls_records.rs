//! A client that has shaken hands and then keeps to no rules: whatever it seals, nothing breaks, what is data comes as it
//! was sent, and what it does not read does not pile up.
#![no_main]

use std::{
    cell::RefCell,
    sync::{Arc, Mutex},
};

use arbitrary::Arbitrary;
use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf::{HKDF_SHA384, KeyType, Prk},
};
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, ConnectionTrafficSecrets, KeyLog, RootCertStore,
    crypto::aws_lc_rs::default_provider,
    version::{TLS12, TLS13},
};
use serow_net::tls::{Certificates, LARGEST_RECORD, SelfSigned, TlsAcceptor, TlsError, TlsSession, TlsSettings};

#[derive(Debug, Arbitrary)]
struct Script {
    is_13: bool,
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
        wish: bool,
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

fuzz_target!(|script: Script| {
    let (mut session, mut forger) = ENDS.with_borrow_mut(|ends| ends.shake_hands(script.is_13));
    let (mut received, mut plaintext, mut sealed) = (BytesMut::new(), BytesMut::new(), Vec::new());
    let (mut expected, mut closed, mut raw) = (Vec::new(), false, false);
    for step in script.steps {
        let record = match step {
            Step::Record { kind, content, zeroes } => forger.record(kind, content, zeroes),
            Step::Data { length, zeroes } => forger.record(DATA, vec![7; usize::from(length % 17_000)], zeroes),
            Step::KeyUpdate { wish } => forger.record(HANDSHAKE, vec![24, 0, 0, 1, u8::from(wish)], 0),
            Step::Alert { level, description } => forger.record(ALERT, vec![level, description], 0),
            Step::Raw(bytes) => Record { bytes, kind: 0, content: Vec::new() },
            Step::Seal { length, record } => {
                let outcome = session.seal(&vec![1; usize::from(length)], usize::from(record), &mut sealed);
                assert!(outcome.is_ok() || outcome == Err(TlsError::NotEstablished));
                sealed.clear();
                continue;
            }
            Step::Close => {
                session.close(&mut sealed);
                assert!(sealed.len() <= LONGEST_ALERT);
                sealed.clear();
                continue;
            }
        };
        raw |= record.kind == 0 && !record.bytes.is_empty();
        let before = sealed.len();
        for piece in record.bytes.chunks(usize::from(script.piece).max(1)) {
            received.extend_from_slice(piece);
            if session.receive(&mut received, &mut plaintext, &mut sealed).is_err() {
                assert!(!session.is_established() && sealed.len() - before <= LONGEST_ALERT);
                assert!(plaintext == expected, "{} bytes for {}", plaintext.len(), expected.len());
                return;
            }
            assert!(received.len() < 5 + LARGEST_RECORD + 256);
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
        assert!(sealed.len() - before <= LONGEST_ALERT && received.is_empty());
    }
});

thread_local! {
    static ENDS: RefCell<Ends> = RefCell::new(Ends::new());
}

/// What all conversations share; all but the first go on with the session of another, which is quicker.
struct Ends {
    acceptor: TlsAcceptor,
    /// Of TLS 1.2, and of TLS 1.3.
    clients: [Arc<ClientConfig>; 2],
    secret: Arc<Secret>,
}

impl Ends {
    fn new() -> Self {
        let certificate = SelfSigned::new().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.certificate().to_vec().into()).unwrap();
        let settings =
            TlsSettings { certificates: Certificates::SelfSigned(certificate), ..TlsSettings::self_signed().unwrap() };
        let secret = Arc::new(Secret::default());
        let clients = [&TLS12, &TLS13].map(|version| {
            let mut provider = default_provider();
            provider.cipher_suites.retain(|suite| {
                [CipherSuite::TLS13_AES_256_GCM_SHA384, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]
                    .contains(&suite.suite())
            });
            let config = ClientConfig::builder_with_provider(Arc::new(provider)).with_protocol_versions(&[version]);
            let mut config = config.unwrap().with_root_certificates(roots.clone()).with_no_client_auth();
            config.enable_secret_extraction = true;
            config.key_log = Arc::clone(&secret) as _;
            Arc::new(config)
        });
        Self { acceptor: TlsAcceptor::new(settings).unwrap(), clients, secret }
    }

    fn shake_hands(&mut self, is_13: bool) -> (TlsSession, Forger) {
        let config = Arc::clone(&self.clients[usize::from(is_13)]);
        let mut client = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
        let mut session = TlsSession::accept(&self.acceptor).unwrap();
        let (mut received, mut sealed) = (BytesMut::new(), Vec::new());
        loop {
            let mut flight = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut flight).unwrap();
            }
            received.extend_from_slice(&flight);
            session.receive(&mut received, &mut BytesMut::new(), &mut sealed).unwrap();
            let answer = std::mem::take(&mut sealed);
            let mut rest = &answer[..];
            while !rest.is_empty() {
                client.read_tls(&mut rest).unwrap();
                client.process_new_packets().unwrap();
            }
            if flight.is_empty() && answer.is_empty() {
                break;
            }
        }
        let forger = if is_13 {
            Forger::of_secret(self.secret.0.lock().unwrap().clone())
        } else {
            let (sequence, secrets) = client.dangerous_extract_secrets().unwrap().tx;
            let ConnectionTrafficSecrets::Aes256Gcm { key, iv } = secrets else { panic!("another cipher") };
            Forger { sequence, ..Forger::new(key.as_ref(), iv.as_ref(), None) }
        };
        (session, forger)
    }
}

/// Of what the client's keys are made after the handshake.
#[derive(Debug, Default)]
struct Secret(Mutex<Vec<u8>>);

impl KeyLog for Secret {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        if label == "CLIENT_TRAFFIC_SECRET_0" {
            *self.0.lock().unwrap() = secret.to_vec();
        }
    }
}

/// What a client could encrypt who keeps to no rules.
struct Forger {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    /// In TLS 1.3.
    secret: Option<Vec<u8>>,
    /// What the server has of a message of the handshake.
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
        // What is all zeroes has no kind, but is nobody's raw bytes either.
        Record { bytes: [head, text].concat(), kind: if kind == 0 { u8::MAX } else { kind }, content }
    }

    /// What was accepted of a message may be the last part of new keys.
    fn note_accepted(&mut self, record: &Record) {
        if record.kind == HANDSHAKE
            && let Some(secret) = &self.secret
        {
            self.message.extend_from_slice(&record.content);
            if self.message.len() == 5 {
                *self = Self::of_secret(expand(secret, "traffic upd", 48));
            }
        }
    }
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
const ALERT: u8 = 21;

/// In TLS 1.2: a header, an explicit nonce, two bytes and a tag.
const LONGEST_ALERT: usize = 5 + 8 + 2 + 16;
