//! Peers that break the protocol, and connections that are cut.

use serow_tls::{Fault, TlsError, TlsSession, TlsVersion};

use crate::ends::{Delivery, Server, Site, VERSIONS, established, exchange};

#[test]
fn other_protocols_are_refused_at_the_first_bytes() {
    let acceptor = Site::new().acceptor();
    let cases: [(&[u8], &str); 6] = [
        (b"GET / HTTP/1.1\r\n", "the peer speaks HTTP, not TLS"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "the peer speaks HTTP, not TLS"),
        (b"SSH-2.0-OpenSSH\r\n", "the peer speaks HTTP, not TLS"),
        (b"\0\0\0\0", "the peer does not speak TLS"),
        // SSL 2, and data before a handshake.
        (&[0x80, 0x2e, 1, 0, 2], "the peer does not speak TLS"),
        (&[23, 3, 3, 0, 1, 0], "the peer does not speak TLS"),
    ];
    for (bytes, line) in cases {
        for delivery in [Delivery::Whole, Delivery::ByteByByte] {
            let mut server = Server::new(&acceptor);
            let error = server.receive(bytes, delivery).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.fault()), (line, Fault::Peer));
            assert!(server.sealed.is_empty() && !server.session.is_established());
            assert!(server.receive(bytes, delivery).is_err());
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_ends_the_session() {
    let site = Site::new();
    for version in VERSIONS {
        // Until the handshake is complete, and after.
        for rounds in 0..3 {
            let mut position = 0;
            loop {
                let (mut client, mut server) = (site.client(version, "example.com"), Server::new(&site.acceptor()));
                for _ in 0..rounds {
                    let bytes = client.flight();
                    server.receive(&bytes, Delivery::Whole).unwrap();
                    client.take(&std::mem::take(&mut server.sealed));
                }
                let was_established = server.session.is_established();
                if !client.is_handshaking() {
                    client.write(b"GET /");
                }
                let mut bytes = client.flight();
                let Some(byte) = bytes.get_mut(position) else { break };
                *byte ^= 0x10;
                let outcome = server.receive(&bytes, Delivery::Whole);
                // In the middle of a handshake's message some bits mean nothing (random, session ids); then the peer's
                // proof of what was said does not fit.
                client.take(&std::mem::take(&mut server.sealed));
                let rest = client.flight();
                let outcome = outcome.and_then(|()| server.receive(&rest, Delivery::Whole));
                let context = format!("{version:?} {rounds} {position} {outcome:?}");
                if was_established {
                    // The length: more is waited for, or less is taken.
                    let waits = matches!(position % 27, 3 | 4) && outcome.is_ok();
                    assert!(outcome.is_err_and(|error| error.fault() == Fault::Peer) || waits, "{context}");
                    assert!(server.plaintext.is_empty(), "{context}");
                } else {
                    // Versions of records mean nothing in a handshake (RFC 8446 §5.1).
                    let is_version = bytes.len() > position && matches!(position, 1 | 2);
                    let complete = server.session.is_established();
                    assert!(!complete || is_version || version == TlsVersion::Tls13 && rounds == 1, "{context}");
                }
                position += if was_established { 1 } else { 7 };
            }
            assert!(position > 20);
        }
    }
}

#[test]
fn reordered_repeated_and_missing_records_end_the_session() {
    let site = Site::new();
    for version in VERSIONS {
        for order in [&[1][..], &[0, 0], &[1, 0], &[0, 2]] {
            let (mut client, mut server) = established(&site, version);
            let records: Vec<Vec<u8>> = (0..3)
                .map(|_| {
                    client.write(b"same");
                    client.flight()
                })
                .collect();
            let outcome = order.iter().try_for_each(|number| server.receive(&records[*number], Delivery::Whole));
            let error = outcome.unwrap_err();
            assert_eq!(
                error.to_string(),
                "the peer violated the TLS protocol (alert bad_record_mac)",
                "{version:?} {order:?}"
            );
            // The client receives an alert.
            client.take(&server.sealed);
            assert!(client.process_new_packets().unwrap_err().to_string().contains("BadRecordMac"));
        }
    }
}

#[test]
fn truncation_is_not_a_close_notify() {
    let site = Site::new();
    for version in VERSIONS {
        let (mut client, mut server) = established(&site, version);
        client.write(b"the beginning");
        let bytes = client.flight();
        server.receive(&bytes[..bytes.len() - 1], Delivery::Whole).unwrap();
        assert!(!server.session.is_closed_by_peer() && server.plaintext.is_empty());
        server.receive(&bytes[bytes.len() - 1..], Delivery::Whole).unwrap();
        assert_eq!(server.plaintext, "the beginning");
        assert_eq!((server.closed, server.session.is_closed_by_peer()), (0, false));
        client.send_close_notify();
        let bytes = client.flight();
        server.receive(&bytes, Delivery::ByteByByte).unwrap();
        assert_eq!((server.closed, server.session.is_closed_by_peer()), (1, true));
        // Later bytes are discarded, and the server may still send.
        server.receive(b"anything", Delivery::Whole).unwrap();
        assert_eq!((server.closed, server.received.len(), &server.plaintext[..]), (1, 0, &b"the beginning"[..]));
        server.session.seal(b"the answer", 100, &mut server.sealed).unwrap();
        client.take(&server.sealed);
        assert_eq!(client.text(), b"the answer");
    }
}

#[test]
fn invalid_record_headers_end_the_session() {
    let site = Site::new();
    for (version, header, alert) in [
        // Data without encryption, or what looks like it.
        (TlsVersion::Tls13, [22, 3, 3, 0, 20], "unexpected_message"),
        (TlsVersion::Tls13, [21, 3, 3, 0, 2], "unexpected_message"),
        (TlsVersion::Tls13, [20, 3, 3, 0, 1], "unexpected_message"),
        (TlsVersion::Tls12, [23, 3, 4, 0, 30], "protocol_version"),
        (TlsVersion::Tls12, [23, 3, 3, 0xff, 0xff], "record_overflow"),
        (TlsVersion::Tls13, [23, 3, 3, 0x41, 1], "record_overflow"),
        (TlsVersion::Tls13, [23, 3, 3, 0, 0], "bad_record_mac"),
        (TlsVersion::Tls13, [23, 3, 3, 0, 3], "bad_record_mac"),
        (TlsVersion::Tls12, [23, 3, 3, 0, 3], "bad_record_mac"),
    ] {
        let (mut client, mut server) = established(&site, version);
        let bytes = [&header[..], &[0; 40]].concat();
        let error = server.receive(&bytes, Delivery::ByteByByte).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the peer violated the TLS protocol (alert {alert})"),
            "{version:?} {header:?}"
        );
        client.take(&server.sealed);
        assert!(client.process_new_packets().is_err());
        assert_eq!(server.session.seal(b"more", 100, &mut server.sealed), Err(TlsError::NotEstablished));
    }
}

#[test]
fn a_handshake_record_that_is_too_long_ends_the_session() {
    let mut server = Server::new(&Site::new().acceptor());
    assert!(server.receive(&[22, 3, 1, 0xff, 0xff], Delivery::Whole).is_err());
    assert!(!server.sealed.is_empty(), "an alert");
}

#[test]
fn a_flood_of_key_updates_ends_the_session() {
    let site = Site::new();
    let (mut client, mut server) = established(&site, TlsVersion::Tls13);
    let mut count = 0;
    let error = loop {
        client.refresh_traffic_keys().unwrap();
        // Without data in between.
        match exchange(&mut client, &mut server, Delivery::Whole) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
        assert!(count < 100);
    };
    assert_eq!((count, error.fault()), (32, Fault::Peer));
}

#[test]
fn sealing_before_the_handshake_is_an_error() {
    let mut session = TlsSession::accept(&Site::new().acceptor()).unwrap();
    let mut sealed = Vec::new();
    assert_eq!(session.seal(b"early", 100, &mut sealed), Err(TlsError::NotEstablished));
    session.close(&mut sealed);
    assert!(sealed.is_empty() && session.protocol().is_none() && session.description().is_none());
}
