//! Clients that show who they are, and clients that come again.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustls::HandshakeKind;
use serow_tls::{ClientCertificates, TlsVersion, TlsVersions};

use crate::{
    authority::{Authority, file},
    ends::{Delivery, Server, Site, VERSIONS, client_config, connect, exchange},
};

#[test]
fn client_certificates_are_off_optional_or_required() {
    let mut site = Site::new();
    let authorities = file(site.folder.path(), "authorities.pem", site.authority.pem());
    let stranger = Authority::new().issue(&["client"]);
    let known = site.authority.issue(&["client"]);
    for version in VERSIONS {
        for (certificate, optional, required) in
            [(Some(&known), true, true), (None, true, false), (Some(&stranger), false, false)]
        {
            for (setting, expected) in [
                (ClientCertificates::Optional(authorities.clone()), optional),
                (ClientCertificates::Required(authorities.clone()), required),
            ] {
                site.settings.client_certificates = setting;
                let mut config = site.client_config(version);
                if let Some(issued) = certificate {
                    let chain = vec![issued.der.clone()];
                    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&issued.key_der).unwrap();
                    let key = rustls::sign::CertifiedKey::new(chain, key);
                    config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key));
                }
                let (mut client, mut server) = (connect(&config.into(), "example.com"), Server::new(&site.acceptor()));
                client.write(b"hello");
                let outcome = exchange(&mut client, &mut server, Delivery::Whole);
                assert_eq!(outcome.is_ok(), expected, "{version:?} {outcome:?}");
                if expected {
                    let description = server.session.description().unwrap();
                    assert_eq!(description.client_certificate(), certificate.map(|issued| &issued.der[..]));
                } else {
                    assert!(server.plaintext.is_empty() && client.process_new_packets().is_err());
                }
            }
        }
    }
}

/// A session that goes on is one of a client whose certificate was checked when it began.
#[test]
fn a_resumed_session_keeps_the_client_certificate() {
    let mut site = Site::new();
    let authorities = file(site.folder.path(), "authorities.pem", site.authority.pem());
    let known = site.authority.issue(&["client"]);
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&known.key_der).unwrap();
    let key = rustls::sign::CertifiedKey::new(vec![known.der.clone()], key);
    for version in VERSIONS {
        site.settings.client_certificates = ClientCertificates::Optional(authorities.clone());
        let optional = site.acceptor();
        site.settings.client_certificates = ClientCertificates::Required(authorities.clone());
        let required = site.acceptor();
        let mut config = site.client_config(version);
        // Without a certificate: what is enough for the one acceptor is not for the other.
        let without = Arc::new(config.clone());
        for (acceptor, expected) in [(&optional, Some(false)), (&optional, Some(true)), (&required, None)] {
            let (mut client, mut server) = (connect(&without, "example.com"), Server::new(acceptor));
            let outcome = exchange(&mut client, &mut server, Delivery::Whole);
            assert_eq!(
                outcome.ok().and(server.session.description()).map(|it| it.is_resumed()),
                expected,
                "{version:?}"
            );
        }
        config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key.clone()));
        let with = Arc::new(config);
        for resumed in [false, true] {
            let (mut client, mut server) = (connect(&with, "example.com"), Server::new(&required));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            let description = server.session.description().unwrap();
            assert_eq!(description.is_resumed(), resumed, "{version:?}");
            assert_eq!(description.client_certificate(), Some(&known.der[..]));
        }
    }
}

/// A ticket outlives the handshake in which the certificate was checked.
#[test]
fn a_session_is_not_resumed_with_a_certificate_that_has_expired() {
    let mut site = Site::new();
    let authorities = file(site.folder.path(), "authorities.pem", site.authority.pem());
    site.settings.client_certificates = ClientCertificates::Required(authorities);
    let acceptor = site.acceptor();
    let end = SystemTime::now() + Duration::from_secs(6);
    let issued = site.authority.issue_until(&["client"], end);
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&issued.key_der).unwrap();
    let key = rustls::sign::CertifiedKey::new(vec![issued.der.clone()], key);
    let configs = VERSIONS.map(|version| {
        let mut config = site.client_config(version);
        config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key.clone()));
        Arc::new(config)
    });
    for config in &configs {
        for resumed in [false, true] {
            let (mut client, mut server) = (connect(config, "example.com"), Server::new(&acceptor));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            assert_eq!(server.session.description().unwrap().is_resumed(), resumed);
        }
    }
    // The last second of a certificate belongs to it.
    while SystemTime::now() < end + Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(100));
    }
    for (config, version) in configs.iter().zip(VERSIONS) {
        let (mut client, mut server) = (connect(config, "example.com"), Server::new(&acceptor));
        client.write(b"hello");
        let error = exchange(&mut client, &mut server, Delivery::Whole).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the peer's certificate expired on "), "{version:?} {text}");
        assert!(server.plaintext.is_empty() && !server.session.is_established());
        let seen = client.process_new_packets().unwrap_err();
        assert_eq!(seen, rustls::Error::AlertReceived(rustls::AlertDescription::CertificateExpired), "{version:?}");
    }
}

#[test]
fn sessions_are_resumed_by_any_clone_of_the_acceptor() {
    let site = Site::new();
    let acceptor = site.acceptor();
    for version in VERSIONS {
        let config = Arc::new(site.client_config(version));
        let kinds = [acceptor.clone(), acceptor.clone(), site.acceptor()].map(|acceptor| {
            let (mut client, mut server) = (connect(&config, "example.com"), Server::new(&acceptor));
            client.write(b"hello");
            exchange(&mut client, &mut server, Delivery::ByteByByte).unwrap();
            server.session.seal(b"hello yourself", 100, &mut server.sealed).unwrap();
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            assert_eq!((&server.plaintext[..], &client.text()[..]), (&b"hello"[..], &b"hello yourself"[..]));
            let description = server.session.description().unwrap();
            assert_eq!(description.server_name(), Some("example.com"));
            assert_eq!(description.is_resumed(), client.handshake_kind() == Some(HandshakeKind::Resumed));
            description.is_resumed()
        });
        // Another acceptor has other keys.
        assert_eq!(kinds, [false, true, false], "{version:?}");
    }
}

#[test]
fn versions_that_are_not_allowed_are_refused() {
    let mut site = Site::new();
    for only in VERSIONS {
        site.settings.versions = TlsVersions { lowest: only, highest: only };
        for version in VERSIONS {
            let (mut client, mut server) = (site.client(version, "example.com"), Server::new(&site.acceptor()));
            let outcome = exchange(&mut client, &mut server, Delivery::Whole);
            assert_eq!(outcome.is_ok(), version == only);
            if outcome.is_err() {
                assert!(client.process_new_packets().unwrap_err().to_string().contains("ProtocolVersion"));
            }
        }
    }
    site.settings.versions = TlsVersions { lowest: TlsVersion::Tls13, highest: TlsVersion::Tls12 };
    let error = serow_tls::TlsAcceptor::new(site.settings).unwrap_err();
    assert_eq!(error.to_string(), "the lowest version of TLS is above the highest: swap them");
}

#[test]
fn a_client_that_trusts_another_authority_sends_unknown_ca() {
    let site = Site::new();
    for version in VERSIONS {
        let config = client_config(Authority::named("another").roots(), version).into();
        let (mut client, mut server) = (connect(&config, "example.com"), Server::new(&site.acceptor()));
        let error = exchange(&mut client, &mut server, Delivery::Whole)
            .and_then(|()| exchange(&mut client, &mut server, Delivery::Whole))
            .unwrap_err();
        assert_eq!(error.to_string(), "the peer does not accept the certificate (alert unknown_ca)");
    }
}
