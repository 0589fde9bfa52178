//! Records that no honest client sends, made with the keys of an honest one.

use serow_tls::{Fault, MAX_RECORD_PLAINTEXT, TlsError, TlsVersion};

use crate::{
    ends::Delivery,
    forger::{ALERT, CHANGE_CIPHER, DATA, Forger, HANDSHAKE},
};

#[test]
fn unusual_and_valid_records_are_accepted() {
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let (mut forger, mut server) = Forger::new(version);
        let largest = [7; MAX_RECORD_PLAINTEXT];
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
fn invalid_records_end_the_session_with_an_alert() {
    let too_large = [7; MAX_RECORD_PLAINTEXT + 1];
    let cases: [(TlsVersion, u8, &[u8], usize, &str); 22] = [
        // No type, or one that has no place there.
        (TlsVersion::Tls13, 0, b"", 10, "unexpected_message"),
        (TlsVersion::Tls13, CHANGE_CIPHER, &[1], 0, "unexpected_message"),
        (TlsVersion::Tls13, 99, b"what", 0, "unexpected_message"),
        (TlsVersion::Tls12, CHANGE_CIPHER, &[1], 0, "unexpected_message"),
        (TlsVersion::Tls12, 24, &[1, 0, 9], 0, "unexpected_message"),
        (TlsVersion::Tls13, DATA, &too_large, 0, "record_overflow"),
        (TlsVersion::Tls12, DATA, &too_large, 0, "record_overflow"),
        // Alerts that are none.
        (TlsVersion::Tls13, ALERT, b"", 0, "unexpected_message"),
        (TlsVersion::Tls13, ALERT, b"", 10, "unexpected_message"),
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
        assert_eq!(error.to_string(), format!("the peer violated the TLS protocol (alert {alert})"), "{context}");
        // One alert, and nothing else.
        assert!(server.plaintext.is_empty() && (24..=31).contains(&server.sealed.len()), "{context}");
        assert!(!server.session.is_established());
    }
}

#[test]
fn alerts_end_the_session() {
    for (version, alert, expected) in [
        (TlsVersion::Tls13, [2, 80], "the peer ended the TLS session (alert internal_error)"),
        (TlsVersion::Tls13, [1, 80], "the peer ended the TLS session (alert internal_error)"),
        (TlsVersion::Tls12, [2, 42], "the peer does not accept the certificate (alert bad_certificate)"),
    ] {
        let (mut forger, mut server) = Forger::new(version);
        let error = server.receive(&forger.record(ALERT, &alert, 0), Delivery::Whole).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(server.sealed.is_empty(), "a peer that ended the session gets no answer");
        assert!(!server.session.is_closed_by_peer());
    }
}

#[test]
fn warnings_and_renegotiations_are_tolerated_up_to_a_limit() {
    let (mut forger, mut server) = Forger::new(TlsVersion::Tls12);
    let hello = [1, 0, 0, 2, 3, 3];
    server.receive(&forger.record(HANDSHAKE, &hello, 0), Delivery::Whole).unwrap();
    assert_eq!(server.sealed.len(), 5 + 8 + 2 + 16, "a no_renegotiation warning");
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
    assert_eq!((count, matches!(error, TlsError::Violation(_))), (4, true));
}

/// RFC 8446 §5.1: a message may be divided among records, with nothing else between them.
#[test]
fn a_fragmented_key_update_is_accepted() {
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
        assert_eq!(error.to_string(), "the peer violated the TLS protocol (alert unexpected_message)", "{kind}");
        assert!(server.plaintext.is_empty());
    }
}

/// A peer that requests key updates repeatedly, and reads nothing, must not make us keep an answer to each.
#[test]
fn key_update_requests_are_answered_once_before_the_next_data() {
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
fn a_flood_of_empty_records_ends_the_session() {
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
        assert_eq!(
            (count, error.to_string().as_str()),
            (32, "the peer violated the TLS protocol (alert unexpected_message)")
        );
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

/// A handshake message may come in fragments, which the library needs again until it is complete. A peer that sends tiny
/// fragments in large records must not make us keep those.
#[test]
fn a_handshake_message_in_tiny_fragments_ends_the_session() {
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
