//! Handshakes and data of our client with our server, in every way in which bytes may arrive.

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use serow_tls::{
    CertificateFiles, ClientCertificates, Fault, MAX_RECORD_PLAINTEXT, Protocol, Resumption, TlsClientSettings,
    TlsConnector, TlsError, TlsSession, TlsVersion, TlsVersions,
};

use crate::{
    authority::file,
    ends::{Delivery, Ours, Server, Site, VERSIONS, converse, only},
    mutations::records,
    theirs::{self, Theirs},
};

/// Data that tells its place.
fn data(length: usize) -> Vec<u8> {
    (0..length).map(|position| u8::try_from(position % 251).unwrap()).collect()
}

/// A conversation: the request follows the handshake, the answer comes in records of any size, both say goodbye.
#[test]
fn flights_are_accepted_whole_and_byte_by_byte() {
    let site = Site::new();
    for version in VERSIONS {
        for delivery in [Delivery::Whole, Delivery::ByteByByte] {
            for length in [1, 200, MAX_RECORD_PLAINTEXT, MAX_RECORD_PLAINTEXT + 1, 40_000] {
                let connector = site.connector(version);
                let (mut client, mut server) =
                    (Ours::connect(&connector, "Example.com"), Server::new(&site.acceptor()));
                assert!(!client.session.is_established() && client.session.description().is_none());
                converse(&mut client, &mut server, delivery).unwrap();
                let description = client.session.description().unwrap();
                assert_eq!(description, server.session.description().unwrap());
                assert_eq!((description.version(), description.server_name()), (version, Some("example.com")));
                assert!(!description.is_resumed() && description.client_certificate().is_none());
                assert_eq!((client.established, client.closed, client.received.len()), (1, 0, 0));

                client.session.seal(&data(length), 1000, &mut client.sealed).unwrap();
                converse(&mut client, &mut server, delivery).unwrap();
                server.session.seal(&data(length), MAX_RECORD_PLAINTEXT, &mut server.sealed).unwrap();
                server.session.close(&mut server.sealed);
                client.session.close(&mut client.sealed);
                converse(&mut client, &mut server, delivery).unwrap();
                for end in [&mut client, &mut server] {
                    assert!(end.plaintext == data(length), "{version:?} {delivery:?} {length}");
                    assert_eq!((end.established, end.closed, end.received.len()), (1, 1, 0));
                    assert!(end.session.is_closed_by_peer());
                    assert!(end.session.seal(b"late", 100, &mut end.sealed).is_err());
                }
            }
        }
    }
}

/// A server may send before it has received the client's last flight (RFC 8446 §4.4.4); that comes behind its own.
#[test]
fn data_right_after_the_handshake_is_not_lost() {
    let site = Site::new();
    for version in VERSIONS {
        let connector = site.connector(version);
        let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&site.acceptor()));
        while !server.session.is_established() {
            let flight = std::mem::take(&mut client.sealed);
            server.receive(&flight, Delivery::Whole).unwrap();
            if server.session.is_established() {
                server.session.seal(b"data", 100, &mut server.sealed).unwrap();
            }
            client.received.extend_from_slice(&std::mem::take(&mut server.sealed));
            client.session.shake_hands(&mut client.received, &mut client.sealed).unwrap();
        }
        assert!(client.session.is_established() && !client.received.is_empty() && client.plaintext.is_empty());
        // Once more changes nothing.
        assert_eq!(client.session.shake_hands(&mut client.received, &mut client.sealed), Ok(true));
        client.session.receive(&mut client.received, &mut client.plaintext, &mut client.sealed).unwrap();
        assert_eq!((&client.plaintext[..], client.received.len()), (&b"data"[..], 0), "{version:?}");
    }
}

#[test]
fn all_cipher_suites_and_key_updates_work() {
    let site = Site::new();
    let (curves, rsa) = (site.authority.issue(&["example.com"]), site.authority.issue_rsa(&["example.com"]));
    let connector = TlsConnector::new(site.client_settings()).unwrap();
    for suite in aws_lc_rs::ALL_CIPHER_SUITES {
        let name = suite.suite().as_str().unwrap();
        let provider = CryptoProvider { cipher_suites: vec![*suite], ..aws_lc_rs::default_provider() };
        let issued = if name.contains("_RSA_") { &rsa } else { &curves };
        let mut server = Theirs::new(theirs::config(issued, provider));
        let mut client = Ours::connect(&connector, "example.com");
        for round in 0..40 {
            server.write(&data(1000 + round));
            server.converse(&mut client, Delivery::ByteByByte).unwrap();
            assert!(client.plaintext == data(1000 + round), "{name}");
            client.plaintext.clear();
            // The answer is under new keys as well.
            if suite.tls13().is_some() {
                server.renew_keys();
                server.converse(&mut client, Delivery::Whole).unwrap();
            }
            client.session.seal(&data(500 + round), 100, &mut client.sealed).unwrap();
            server.converse(&mut client, Delivery::Whole).unwrap();
            assert!(server.text() == data(500 + round), "{name}");
        }
        assert_eq!(client.session.description().unwrap().cipher_suite(), name);
        assert_eq!(server.error(), None);
    }
}

/// Of the server's first flight, and of its data.
#[test]
fn a_flipped_bit_anywhere_ends_the_session() {
    let site = Site::new();
    let acceptor = site.acceptor();
    for version in VERSIONS {
        let connector = site.connector(version);
        for is_data in [false, true] {
            let mut position = 0;
            loop {
                let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&acceptor));
                if is_data {
                    converse(&mut client, &mut server, Delivery::Whole).unwrap();
                    server.session.seal(b"HTTP/1.1 200 OK", 100, &mut server.sealed).unwrap();
                } else {
                    server.receive(&std::mem::take(&mut client.sealed), Delivery::Whole).unwrap();
                }
                let mut bytes = std::mem::take(&mut server.sealed);
                // Versions of records that are not encrypted mean nothing (RFC 8446 §5.1).
                let means_nothing = records(&bytes).iter().any(|start| (start + 1..start + 3).contains(&position));
                let Some(byte) = bytes.get_mut(position) else { break };
                *byte ^= 0x10;
                let outcome = client.receive(&bytes, Delivery::Whole);
                let outcome = outcome.and_then(|()| converse(&mut client, &mut server, Delivery::Whole));
                let context = format!("{version:?} {is_data} {position} {outcome:?}");
                assert!(client.plaintext.is_empty(), "{context}");
                if let Err(error) = outcome {
                    assert!(!client.session.is_established() || !server.session.is_established(), "{context}");
                    assert_eq!(error.fault(), Fault::Peer, "{context}");
                } else {
                    // More is waited for where a length has grown.
                    assert!(!client.received.is_empty() || means_nothing && !is_data, "{context}");
                }
                position += if is_data { 1 } else { 3 };
            }
            assert!(position > 20);
        }
    }
}

#[test]
fn other_protocols_are_refused_at_the_first_bytes() {
    let connector = Site::new().connector(TlsVersion::Tls13);
    let cases: [(&[u8], &str); 6] = [
        (b"HTTP/1.1 400 Bad Request\r\n", "the peer speaks HTTP, not TLS: use http://, or its port for https"),
        (b"SSH-2.0-OpenSSH\r\n", "the peer does not speak TLS"),
        (b"220 example.com ESMTP\r\n", "the peer does not speak TLS"),
        // HTTP/2 without an agreement, and data before a handshake.
        (&[0, 0, 18, 4, 0, 0, 0, 0, 0], "the peer does not speak TLS"),
        (&[23, 3, 3, 0, 1, 0], "the peer does not speak TLS"),
        // A server may refuse at once.
        (&[21, 3, 1, 0, 2, 2, 40], "the peer ended the TLS session (alert handshake_failure)"),
    ];
    for (bytes, line) in cases {
        for delivery in [Delivery::Whole, Delivery::ByteByByte] {
            let mut client = Ours::connect(&connector, "example.com");
            client.sealed.clear();
            let error = client.receive(bytes, delivery).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.fault()), (line, Fault::Peer));
            assert!(client.sealed.is_empty() && !client.session.is_established());
            assert!(client.receive(bytes, delivery).is_err());
        }
    }
}

#[test]
fn alpn_negotiates_a_protocol_or_fails() {
    use Protocol::{Http1, Http2};
    let mut site = Site::new();
    // Offered, known to the server, and agreed upon; or refused.
    let cases = [
        (vec![Http1, Http2], vec![Http2, Http1], Ok(Some(Http2))),
        (vec![Http1], vec![Http2, Http1], Ok(Some(Http1))),
        (vec![Http2], vec![Http2], Ok(Some(Http2))),
        (vec![], vec![Http2], Ok(None)),
        (vec![Http2], vec![], Ok(None)),
        (
            vec![Http2],
            vec![Http1],
            Err("the peer supports none of the offered protocols (alert no_application_protocol)"),
        ),
    ];
    for version in VERSIONS {
        for (offered, known, expected) in &cases {
            site.settings.protocols.clone_from(known);
            let settings = site.client_settings();
            let settings = TlsClientSettings { versions: only(version), protocols: offered.clone(), ..settings };
            let connector = TlsConnector::new(settings).unwrap();
            let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&site.acceptor()));
            let outcome = converse(&mut client, &mut server, Delivery::Whole);
            let agreed = outcome.map(|()| client.session.protocol()).map_err(|error| error.to_string());
            assert_eq!(agreed, expected.map_err(str::to_owned), "{version:?} {offered:?} {known:?}");
            assert_eq!(client.session.protocol(), server.session.protocol());
        }
    }
}

#[test]
fn sessions_are_resumed_unless_resumption_is_off() {
    let site = Site::new();
    let acceptor = site.acceptor();
    for version in VERSIONS {
        for (resumption, expected) in
            [(Resumption::On, [false, true, true, true]), (Resumption::Off, [false, false, false, false])]
        {
            let settings = TlsClientSettings { versions: only(version), resumption, ..site.client_settings() };
            let connector = TlsConnector::new(settings).unwrap();
            let resumed = expected.map(|_| {
                let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&acceptor));
                converse(&mut client, &mut server, Delivery::ByteByByte).unwrap();
                client.session.seal(b"question", 100, &mut client.sealed).unwrap();
                server.session.seal(b"answer", 100, &mut server.sealed).unwrap();
                converse(&mut client, &mut server, Delivery::Whole).unwrap();
                assert_eq!((&client.plaintext[..], &server.plaintext[..]), (&b"answer"[..], &b"question"[..]));
                let description = client.session.description().unwrap();
                assert_eq!(description, server.session.description().unwrap());
                description.is_resumed()
            });
            assert_eq!(resumed, expected, "{version:?} {resumption:?}");
        }
    }
}

#[test]
fn a_client_presents_its_certificate_on_request() {
    let mut site = Site::new();
    let authorities = file(site.folder.path(), "authorities.pem", site.authority.pem());
    let issued = site.authority.issue(&["client"]);
    let files = issued.store(site.folder.path(), "client");
    site.settings.client_certificates = ClientCertificates::Required(authorities);
    for version in VERSIONS {
        for certificate in [Some(files.clone()), None] {
            let settings = TlsClientSettings { certificate, versions: only(version), ..site.client_settings() };
            let has_certificate = settings.certificate.is_some();
            let connector = TlsConnector::new(settings).unwrap();
            let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&site.acceptor()));
            let outcome = converse(&mut client, &mut server, Delivery::Whole);
            if has_certificate {
                outcome.unwrap();
                assert_eq!(server.session.description().unwrap().client_certificate(), Some(&issued.der[..]));
                assert_eq!(client.session.description().unwrap().client_certificate(), None);
            } else {
                let error = outcome.unwrap_err().to_string();
                assert_eq!(error, "the peer requires a certificate: configure one (alert certificate_required)");
            }
        }
    }
    let missing = CertificateFiles { key: site.folder.path().join("missing"), ..files };
    let settings = TlsClientSettings { certificate: Some(missing), ..site.client_settings() };
    let error = TlsConnector::new(settings).unwrap_err().to_string();
    assert!(error.ends_with("missing: there is no such file: name the one that holds it"), "{error}");
}

#[test]
fn versions_that_are_not_allowed_are_refused() {
    let mut site = Site::new();
    for allowed in VERSIONS {
        site.settings.versions = only(allowed);
        for version in VERSIONS {
            let (mut client, mut server) =
                (Ours::connect(&site.connector(version), "example.com"), Server::new(&site.acceptor()));
            let outcome = converse(&mut client, &mut server, Delivery::Whole);
            assert_eq!(outcome.is_ok(), version == allowed);
            if let Err(error) = outcome {
                let line = "the peer supports none of the offered TLS versions (alert protocol_version)";
                assert_eq!((error.to_string().as_str(), error.fault()), (line, Fault::Peer));
            }
        }
    }
    let versions = TlsVersions { lowest: TlsVersion::Tls13, highest: TlsVersion::Tls12 };
    let error = TlsConnector::new(TlsClientSettings { versions, ..site.client_settings() }).unwrap_err();
    assert_eq!(error.to_string(), "the lowest version of TLS is above the highest: swap them");
}

#[test]
fn server_names_are_dns_names_or_addresses() {
    let connector = Site::new().connector(TlsVersion::Tls13);
    for name in ["example.com", "localhost", "a_b.example", "127.0.0.1", "::1", "xn--bcher-kva.example"] {
        assert!(TlsSession::connect(&connector, name).is_ok(), "{name}");
    }
    for name in ["", "[::1]", "a b", "-.", "bücher.example", "example.com:443", "127.0.0.1:443"] {
        let Err(error) = TlsSession::connect(&connector, name) else { panic!("{name}") };
        assert_eq!((&error, error.fault()), (&TlsError::ServerName(name.to_owned()), Fault::Local));
        let line = format!("'{name}' is neither a host name nor an address: name a server");
        assert_eq!(error.to_string(), line);
    }
}
