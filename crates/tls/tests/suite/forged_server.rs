//! Records and messages that no honest server sends, and rare ones that it may send.

use rustls::crypto::aws_lc_rs;
use serow_tls::{Fault, MAX_RECORD_PLAINTEXT, TlsError, TlsVersion};

use crate::{
    ends::{Delivery, Ours, Site, VERSIONS},
    forger::{ALERT, CHANGE_CIPHER, DATA, Forger, HANDSHAKE, secrets_of},
    theirs::{self, Theirs},
};

/// A ticket of TLS 1.3 (RFC 8446 §4.6.1) of this length, with its head.
fn ticket(length: usize) -> Vec<u8> {
    let rest = length - 4 - 4 - 2 - 2 - 2;
    let lengths = [u32::try_from(length).unwrap(), u32::try_from(rest).unwrap()].map(u32::to_be_bytes);
    let mut message = vec![NEW_TICKET];
    message.extend_from_slice(&lengths[0][1..]);
    // An hour; what is added to its age; a nonce of one byte.
    message.extend_from_slice(&[0, 0, 14, 16, 1, 2, 3, 4, 1, 0]);
    message.extend_from_slice(&lengths[1][2..]);
    message.resize(message.len() + rest, 7);
    message.extend_from_slice(&[0, 0]);
    assert_eq!(message.len(), 4 + length);
    message
}

/// RFC 8446 §4
const NEW_TICKET: u8 = 4;

/// The way in which a server sends its tickets is its own: each in its record, all in one, in parts, with new keys
/// behind.
#[test]
fn fragmented_tickets_resume_a_session() {
    let issued_for = ["example.com"];
    for parts in [&[usize::MAX][..], &[1], &[3], &[4], &[5, 1, 100], &[50]] {
        let site = Site::new();
        let mut config = theirs::config(&site.authority.issue(&issued_for), aws_lc_rs::default_provider());
        let secrets = secrets_of(&mut config);
        let config = std::sync::Arc::new(config);
        let connector = site.connector(TlsVersion::Tls13);
        let (mut client, mut server) =
            (Ours::connect(&connector, "example.com"), Theirs::new(std::sync::Arc::clone(&config)));
        // Up to its tickets, which are put into other records.
        server.take(&std::mem::take(&mut client.sealed));
        client.receive(&server.flight(), Delivery::Whole).unwrap();
        server.take(&std::mem::take(&mut client.sealed));
        let secret = secrets.of("SERVER_TRAFFIC_SECRET_0");
        let (mut opener, mut forger) = (Forger::of_secret(&secret), Forger::of_secret(&secret));
        let flight = server.flight();
        let mut messages = Vec::new();
        let mut rest = &flight[..];
        while let [_, _, _, high, low, ..] = rest {
            let (record, behind) = rest.split_at(5 + usize::from(u16::from_be_bytes([*high, *low])));
            messages.extend(opener.open(record));
            rest = behind;
        }
        messages.extend([24, 0, 0, 1, 0]);
        let mut rest = &messages[..];
        for length in parts.iter().cycle() {
            let (part, behind) = rest.split_at((*length).min(rest.len()));
            client.receive(&forger.record(HANDSHAKE, part, 5), Delivery::Whole).unwrap();
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        forger.renew();
        client.receive(&forger.record(DATA, b"with new keys", 0), Delivery::Whole).unwrap();
        assert_eq!((&client.plaintext[..], client.received.len()), (&b"with new keys"[..], 0), "{parts:?}");

        // rustls sends two.
        for expected in [true, true, false] {
            let mut config = rustls::ServerConfig::clone(&config);
            config.send_tls13_tickets = 0;
            let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Theirs::new(config));
            server.converse(&mut client, Delivery::Whole).unwrap();
            assert_eq!(client.session.description().unwrap().is_resumed(), expected, "{parts:?}");
        }
    }
}

#[test]
fn tickets_that_are_too_long_end_the_session() {
    // In size: what a server may have us keep of one.
    let (mut forger, mut client) = Forger::of_server(TlsVersion::Tls13);
    let largest = ticket(MAX_RECORD_PLAINTEXT);
    for part in largest.chunks(MAX_RECORD_PLAINTEXT - 1) {
        client.receive(&forger.record(HANDSHAKE, part, 0), Delivery::Whole).unwrap();
    }
    client.receive(&forger.record(DATA, b"data", 0), Delivery::Whole).unwrap();
    assert_eq!(client.plaintext, "data");
    let error = client.receive(&forger.record(HANDSHAKE, &[NEW_TICKET, 0, 64, 1], 0), Delivery::Whole).unwrap_err();
    assert_eq!(error.to_string(), "the peer violated the TLS protocol (alert decode_error)");

    // In number: what comes without data between.
    for together in [1, 8] {
        let (mut forger, mut client) = Forger::of_server(TlsVersion::Tls13);
        let tickets = ticket(100).repeat(together);
        for _ in 0..3 {
            for _ in 0..32 / together {
                client.receive(&forger.record(HANDSHAKE, &tickets, 0), Delivery::Whole).unwrap();
            }
            client.receive(&forger.record(DATA, b"x", 0), Delivery::Whole).unwrap();
        }
        for _ in 0..32 / together {
            client.receive(&forger.record(HANDSHAKE, &tickets, 0), Delivery::Whole).unwrap();
        }
        let error = client.receive(&forger.record(HANDSHAKE, &tickets, 0), Delivery::Whole).unwrap_err();
        assert_eq!(error.to_string(), "the peer violated the TLS protocol (alert unexpected_message)", "{together}");
    }
}

#[test]
fn invalid_records_end_the_session_with_an_alert() {
    let too_large = [7; MAX_RECORD_PLAINTEXT + 1];
    let whole = ticket(60);
    let with = |position: usize, value: u8| {
        let mut ticket = ticket(60);
        ticket[position] = value;
        ticket
    };
    // The length of the ticket in it too long and too short, and that of the nonce; then something behind new keys.
    let broken = [with(15, 100), with(15, 4), with(12, 200)];
    let behind_keys = [&[24, 0, 0, 1, 0][..], &whole].concat();
    let cases: [(TlsVersion, u8, &[u8], usize, &str); 22] = [
        (TlsVersion::Tls13, 0, b"", 10, "unexpected_message"),
        (TlsVersion::Tls13, CHANGE_CIPHER, &[1], 0, "unexpected_message"),
        (TlsVersion::Tls12, CHANGE_CIPHER, &[1], 0, "unexpected_message"),
        (TlsVersion::Tls13, 99, b"what", 0, "unexpected_message"),
        (TlsVersion::Tls13, DATA, &too_large, 0, "record_overflow"),
        (TlsVersion::Tls12, DATA, &too_large, 0, "record_overflow"),
        (TlsVersion::Tls13, ALERT, &[2], 0, "decode_error"),
        (TlsVersion::Tls12, ALERT, &[1, 0, 1, 0], 0, "decode_error"),
        // Tickets that are none, of no length, and of the other version.
        (TlsVersion::Tls13, HANDSHAKE, &broken[0], 0, "decode_error"),
        (TlsVersion::Tls13, HANDSHAKE, &broken[1], 0, "decode_error"),
        (TlsVersion::Tls13, HANDSHAKE, &broken[2], 0, "decode_error"),
        (TlsVersion::Tls13, HANDSHAKE, &[NEW_TICKET, 0, 0, 0], 0, "decode_error"),
        (TlsVersion::Tls12, HANDSHAKE, &whole, 0, "unexpected_message"),
        // New keys with something behind them, or with a wish that is none.
        (TlsVersion::Tls13, HANDSHAKE, &behind_keys, 0, "unexpected_message"),
        (TlsVersion::Tls13, HANDSHAKE, &[24, 0, 0, 1, 2], 0, "illegal_parameter"),
        (TlsVersion::Tls13, HANDSHAKE, b"", 0, "unexpected_message"),
        // A question for a certificate that the client has not offered to show later (RFC 8446 §4.6.2).
        (TlsVersion::Tls13, HANDSHAKE, &[13, 0, 0, 3, 0, 0, 0], 0, "unexpected_message"),
        // Messages that only clients send, that belong to the handshake, or that belong to the other version.
        (TlsVersion::Tls13, HANDSHAKE, &[1, 0, 0, 0], 0, "unexpected_message"),
        (TlsVersion::Tls12, HANDSHAKE, &[1, 0, 0, 0], 0, "unexpected_message"),
        (TlsVersion::Tls13, HANDSHAKE, &[0, 0, 0, 0], 0, "unexpected_message"),
        (TlsVersion::Tls12, HANDSHAKE, &[20, 0, 0, 0], 0, "unexpected_message"),
        (TlsVersion::Tls12, HANDSHAKE, &[24, 0, 0, 1, 0], 0, "unexpected_message"),
    ];
    for (version, kind, content, zeroes, alert) in cases {
        let (mut forger, mut client) = Forger::of_server(version);
        let error = client.receive(&forger.record(kind, content, zeroes), Delivery::Whole).unwrap_err();
        let context = format!("{version:?} {kind} {:?}", &content[..content.len().min(10)]);
        assert_eq!(error.to_string(), format!("the peer violated the TLS protocol (alert {alert})"), "{context}");
        // One alert, and nothing else.
        assert!(client.plaintext.is_empty() && (24..=31).contains(&client.sealed.len()), "{context}");
        assert!(!client.session.is_established());
    }
}

#[test]
fn a_record_between_fragments_of_a_ticket_ends_the_session() {
    for (kind, between) in [(DATA, &b"data"[..]), (ALERT, &[1, 0]), (HANDSHAKE, &[])] {
        let (mut forger, mut client) = Forger::of_server(TlsVersion::Tls13);
        client.receive(&forger.record(HANDSHAKE, &ticket(60)[..40], 0), Delivery::Whole).unwrap();
        let error = client.receive(&forger.record(kind, between, 0), Delivery::Whole).unwrap_err();
        assert_eq!(error.to_string(), "the peer violated the TLS protocol (alert unexpected_message)", "{kind}");
        assert!(client.plaintext.is_empty());
    }
}

/// RFC 5246 §7.4.1.1: a server may ask for another handshake, and is refused.
#[test]
fn renegotiation_is_refused_once() {
    let (mut forger, mut client) = Forger::of_server(TlsVersion::Tls12);
    let request = [0; 4];
    client.receive(&forger.record(HANDSHAKE, &request, 0), Delivery::ByteByByte).unwrap();
    assert_eq!(client.sealed.len(), 5 + 8 + 2 + 16, "a warning that there is no other handshake");
    client.receive(&forger.record(DATA, b"well then", 0), Delivery::Whole).unwrap();
    assert_eq!(client.plaintext, "well then");
    assert!(client.receive(&forger.record(HANDSHAKE, &request, 0), Delivery::Whole).is_err());
}

#[test]
fn reordered_repeated_and_missing_records_end_the_session() {
    for version in VERSIONS {
        for order in [&[1][..], &[0, 0], &[1, 0], &[0, 2]] {
            let (mut forger, mut client) = Forger::of_server(version);
            let records = [0; 3].map(|_| forger.record(DATA, b"same", 0));
            let outcome = order.iter().try_for_each(|number| client.receive(&records[*number], Delivery::Whole));
            assert_eq!(
                outcome,
                Err(TlsError::Violation(rustls::AlertDescription::BadRecordMac)),
                "{version:?} {order:?}"
            );
        }
    }
}

/// As a server's floods end for clients, so do these for servers' clients.
#[test]
fn floods_of_messages_end_the_session() {
    let (mut forger, mut client) = Forger::of_server(TlsVersion::Tls13);
    let mut count = 0;
    let error = loop {
        let record = forger.record(HANDSHAKE, &[24, 0, 0, 1, 1], 0);
        forger.renew();
        match client.receive(&record, Delivery::Whole) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
        assert!(count < 100);
    };
    assert_eq!((count, error.fault()), (32, Fault::Peer));

    let (mut forger, mut client) = Forger::of_server_in_handshake();
    // A certificate of 60,000 bytes, one at a time.
    let mut part = &[11, 0, 0xea, 0x60][..];
    let mut most = 0;
    let error = loop {
        let record = forger.record(HANDSHAKE, part, 16_000);
        part = &[0];
        if let Err(error) = client.receive(&record, Delivery::Whole) {
            break error;
        }
        most = most.max(client.received.len());
        assert!(most < 1 << 20);
    };
    assert_eq!(error.fault(), Fault::Peer, "{error}");
    assert!(most > 64 << 10, "{error} after {most} bytes");
}
