//! Handshakes and data, in every way in which bytes may arrive.

use rustls::{CipherSuite, RootCertStore, crypto::aws_lc_rs};
use serow_tls::{
    Certificates, MAX_RECORD_PLAINTEXT, Protocol, RECORD_OVERHEAD, SelfSigned, TlsAcceptor, TlsSettings, TlsVersion,
};

use crate::ends::{Delivery, Server, Site, VERSIONS, client_config, client_config_of, connect, established, exchange};

/// Data that tells its place.
fn data(length: usize) -> Vec<u8> {
    (0..length).map(|position| u8::try_from(position % 251).unwrap()).collect()
}

/// A conversation: the client's request comes together with its last flight, the answer goes back, both say goodbye.
#[test]
fn flights_are_accepted_whole_and_byte_by_byte() {
    let site = Site::new();
    for version in VERSIONS {
        for delivery in [Delivery::Whole, Delivery::ByteByByte] {
            for length in [1, 200, MAX_RECORD_PLAINTEXT, MAX_RECORD_PLAINTEXT + 1, 40_000] {
                let (mut client, mut server) = (site.client(version, "example.com"), Server::new(&site.acceptor()));
                client.write(&data(length));
                exchange(&mut client, &mut server, delivery).unwrap();
                let description = server.session.description().unwrap();
                assert_eq!(description.version(), version);
                assert_eq!(description.server_name(), Some("example.com"));
                assert!(!description.is_resumed() && description.client_certificate().is_none());
                assert_eq!((server.established, server.closed), (1, 0));
                assert!(server.plaintext == data(length), "{version:?} {delivery:?} {length}");

                server.session.seal(&data(length), MAX_RECORD_PLAINTEXT, &mut server.sealed).unwrap();
                server.session.close(&mut server.sealed);
                server.session.close(&mut server.sealed);
                client.send_close_notify();
                exchange(&mut client, &mut server, delivery).unwrap();
                assert!(client.text() == data(length), "{version:?} {delivery:?} {length}");
                assert_eq!((server.established, server.closed), (1, 1));
                assert!(server.session.is_closed_by_peer() && server.received.is_empty());
                assert!(server.session.seal(b"late", 100, &mut server.sealed).is_err());
                assert!(client.process_new_packets().unwrap().peer_has_closed());
            }
        }
    }
}

#[test]
fn all_cipher_suites_work() {
    let site = Site::new();
    for suite in aws_lc_rs::ALL_CIPHER_SUITES {
        let provider = rustls::crypto::CryptoProvider { cipher_suites: vec![*suite], ..aws_lc_rs::default_provider() };
        let version = if suite.tls13().is_some() { TlsVersion::Tls13 } else { TlsVersion::Tls12 };
        // The certificate's key is of elliptic curves.
        if format!("{:?}", suite.suite()).contains("_RSA_") {
            continue;
        }
        let config = client_config_of(provider, site.authority.roots(), version).into();
        let (mut client, mut server) = (connect(&config, "example.com"), Server::new(&site.acceptor()));
        for round in 0..3 {
            client.write(&data(1000 + round));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            assert!(server.plaintext == data(1000 + round), "{suite:?}");
            server.plaintext.clear();
            server.session.seal(&data(500 + round), 100, &mut server.sealed).unwrap();
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            assert!(client.text() == data(500 + round), "{suite:?}");
        }
        let expected = match suite.suite() {
            CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS13_AES_128_GCM_SHA256",
            other => other.as_str().unwrap(),
        };
        assert_eq!(server.session.description().unwrap().cipher_suite(), expected);
    }
}

#[test]
fn records_have_the_requested_length() {
    let site = Site::new();
    for version in VERSIONS {
        let (mut client, mut server) = established(&site, version);
        for (record, length, expected) in
            [(1000, 2500, 3), (1000, 2000, 2), (usize::MAX, MAX_RECORD_PLAINTEXT + 1, 2), (0, 3, 3), (5, 0, 0)]
        {
            let mut sealed = Vec::new();
            server.session.seal(&data(length), record, &mut sealed).unwrap();
            let (mut rest, mut count) = (&sealed[..], 0);
            while let [_, 3, 3, high, low, behind @ ..] = rest {
                let body = usize::from(u16::from_be_bytes([*high, *low]));
                assert!(body <= record.clamp(1, MAX_RECORD_PLAINTEXT) + RECORD_OVERHEAD - 5);
                (rest, count) = (&behind[body..], count + 1);
            }
            assert_eq!((rest.len(), count), (0, expected), "{version:?} {record} {length}");
            client.take(&sealed);
            assert!(client.text() == data(length));
        }
    }
}

#[test]
fn alpn_negotiates_a_protocol() {
    let mut site = Site::new();
    let cases: [(&[&[u8]], Option<Protocol>); 4] = [
        (&[b"http/1.1", b"h2"], Some(Protocol::Http2)),
        (&[b"http/1.1"], Some(Protocol::Http1)),
        (&[b"foo", b"h2"], Some(Protocol::Http2)),
        (&[], None),
    ];
    for version in VERSIONS {
        for (offered, expected) in cases {
            let mut config = site.client_config(version);
            config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
            let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            assert_eq!(server.session.protocol(), expected);
        }
        site.settings.protocols = vec![Protocol::Http1];
        let mut config = site.client_config(version);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
        assert!(exchange(&mut client, &mut server, Delivery::Whole).is_err());
        assert!(client.process_new_packets().unwrap_err().to_string().contains("NoApplicationProtocol"));
        site.settings.protocols = vec![Protocol::Http2, Protocol::Http1];
    }
}

#[test]
fn keys_are_updated_in_both_directions() {
    let site = Site::new();
    let (mut client, mut server) = established(&site, TlsVersion::Tls13);
    for round in 0..50 {
        // The client changes its keys, and wants us to change ours.
        client.refresh_traffic_keys().unwrap();
        client.write(&data(100 + round));
        exchange(&mut client, &mut server, Delivery::ByteByByte).unwrap();
        assert!(server.plaintext == data(100 + round));
        server.plaintext.clear();
        server.session.seal(&data(round), 10, &mut server.sealed).unwrap();
        exchange(&mut client, &mut server, Delivery::Whole).unwrap();
        assert!(client.text() == data(round), "{round}");
    }
}

#[test]
fn the_self_signed_certificate_is_for_localhost() {
    let one = SelfSigned::new().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(one.certificate().to_vec().into()).unwrap();
    let settings = TlsSettings { certificates: Certificates::SelfSigned(one), ..TlsSettings::self_signed().unwrap() };
    let acceptor = TlsAcceptor::new(settings).unwrap();
    for (name, fits) in
        [("localhost", true), ("127.0.0.1", true), ("::1", true), ("example.com", false), ("127.0.0.2", false)]
    {
        let config = client_config(roots.clone(), TlsVersion::Tls13).into();
        let (mut client, mut server) = (connect(&config, name), Server::new(&acceptor));
        assert_eq!(exchange(&mut client, &mut server, Delivery::Whole).is_ok(), fits, "{name}");
    }
}
