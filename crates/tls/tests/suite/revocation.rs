//! Clients whose certificates were revoked, and authorities and lists that change.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustls::{ClientConfig, crypto::aws_lc_rs};
use serow_tls::{ClientCertificates, TlsAcceptor, TlsError, TlsVersion};

use crate::{
    authority::{Authority, Issued, file, in_hours},
    ends::{Delivery, Server, Site, VERSIONS, connect, exchange},
};

/// A client with this certificate.
fn client(site: &Site, version: TlsVersion, issued: &Issued) -> Arc<ClientConfig> {
    let mut config = site.client_config(version);
    let key = aws_lc_rs::sign::any_supported_type(&issued.key_der).unwrap();
    let key = rustls::sign::CertifiedKey::new(vec![issued.der.clone()], key);
    config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key));
    Arc::new(config)
}

/// Whether the session was resumed, or why the client was refused.
fn visit(config: &Arc<ClientConfig>, acceptor: &TlsAcceptor) -> Result<bool, String> {
    let (mut client, mut server) = (connect(config, "example.com"), Server::new(acceptor));
    client.write(b"hello");
    let outcome = exchange(&mut client, &mut server, Delivery::Whole);
    match outcome {
        Ok(()) => {
            assert_eq!(&server.plaintext[..], b"hello");
            Ok(server.session.description().unwrap().is_resumed())
        }
        Err(error) => {
            assert!(matches!(error, TlsError::Certificate(_)), "{error:?}");
            assert!(server.plaintext.is_empty() && client.process_new_packets().is_err());
            Err(error.to_string())
        }
    }
}

/// A server that requires certificates of its own authority, with the lists of these files.
fn site_with(lists: &[&Path]) -> Site {
    let mut site = Site::new();
    let authorities = file(site.folder.path(), "clients.pem", site.authority.pem());
    site.settings.client_certificates = ClientCertificates::Required(authorities);
    site.settings.client_revocation_lists = lists.iter().map(|path| site.folder.path().join(path)).collect();
    site
}

const REVOKED: &str = "the peer's certificate was revoked by its authority";
const NO_LIST: &str =
    "the peer's certificate may be revoked: there is no revocation list of its authority, or of one in its chain";

#[test]
fn a_changed_list_counts_for_new_and_for_resumed_sessions() {
    let site = site_with(&[Path::new("clients.crl")]);
    let issued = [site.authority.issue_serial(1), site.authority.issue_serial(2)];
    let write = |revoked: &[u64], pem: bool| {
        let list = site.authority.revoke(revoked, in_hours(1));
        let content = if pem { list.pem().unwrap().into_bytes() } else { list.der().to_vec() };
        file(site.folder.path(), "clients.crl", content);
    };
    for (version, pem) in VERSIONS.into_iter().zip([true, false]) {
        write(&[2, 7], pem);
        let acceptor = site.acceptor();
        let clients = issued.each_ref().map(|issued| client(&site, version, issued));
        let visits = || clients.each_ref().map(|client| visit(client, &acceptor));
        assert_eq!(visits(), [Ok(false), Err(REVOKED.to_owned())], "{version:?}");
        assert_eq!(visits(), [Ok(true), Err(REVOKED.to_owned())], "{version:?}");
        write(&[1], pem);
        acceptor.reload_changed_files();
        // The first tries to resume its session.
        assert_eq!(visits(), [Err(REVOKED.to_owned()), Ok(false)], "{version:?}");
        // Files that cannot be used change nothing.
        fs::write(site.folder.path().join("clients.crl"), "nonsense").unwrap();
        acceptor.reload_changed_files();
        assert_eq!(visits().map(|visit| visit.is_ok()), [false, true], "{version:?}");
        write(&[], pem);
        acceptor.reload_changed_files();
        assert_eq!(visits().map(|visit| visit.is_ok()), [true, true], "{version:?}");
    }
}

#[test]
fn clients_without_a_current_list_are_refused() {
    let site = site_with(&[Path::new("own.crl"), Path::new("other.crl")]);
    let other = Authority::named("another authority");
    let own = site.authority.revoke(&[9], in_hours(1)).pem().unwrap();
    let forged = Authority::new().revoke(&[9], in_hours(1)).pem().unwrap();
    let expired = site.authority.revoke(&[9], SystemTime::now() - Duration::from_secs(86_400)).pem().unwrap();
    let unrelated = other.revoke(&[9], in_hours(1)).pem().unwrap();
    file(site.folder.path(), "other.crl", &unrelated);
    for (list, expected) in [
        (own, None),
        (expired, Some("the peer's certificate may be revoked: its authority's revocation list expired on ")),
        (unrelated, Some(NO_LIST)),
        (forged, Some("TLS handshake failed: ")),
    ] {
        file(site.folder.path(), "own.crl", list);
        let acceptor = site.acceptor();
        for version in VERSIONS {
            let config = client(&site, version, &site.authority.issue_serial(1));
            let (mut client, mut server) = (connect(&config, "example.com"), Server::new(&acceptor));
            let error = exchange(&mut client, &mut server, Delivery::Whole).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), expected.is_some(), "{version:?} {error:?}");
            assert!(error.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{version:?} {expected:?}");
        }
    }
}

#[test]
fn changed_authorities_count_for_new_and_for_resumed_sessions() {
    let site = site_with(&[]);
    let next = Authority::named("the next authority");
    let path = site.folder.path().join("clients.pem");
    for version in VERSIONS {
        fs::write(&path, site.authority.pem()).unwrap();
        let acceptor = site.acceptor();
        let clients = [&site.authority, &next].map(|authority| client(&site, version, &authority.issue(&["client"])));
        let visits = || clients.each_ref().map(|client| visit(client, &acceptor).ok());
        assert_eq!(visits(), [Some(false), None], "{version:?}");
        fs::write(&path, site.authority.pem() + &next.pem()).unwrap();
        acceptor.reload_changed_files();
        assert_eq!(visits(), [Some(true), Some(false)], "{version:?}");
        fs::write(&path, next.pem()).unwrap();
        acceptor.reload_changed_files();
        assert_eq!(visits(), [None, Some(true)], "{version:?}");
        fs::write(&path, "nonsense").unwrap();
        acceptor.reload_changed_files();
        assert_eq!(visits(), [None, Some(true)], "{version:?}");
    }
}

/// Without `reload_changed_files`: a handshake that comes more than a second later looks at the files.
#[test]
fn handshakes_check_the_list_every_second() {
    let site = site_with(&[Path::new("clients.crl")]);
    let path = site.folder.path().join("clients.crl");
    fs::write(&path, site.authority.revoke(&[], in_hours(1)).der()).unwrap();
    let acceptor = site.acceptor();
    let config = client(&site, TlsVersion::Tls13, &site.authority.issue_serial(1));
    visit(&config, &acceptor).unwrap();
    fs::write(&path, site.authority.revoke(&[1], in_hours(1)).der()).unwrap();
    let changed = SystemTime::now();
    while visit(&config, &acceptor).is_ok() {
        assert!(changed.elapsed().unwrap() < Duration::from_secs(2));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_unusable_list_is_reported_with_the_remedy() {
    let mut site = site_with(&[Path::new("clients.crl")]);
    let error = |site: &Site| TlsAcceptor::new(site.settings.clone()).unwrap_err().to_string();
    assert!(error(&site).ends_with("clients.crl: there is no such file: name the one that holds it"));
    for (content, reason) in [
        (String::new(), "the file is empty"),
        ("nonsense".to_owned(), "there is none in the file"),
        (site.authority.pem(), "there is none in the file"),
        ("0nonsense".to_owned(), ""),
        ("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n".to_owned(), ""),
        ("-----BEGIN X509 CRL-----\nAAAA\n".to_owned(), ""),
    ] {
        file(site.folder.path(), "clients.crl", content);
        let error = error(&site);
        let beginning = format!("clients.crl: this is not a certificate revocation list in PEM or DER ({reason}");
        assert!(error.contains(&beginning) && error.ends_with("): write it with 'openssl ca -gencrl'"), "{error}");
    }
    site.settings.client_certificates = ClientCertificates::Off;
    let expected = "revocation lists need the authorities of client certificates: configure both or neither";
    assert_eq!(error(&site), expected);
}
