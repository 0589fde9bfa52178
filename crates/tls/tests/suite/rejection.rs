//! Servers that are not believed, and why; and whom a client believes.

use std::{env, path::Path, process::Command, sync::Arc};

use rcgen::{BasicConstraints, IsCa};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::CertificateDer,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use serow_tls::{
    CertificateFiles, Fault, TlsAcceptor, TlsClientSettings, TlsConnector, TlsError, TlsSettings, TlsVersion, Trust,
};

use crate::{
    authority::{Authority, Issued, file},
    ends::{Delivery, Ours, Server, Site, VERSIONS, converse, only},
    theirs::{self, Theirs},
};

const UNKNOWN: &str = "is from an authority that is not trusted here, or its chain is incomplete";
const SELF_SIGNED: &str = "is self-signed, and not trusted here";
const FORGED: &str = "is not signed by the authority that it names, or is not the peer's own";
const AUTHORITY: &str = "is a certificate authority's (CA:TRUE), which cannot identify a server";

/// Has a client connect by this name to a server with this certificate; returns the client's outcome, and the error
/// that the server has of it.
fn meet(issued: &Issued, name: &str, trust: Trust, version: TlsVersion) -> (Result<(), TlsError>, Option<String>) {
    let settings = TlsClientSettings { trust, versions: only(version), ..TlsClientSettings::default() };
    let connector = TlsConnector::new(settings).unwrap();
    let config = theirs::config(issued, aws_lc_rs::default_provider());
    let (mut client, mut server) = (Ours::connect(&connector, name), Theirs::new(config));
    let outcome = server.converse(&mut client, Delivery::Whole);
    assert_eq!(outcome.is_ok(), client.session.is_established());
    (outcome, server.error().map(ToString::to_string))
}

#[test]
fn a_rejected_certificate_is_reported_with_the_reason() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let many = ["a.example", "b.example", "127.0.0.1", "d.example", "e.example"];
    let self_signed = Issued::self_signed("a stranger", IsCa::ExplicitNoCa);
    let as_authority = Issued::self_signed("an authority", IsCa::Ca(BasicConstraints::Unconstrained));
    let authorities = [authority.pem(), as_authority.certificate.clone()].concat();
    let trust = Trust::File(file(folder.path(), "authorities.pem", authorities));
    let cases = [
        (Authority::named("another").issue(&["example.com"]), UNKNOWN, "UnknownCA"),
        // The authority's name with another key.
        (Authority::new().issue(&["example.com"]), FORGED, "DecryptError"),
        (
            authority.issue_for_years(&["example.com"], 2001, 2020),
            "expired on Wed, 01 Jan 2020 00:00:00 GMT",
            "CertificateExpired",
        ),
        (
            authority.issue_for_years(&["example.com"], 2120, 2121),
            "is not valid before Mon, 01 Jan 2120 00:00:00 GMT: look at this machine's clock",
            "CertificateExpired",
        ),
        (authority.issue(&["*.example.com"]), "is for *.example.com, not for example.com", "BadCertificate"),
        (
            authority.issue(&many),
            "is for a.example, b.example, 127.0.0.1 and others, not for example.com",
            "BadCertificate",
        ),
        (authority.issue(&[]), "names no server; example.com was expected", "BadCertificate"),
        (self_signed, SELF_SIGNED, "CertificateUnknown"),
        (
            Issued::self_signed("another stranger", IsCa::Ca(BasicConstraints::Unconstrained)),
            SELF_SIGNED,
            "CertificateUnknown",
        ),
        // The kind of certificate that `openssl req -x509` makes.
        (as_authority, AUTHORITY, "CertificateUnknown"),
    ];
    for version in VERSIONS {
        for (issued, reason, alert) in &cases {
            let (outcome, received) = meet(issued, "example.com", trust.clone(), version);
            let error = outcome.unwrap_err();
            assert_eq!(error.to_string(), format!("the peer's certificate {reason}"), "{version:?}");
            assert_eq!((matches!(error, TlsError::Certificate(_)), error.fault()), (true, Fault::Peer));
            assert_eq!(received.unwrap(), format!("received fatal alert: {alert}"), "{reason}");
            meet(issued, "example.com", Trust::Unchecked, version).0.unwrap();
        }
    }
}

#[test]
fn a_self_signed_certificate_is_accepted_if_it_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let [one, namesake] = [(); 2].map(|()| Issued::self_signed("the owner", IsCa::ExplicitNoCa));
    let stranger = Issued::self_signed("a stranger", IsCa::ExplicitNoCa);
    let trust = Trust::File(file(folder.path(), "one.pem", &one.certificate));
    for version in VERSIONS {
        meet(&one, "example.com", trust.clone(), version).0.unwrap();
        meet(&one, "example.org", trust.clone(), version).0.unwrap_err();
        let error = meet(&namesake, "example.com", trust.clone(), version).0.unwrap_err();
        assert_eq!(error.to_string(), format!("the peer's certificate {FORGED}"));
        let error = meet(&stranger, "example.com", trust.clone(), version).0.unwrap_err();
        assert_eq!(error.to_string(), format!("the peer's certificate {SELF_SIGNED}"));
    }
}

/// Not even malformed certificates are rejected.
#[test]
fn unchecked_trust_accepts_every_certificate() {
    #[derive(Debug)]
    struct Nonsense(Arc<CertifiedKey>);
    impl ResolvesServerCert for Nonsense {
        fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            Some(Arc::clone(&self.0))
        }
    }
    let site = Site::new();
    let issued = site.authority.issue(&["example.com"]);
    let key = aws_lc_rs::sign::any_supported_type(&issued.key_der).unwrap();
    for version in VERSIONS {
        for (trust, believed) in [(Trust::Unchecked, true), (site.client_settings().trust, false)] {
            let nonsense = Nonsense(Arc::new(CertifiedKey::new(
                vec![CertificateDer::from(b"nonsense".as_slice())],
                Arc::clone(&key),
            )));
            let config = ServerConfig::builder().with_no_client_auth().with_cert_resolver(Arc::new(nonsense));
            let settings = TlsClientSettings { trust, versions: only(version), ..TlsClientSettings::default() };
            let connector = TlsConnector::new(settings).unwrap();
            let (mut client, mut server) = (Ours::connect(&connector, "127.0.0.1"), Theirs::new(config));
            assert_eq!(server.converse(&mut client, Delivery::Whole).is_ok(), believed, "{version:?}");
        }
    }
}

#[test]
fn unreadable_authorities_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let key = Authority::new().issue(&["example.com"]).key;
    for (name, content, end) in [
        ("missing", None, "there is no such file: name the one that holds it"),
        ("empty", Some(""), "the file is empty: put the certificate or the key there"),
        ("key", Some(key.as_str()), "it must be in PEM, and begin with -----BEGIN CERTIFICATE-----"),
        (
            "broken",
            Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            "certificates cannot be verified with this file (invalid peer certificate: BadEncoding): name another one",
        ),
    ] {
        let path = folder.path().join(name);
        if let Some(content) = content {
            file(folder.path(), name, content);
        }
        let settings = TlsClientSettings { trust: Trust::File(path.clone()), ..TlsClientSettings::default() };
        let error = TlsConnector::new(settings).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", path.display())) && error.ends_with(end), "{error}");
    }
}

/// The environment says which authorities a system trusts; a test may set it only for another process.
#[test]
fn the_system_authorities_and_ssl_cert_file_are_trusted() {
    let site = Site::new();
    file(site.folder.path(), "authority.pem", site.authority.pem());
    file(site.folder.path(), "other.pem", Authority::named("another").pem());
    file(site.folder.path(), "none.pem", "nothing");
    let none = "the system has no certificate authorities: install ca-certificates, or name a file of them";
    for (name, expected) in [
        ("authority.pem", "believed".to_owned()),
        ("other.pem", format!("the peer's certificate {UNKNOWN}")),
        ("none.pem", none.to_owned()),
    ] {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "rejection::in_an_environment", "--ignored", "--nocapture"])
            .env("SSL_CERT_FILE", site.folder.path().join(name))
            .env_remove("SSL_CERT_DIR")
            .env(FOLDER, site.folder.path())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&output.stdout);
        assert!(output.contains(&format!("outcome: {expected}\n")), "{name}: {output}");
    }
}

#[test]
#[ignore = "the test above runs it, in an environment of its own"]
fn in_an_environment() {
    let folder = env::var_os(FOLDER).unwrap();
    let path = |name| Path::new(&folder).join(name);
    let files = CertificateFiles { certificate: path("0.pem"), key: path("0.key"), ocsp_response: None };
    let acceptor = TlsAcceptor::new(TlsSettings::files(vec![files])).unwrap();
    let outcome = match TlsConnector::new(TlsClientSettings::default()) {
        Err(error) => error.to_string(),
        Ok(connector) => {
            let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&acceptor));
            converse(&mut client, &mut server, Delivery::Whole)
                .map_or_else(|error| error.to_string(), |()| "believed".to_owned())
        }
    };
    println!("outcome: {outcome}");
}

/// Where the server's certificate is.
const FOLDER: &str = "SEROW_TEST_FOLDER";
