//! Records that no honest client sends, made with the keys of an honest one.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::{ClientConnection, ConnectionTrafficSecrets};
use serow_net::tls::{LARGEST_RECORD, TlsError, TlsVersion};

use crate::ends::{Delivery, Server, Site, connect, exchange};

/// What a client could encrypt who keeps to no rules.
struct Forger {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    version: TlsVersion,
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
        (Self { key, iv: iv.as_ref().try_into().unwrap(), sequence, version }, server)
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
    let cases: [(TlsVersion, u8, &[u8], usize, &str); 19] = [
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
        // New keys with something behind them, in part, or with a wish that is none.
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 1, 0, 24, 0, 0, 1, 0], 0, "unexpected_message"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0], 0, "unexpected_message"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 1, 2], 0, "illegal_parameter"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 2, 0], 0, "unexpected_message"),
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
