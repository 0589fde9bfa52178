//! Unusable files, and their error messages.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serow_tls::{
    CertificateFiles, Certificates, ClientCertificates, TlsAcceptor, TlsSettings, TlsVersion, UnknownNames,
};

use crate::{
    authority::{Authority, file},
    ends::{Delivery, Server, Site, VERSIONS, client_config, connect, exchange},
};

#[test]
fn an_unusable_file_is_reported_in_one_line_with_the_remedy() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(&["example.com"]), authority.issue(&["example.com"]));
    let folder = tempfile::tempdir().unwrap();
    let put = |name, content: &str| file(folder.path(), name, content);
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIF\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let old_encrypted =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIF\n-----END RSA PRIVATE KEY-----\n";
    put("good.pem", &one.certificate);
    put("good.key", &one.key);
    put("other.key", &other.key);
    put("empty.pem", "\n");
    put("encrypted.key", encrypted);
    put("old.key", old_encrypted);
    put("broken.pem", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");
    put("cut.pem", "-----BEGIN CERTIFICATE-----\nMIIF\n");
    put("nonsense.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    put("nonsense.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    put("large.pem", &" ".repeat((1 << 20) + 1));
    let cases = [
        ("missing.pem", "good.key", "missing.pem: there is no such file: name the one that holds it"),
        ("good.pem", "missing.key", "missing.key: there is no such file: name the one that holds it"),
        ("empty.pem", "good.key", "empty.pem: the file is empty: put the certificate or the key there"),
        (
            "good.key",
            "good.key",
            "good.key: there is a private key and no certificate in this file: name the certificate",
        ),
        (
            "good.key",
            "good.pem",
            "good.key: there is a private key and no certificate in this file: name the certificate",
        ),
        ("good.pem", "good.pem", "good.pem: there is no private key in this file: it must be in PEM"),
        ("good.pem", "encrypted.key", "encrypted.key: the key is encrypted: decrypt it with 'openssl pkey'"),
        ("good.pem", "old.key", "old.key: the key is encrypted: decrypt it with 'openssl pkey'"),
        ("good.pem", "other.key", "other.key: this key does not belong to the certificate in "),
        (
            "broken.pem",
            "good.key",
            "broken.pem: this file is not valid PEM: the text between BEGIN and END is not base64",
        ),
        ("cut.pem", "good.key", "cut.pem: this file is not valid PEM: the line -----END CERTIFICATE----- is missing"),
        ("nonsense.pem", "good.key", "nonsense.pem: the certificate is damaged, or of a kind that TLS does not know"),
        ("good.pem", "nonsense.key", "nonsense.key: the key is damaged, or of a kind that TLS does not know"),
        ("large.pem", "good.key", "large.pem: the file is too large for a certificate or a key"),
        (".", "good.key", "this file cannot be read: is a directory"),
    ];
    for (certificate, key, expected) in cases {
        let files = CertificateFiles {
            certificate: folder.path().join(certificate),
            key: folder.path().join(key),
            ocsp_response: None,
        };
        let error = TlsAcceptor::new(TlsSettings::files(vec![files])).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        assert!(error.starts_with(folder.path().to_str().unwrap()), "{error}");
    }
}

#[test]
fn certificate_and_key_may_share_a_file() {
    let site = Site::new();
    let issued = site.authority.issue(&["example.com"]);
    for content in [issued.certificate.clone() + &issued.key, issued.key.clone() + &issued.certificate] {
        let path = file(site.folder.path(), "both.pem", content);
        let files = CertificateFiles { certificate: path.clone(), key: path, ocsp_response: None };
        TlsAcceptor::new(TlsSettings::files(vec![files])).unwrap();
    }
}

#[test]
fn contradictory_settings_are_errors() {
    let site = Site::new();
    let refuse = |settings: TlsSettings| TlsAcceptor::new(settings).unwrap_err().to_string();
    assert_eq!(refuse(TlsSettings::files(Vec::new())), "TLS needs a certificate: configure one");
    let mut settings = site.settings.clone();
    if let Certificates::Files(files) = &mut settings.certificates {
        files[0].ocsp_response = Some(file(site.folder.path(), "ocsp.der", "<html>"));
    }
    assert!(refuse(settings).contains("ocsp.der: this is not a successful OCSP response in DER"));
    let mut settings = site.settings.clone();
    let path = site.folder.path().join("0.key");
    settings.client_certificates = ClientCertificates::Optional(path);
    assert!(refuse(settings).contains("0.key: there is no certificate in this file"));
}

#[test]
fn the_programs_own_settings_of_rustls_are_used() {
    let authority = Authority::new();
    let issued = authority.issue(&["example.com"]);
    let chain = CertificateDer::pem_slice_iter(issued.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    for (protocols, expected) in [(&[][..], None), (&[b"http/1.1"], Some(&b"http/1.1"[..]))] {
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let acceptor = TlsAcceptor::new(TlsSettings::rustls(Arc::new(config.clone()))).unwrap();
        for version in VERSIONS {
            let mut client = client_config(authority.roots(), version);
            client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            let (mut client, mut server) = (connect(&Arc::new(client), "example.com"), Server::new(&acceptor));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            client.write(b"request");
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            assert_eq!(&server.plaintext[..], b"request", "{version:?}");
            assert_eq!(client.alpn_protocol(), expected.or(Some(b"h2")), "{version:?}");
        }
    }
    type Change = fn(&mut ServerConfig);
    let changes: [(Change, &str); 3] = [
        (|config| config.max_early_data_size = 1, "`max_early_data_size`"),
        (|config| config.max_fragment_size = Some(512), "`max_fragment_size`"),
        (|config| config.alpn_protocols.push(b"h3".to_vec()), "does not speak h3"),
    ];
    for (change, name) in changes {
        let mut config = config.clone();
        change(&mut config);
        let error = TlsAcceptor::new(TlsSettings::rustls(Arc::new(config))).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    let contradictions: [fn(&mut TlsSettings); 3] = [
        |settings| settings.ticket_secret = Some("tickets.secret".into()),
        |settings| settings.versions.lowest = TlsVersion::Tls13,
        |settings| settings.unknown_names = UnknownNames::Refuse,
    ];
    for contradict in contradictions {
        let mut settings = TlsSettings::rustls(Arc::new(config.clone()));
        contradict(&mut settings);
        let error = TlsAcceptor::new(settings).unwrap_err().to_string();
        assert!(error.contains("leave out these settings here"), "{error}");
    }
}

#[test]
fn certificates_and_keys_may_be_in_memory() {
    let authority = Authority::new();
    let (issued, other) = (authority.issue(&["example.com", "*.example.org"]), authority.issue(&["example.com"]));
    let mut settings = TlsSettings::pem(issued.certificate.as_bytes(), issued.key.as_bytes()).unwrap();
    for (unknown, names) in [
        (UnknownNames::Default, &["example.com", "www.example.org"][..]),
        (UnknownNames::Refuse, &["example.com", "www.example.org"]),
    ] {
        settings.unknown_names = unknown;
        let acceptor = TlsAcceptor::new(settings.clone()).unwrap();
        for (version, name) in VERSIONS.into_iter().flat_map(|version| names.iter().map(move |name| (version, *name))) {
            let config = client_config(authority.roots(), version);
            let (mut client, mut server) = (connect(&Arc::new(config), name), Server::new(&acceptor));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            client.write(b"request");
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            assert_eq!(&server.plaintext[..], b"request", "{version:?} {name}");
        }
    }
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIF\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (certificate, key, expected) in [
        ("", &*issued.key, "the certificate: there is no certificate"),
        (&issued.key, &issued.key, "the certificate: there is a private key and no certificate"),
        (&issued.certificate, "", "the key: there is no private key"),
        (&issued.certificate, &issued.certificate, "the key: there is no private key"),
        (&issued.certificate, encrypted, "the key: the key is encrypted"),
        (&issued.certificate, &issued.key[..60], "the key: "),
        (&issued.certificate, &other.key, "TLS cannot be set up: "),
    ] {
        let error = TlsSettings::pem(certificate.as_bytes(), key.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_key_without_read_permission_is_reported() {
    let site = Site::new();
    let path = site.folder.path().join("0.key");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    if fs::read(&path).is_err() {
        let error = TlsAcceptor::new(site.settings).unwrap_err().to_string();
        assert!(error.contains("0.key: the server may not read this file"), "{error}");
    }
}
