//! Records that no honest client sends, made with the keys of an honest one.

use std::sync::{Arc, Mutex};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf::{HKDF_SHA384, KeyType, Prk},
};
use rustls::{ClientConnection, ConnectionTrafficSecrets, KeyLog};
use serow_net::tls::{Fault, LARGEST_RECORD, TlsError, TlsVersion};

use crate::ends::{Delivery, Server, Site, connect, exchange};

/// What a client could encrypt who keeps to no rules.
struct Forger {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    version: TlsVersion,
    /// Of what the keys were made, where that is known.
    secret: Vec<u8>,
}

impl Forger {
    /// In place of a client after its handshake, with the server it has talked to.
    fn new(version: TlsVersion) -> (Self, Server) {
        let site = Site::new();
        let mut config = site.client_config(version);
        config.enable_secret_extraction = true;
        let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
        exchange(&mut client, &mut server, Delivery::Whole).unwrap();
        let connection: ClientConnection = client.into_connection();
        let (sequence, secrets) = connection.dangerous_extract_secrets().unwrap().tx;
        let ConnectionTrafficSecrets::Aes256Gcm { key, iv } = secrets else { panic!("another cipher") };
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).unwrap());
        (Self { key, iv: iv.as_ref().try_into().unwrap(), sequence, version, secret: Vec::new() }, server)
    }

    /// In place of a client of TLS 1.3 whose hello the server has answered.
    fn in_handshake() -> (Self, Server) {
        let site = Site::new();
        let mut config = site.client_config(TlsVersion::Tls13);
        let secrets = Arc::new(Secrets::default());
        config.key_log = Arc::clone(&secrets) as _;
        let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
        server.receive(&client.flight(), Delivery::Whole).unwrap();
        client.take(&std::mem::take(&mut server.sealed));
        // What every client sends there (RFC 8446 §D.4).
        server.receive(&[CHANGE_CIPHER, 3, 3, 0, 1, 1], Delivery::Whole).unwrap();
        let secret = secrets.of("CLIENT_HANDSHAKE_TRAFFIC_SECRET");
        (Self::of_secret(&secret), server)
    }

    /// In place of a client of TLS 1.3 after its handshake, with what makes the next keys.
    fn established_13() -> (Self, Server) {
        let site = Site::new();
        let mut config = site.client_config(TlsVersion::Tls13);
        let secrets = Arc::new(Secrets::default());
        config.key_log = Arc::clone(&secrets) as _;
        let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
        exchange(&mut client, &mut server, Delivery::Whole).unwrap();
        (Self::of_secret(&secrets.of("CLIENT_TRAFFIC_SECRET_0")), server)
    }

    /// Goes on with new keys (RFC 8446 §7.2).
    fn renew(&mut self) {
        *self = Self::of_secret(&expand(&self.secret, "traffic upd", 48));
    }

    /// With the keys of a secret of TLS 1.3 (RFC 8446 §7.3).
    fn of_secret(secret: &[u8]) -> Self {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &expand(secret, "key", 32)).unwrap());
        let iv = expand(secret, "iv", 12).try_into().unwrap();
        Self { key, iv, sequence: 0, version: TlsVersion::Tls13, secret: secret.to_vec() }
    }

    /// A record of this type with this content; behind it, in TLS 1.3, so many zeroes.
    fn record(&mut self, kind: u8, content: &[u8], zeroes: usize) -> Vec<u8> {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= sequence;
        }
        let length = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
        let mut text = content.to_vec();
        let (header, additional, explicit) = if self.version == TlsVersion::Tls13 {
            if kind != 0 {
                text.push(kind);
            }
            text.resize(text.len() + zeroes, 0);
            let header = [&[23, 3, 3][..], &length(text.len() + 16)].concat();
            (header.clone(), header, Vec::new())
        } else {
            let header = [&[kind, 3, 3][..], &length(text.len() + 24)].concat();
            let additional = [&self.sequence.to_be_bytes()[..], &[kind, 3, 3], &length(text.len())].concat();
            (header, additional, nonce[4..].to_vec())
        };
        self.sequence += 1;
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(nonce, Aad::from(additional), &mut text).unwrap();
        [header, explicit, text].concat()
    }
}

/// What a client's keys are made of, as it tells them.
#[derive(Debug, Default)]
struct Secrets(Mutex<Vec<(String, Vec<u8>)>>);

impl Secrets {
    fn of(&self, label: &str) -> Vec<u8> {
        let secrets = self.0.lock().unwrap();
        secrets.iter().find(|(name, _)| name == label).expect("the client has come so far").1.clone()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        self.0.lock().unwrap().push((label.to_owned(), secret.to_vec()));
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
    let information: [&[u8]; 4] = [&[0, lengths, labels], label.as_bytes(), &[0], &[]];
    let mut made = vec![0; length];
    let secret = Prk::new_less_safe(HKDF_SHA384, secret);
    secret.expand(&information, Length(length)).unwrap().fill(&mut made).unwrap();
    made
}

const DATA: u8 = 23;
const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;
const CHANGE_CIPHER: u8 = 20;

#[test]
fn what_is_unusual_and_allowed() {
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let (mut forger, mut server) = Forger::new(version);
        let largest = [7; LARGEST_RECORD];
        let padding = if version == TlsVersion::Tls13 { 200 } else { 0 };
        let user_canceled = [if version == TlsVersion::Tls13 { 2 } else { 1 }, 90];
        for (record, expected) in [
            (forger.record(DATA, b"padded", padding), &b"padded"[..]),
            (forger.record(DATA, b"", padding), b""),
            (forger.record(DATA, b"zeroes\0\0", padding), b"zeroes\0\0"),
            (forger.record(DATA, &largest, 0), &largest),
            (forger.record(ALERT, &user_canceled, 0), b""),
            (forger.record(DATA, b"still here", 0), b"still here"),
        ] {
            server.receive(&record, Delivery::ByteByByte).unwrap();
            assert!(server.plaintext == expected && server.sealed.is_empty(), "{version:?}");
            server.plaintext.clear();
        }
        server.receive(&forger.record(ALERT, &[1, 0], 0), Delivery::Whole).unwrap();
        assert!(server.session.is_closed_by_peer());
    }
}

#[test]
fn what_is_not_allowed() {
    let too_large = [7; LARGEST_RECORD + 1];
    let cases: [(TlsVersion, u8, &[u8], usize, &str); 21] = [
        // No type, or one that has no place there.
        (TlsVersion::Tls13, 0, b"", 10, "unexpected_message"),
        (TlsVersion::Tls13, CHANGE_CIPHER, &[1], 0, "unexpected_message"),
        (TlsVersion::Tls13, 99, b"what", 0, "unexpected_message"),
        (TlsVersion::Tls12, CHANGE_CIPHER, &[1], 0, "unexpected_message"),
        (TlsVersion::Tls12, 24, &[1, 0, 9], 0, "unexpected_message"),
        (TlsVersion::Tls13, DATA, &too_large, 0, "record_overflow"),
        (TlsVersion::Tls12, DATA, &too_large, 0, "record_overflow"),
        // Alerts that are none.
        (TlsVersion::Tls13, ALERT, b"", 0, "decode_error"),
        (TlsVersion::Tls13, ALERT, &[2], 0, "decode_error"),
        (TlsVersion::Tls12, ALERT, &[1, 0, 1, 0], 0, "decode_error"),
        // New keys with something behind them, of another length, or with a wish that is none.
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 1, 0, 24, 0, 0, 1, 0], 0, "unexpected_message"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 1, 0, 24], 0, "unexpected_message"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 1, 2], 0, "illegal_parameter"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 0], 0, "decode_error"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 2, 0], 0, "decode_error"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 1, 0, 1, 0], 0, "decode_error"),
        (TlsVersion::Tls13, HANDSHAKE, b"", 0, "unexpected_message"),
        // Handshakes that belong to the beginning, or to the other version.
        (TlsVersion::Tls13, HANDSHAKE, &[1, 0, 0, 0], 0, "unexpected_message"),
        (TlsVersion::Tls13, HANDSHAKE, &[4, 0, 0, 1, 0], 0, "unexpected_message"),
        (TlsVersion::Tls12, HANDSHAKE, &[24, 0, 0, 1, 0], 0, "unexpected_message"),
        (TlsVersion::Tls12, HANDSHAKE, &[20, 0, 0, 0], 0, "unexpected_message"),
    ];
    for (version, kind, content, zeroes, alert) in cases {
        let (mut forger, mut server) = Forger::new(version);
        let error = server.receive(&forger.record(kind, content, zeroes), Delivery::Whole).unwrap_err();
        let context = format!("{version:?} {kind} {:?}", &content[..content.len().min(10)]);
        assert_eq!(error.to_string(), format!("the peer broke TLS (alert {alert})"), "{context}");
        // One alert, and nothing else.
        assert!(server.plaintext.is_empty() && (24..=31).contains(&server.sealed.len()), "{context}");
        assert!(!server.session.is_established());
    }
}

#[test]
fn alerts_end_the_session() {
    for (version, alert, expected) in [
        (TlsVersion::Tls13, [2, 80], "the peer ended TLS (alert internal_error)"),
        (TlsVersion::Tls13, [1, 80], "the peer ended TLS (alert internal_error)"),
        (TlsVersion::Tls12, [2, 42], "the peer does not accept the certificate (alert bad_certificate)"),
    ] {
        let (mut forger, mut server) = Forger::new(version);
        let error = server.receive(&forger.record(ALERT, &alert, 0), Delivery::Whole).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(server.sealed.is_empty(), "whoever has gone is not answered");
        assert!(!server.session.is_closed_by_peer());
    }
}

#[test]
fn warnings_and_other_handshakes_are_borne_for_a_while() {
    let (mut forger, mut server) = Forger::new(TlsVersion::Tls12);
    let hello = [1, 0, 0, 2, 3, 3];
    server.receive(&forger.record(HANDSHAKE, &hello, 0), Delivery::Whole).unwrap();
    assert_eq!(server.sealed.len(), 5 + 8 + 2 + 16, "a warning that there is no other handshake");
    server.receive(&forger.record(DATA, b"well then", 0), Delivery::Whole).unwrap();
    assert_eq!(server.plaintext, "well then");
    assert!(server.receive(&forger.record(HANDSHAKE, &hello, 0), Delivery::Whole).is_err());

    let (mut forger, mut server) = Forger::new(TlsVersion::Tls12);
    let mut count = 0;
    let error = loop {
        match server.receive(&forger.record(ALERT, &[1, 100], 0), Delivery::Whole) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((count, matches!(error, TlsError::Broken(_))), (4, true));
}

/// RFC 8446 §5.1: a message may be divided among records, with nothing else between them.
#[test]
fn new_keys_in_parts() {
    for parts in [&[1, 4][..], &[2, 2, 1], &[4, 1], &[1; 5]] {
        let (mut forger, mut server) = Forger::established_13();
        let mut message = &[24, 0, 0, 1, 0][..];
        for length in parts {
            server.receive(&forger.record(HANDSHAKE, &message[..*length], 3), Delivery::Whole).unwrap();
            message = &message[*length..];
        }
        forger.renew();
        server.receive(&forger.record(DATA, b"with the new ones", 0), Delivery::Whole).unwrap();
        assert_eq!((&server.plaintext[..], server.sealed.len()), (&b"with the new ones"[..], 0), "{parts:?}");
    }
    for (kind, between) in [(DATA, &b"data"[..]), (ALERT, &[1, 0]), (HANDSHAKE, &[]), (HANDSHAKE, &[0, 0, 1, 0, 24])] {
        let (mut forger, mut server) = Forger::established_13();
        server.receive(&forger.record(HANDSHAKE, &[24], 0), Delivery::Whole).unwrap();
        let error = server.receive(&forger.record(kind, between, 0), Delivery::Whole).unwrap_err();
        assert_eq!(error.to_string(), "the peer broke TLS (alert unexpected_message)", "{kind}");
        assert!(server.plaintext.is_empty());
    }
}

/// Whoever wants new keys of us again and again, and reads nothing, must not make us keep an answer to each.
#[test]
fn wishes_for_new_keys_are_answered_once_before_the_next_data() {
    let (mut forger, mut server) = Forger::established_13();
    for _ in 0..1000 {
        server.receive(&forger.record(HANDSHAKE, &[24, 0, 0, 1, 1], 0), Delivery::Whole).unwrap();
        forger.renew();
        server.receive(&forger.record(DATA, b"x", 0), Delivery::Whole).unwrap();
    }
    assert_eq!((server.plaintext.len(), server.sealed.len()), (1000, 0));
    server.session.seal(b"", 100, &mut server.sealed).unwrap();
    assert_eq!(server.sealed.len(), 0, "nothing is sent");
    server.session.seal(b"data", 100, &mut server.sealed).unwrap();
    assert_eq!(server.sealed.len(), (5 + 5 + 1 + 16) + (5 + 4 + 1 + 16), "new keys, and data with them");
}

#[test]
fn a_flood_of_empty_records_ends() {
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let (mut forger, mut server) = Forger::new(version);
        let padding = if version == TlsVersion::Tls13 { 1000 } else { 0 };
        for _ in 0..3 {
            for _ in 0..32 {
                server.receive(&forger.record(DATA, b"", padding), Delivery::Whole).unwrap();
            }
            server.receive(&forger.record(DATA, b"x", padding), Delivery::Whole).unwrap();
        }
        let mut count = 0;
        let error = loop {
            match server.receive(&forger.record(DATA, b"", padding), Delivery::Whole) {
                Ok(()) => count += 1,
                Err(error) => break error,
            }
            assert!(count < 100, "{version:?}");
        };
        assert_eq!((count, error.to_string().as_str()), (32, "the peer broke TLS (alert unexpected_message)"));
    }
    // Nothing is no data: it does not make new keys welcome again.
    let (mut forger, mut server) = Forger::established_13();
    let mut count = 0;
    let outcome = loop {
        let key_update = forger.record(HANDSHAKE, &[24, 0, 0, 1, 0], 0);
        forger.renew();
        let nothing = forger.record(DATA, b"", 0);
        if let Err(error) = server.receive(&[key_update, nothing].concat(), Delivery::Whole) {
            break error;
        }
        count += 1;
        assert!(count < 100);
    };
    assert_eq!((count, outcome.fault()), (32, Fault::Peer));
}

/// A message of the handshake may come in parts, and the library wants to see them all again until it is whole. Whoever
/// makes the parts small and their records large must not make us keep that.
#[test]
fn a_message_of_the_handshake_in_small_parts_ends() {
    let (mut forger, mut server) = Forger::in_handshake();
    // A certificate of 60,000 bytes, one at a time.
    let mut part = &[11, 0, 0xea, 0x60][..];
    let mut most = 0;
    let error = loop {
        let record = forger.record(HANDSHAKE, part, 16_000);
        part = &[0];
        if let Err(error) = server.receive(&record, Delivery::Whole) {
            break error;
        }
        most = most.max(server.received.len());
        assert!(most < 1 << 20);
    };
    assert_eq!(error.fault(), Fault::Peer, "{error}");
    assert!(most > 64 << 10, "{error} after {most} bytes");
}
