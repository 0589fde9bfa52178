//! Which certificate is shown, also when the files change.

use std::{fs, path::Path, sync::Arc};

use rustls::{SignatureScheme, pki_types::CertificateDer};
use serow_tls::{TlsAcceptor, TlsVersion};

use crate::{
    authority::{Authority, Issued},
    ends::{Delivery, Server, Site, VERSIONS, connect, exchange},
    witness::Witness,
};

/// The certificate that a client is shown which asks for this name, and understands these signatures.
fn shown(
    site: &Site,
    acceptor: &TlsAcceptor,
    version: TlsVersion,
    name: &'static str,
    schemes: Option<Vec<SignatureScheme>>,
) -> CertificateDer<'static> {
    let witness = Witness::new(site.authority.roots(), schemes, false);
    let (mut client, mut server) = (connect(&Arc::new(witness.client_config(version)), name), Server::new(acceptor));
    exchange(&mut client, &mut server, Delivery::Whole).unwrap();
    witness.certificate()
}

#[test]
fn a_certificate_is_chosen_by_server_name() {
    let authority = Authority::new();
    let issued = [
        authority.issue(&["example.com", "www.example.com"]),
        authority.issue(&["*.example.com", "example.org"]),
        authority.issue(&["API.example.com"]),
        authority.issue(&["example.org"]),
    ];
    let site = Site::with(authority, &issued);
    let acceptor = site.acceptor();
    for version in VERSIONS {
        for (name, expected) in [
            ("example.com", 0),
            ("www.example.com", 0),
            ("a.example.com", 1),
            ("api.example.com", 2),
            ("a.b.example.com", 0),
            ("example.org", 1),
            ("example.net", 0),
            // No name is sent for an address (RFC 6066 §3).
            ("192.0.2.1", 0),
        ] {
            let certificate = shown(&site, &acceptor, version, name, None);
            let found = issued.iter().position(|issued| issued.der == certificate);
            assert_eq!(found, Some(expected), "{version:?} {name}");
        }
    }
}

#[test]
fn a_certificate_is_chosen_by_signature_scheme() {
    let authority = Authority::new();
    let names = ["example.com"];
    let (rsa, ecdsa) = (authority.issue_rsa(&names), authority.issue(&names));
    let site = Site::with(authority, &[ecdsa, rsa]);
    let (ecdsa, rsa) =
        (fs::read(site.folder.path().join("0.pem")).unwrap(), fs::read(site.folder.path().join("1.pem")).unwrap());
    let acceptor = site.acceptor();
    let der = |pem: &[u8]| <CertificateDer<'_> as rustls::pki_types::pem::PemObject>::from_pem_slice(pem).unwrap();
    let rsa_only = vec![SignatureScheme::RSA_PSS_SHA256, SignatureScheme::RSA_PKCS1_SHA256];
    let ecdsa_only = vec![SignatureScheme::ECDSA_NISTP256_SHA256];
    for version in VERSIONS {
        // The same for the name and for one that nobody knows.
        for name in ["example.com", "example.net"] {
            assert_eq!(shown(&site, &acceptor, version, name, None), der(&ecdsa));
            assert_eq!(shown(&site, &acceptor, version, name, Some(rsa_only.clone())), der(&rsa));
            assert_eq!(shown(&site, &acceptor, version, name, Some(ecdsa_only.clone())), der(&ecdsa));
        }
    }
}

/// A site with the first certificate, another one for it, and a look at what is shown.
fn changing() -> (Site, Issued, TlsAcceptor) {
    let site = Site::new();
    let other = site.authority.issue(&["example.com", "www.example.com"]);
    let acceptor = site.acceptor();
    (site, other, acceptor)
}

fn replace(folder: &Path, name: &str, content: &str) {
    let beside = folder.join("new");
    fs::write(&beside, content).unwrap();
    fs::rename(beside, folder.join(name)).unwrap();
}

#[test]
fn changed_files_are_reloaded() {
    // Put in place of the old ones, and written over them.
    let ways: [fn(&Path, &str, &str); 2] =
        [replace, |folder, name, content| fs::write(folder.join(name), content).unwrap()];
    for write in ways {
        let (site, other, acceptor) = changing();
        let show = |name| shown(&site, &acceptor, TlsVersion::Tls13, name, None);
        let before = show("example.com");
        assert_ne!(before, other.der);
        // The certificate comes first, and its key a moment later: until then the old pair is right.
        write(site.folder.path(), "0.pem", &other.certificate);
        acceptor.reload_changed_files();
        acceptor.reload_changed_files();
        assert_eq!(show("example.com"), before);
        write(site.folder.path(), "0.key", &other.key);
        acceptor.reload_changed_files();
        assert_eq!(show("example.com"), other.der);
        assert_eq!(show("www.example.com"), other.der);
        // Both vanish, or are broken.
        write(site.folder.path(), "0.key", "");
        acceptor.reload_changed_files();
        fs::remove_file(site.folder.path().join("0.pem")).unwrap();
        acceptor.reload_changed_files();
        assert_eq!(show("example.com"), other.der);
        // And come back.
        let third = site.authority.issue(&["example.com"]);
        write(site.folder.path(), "0.pem", &third.certificate);
        write(site.folder.path(), "0.key", &third.key);
        acceptor.reload_changed_files();
        assert_eq!(show("example.com"), third.der);
    }
}

#[test]
fn a_changed_symbolic_link_is_noticed() {
    let (site, other, _) = changing();
    let folder = site.folder.path();
    other.store(folder, "other");
    for ending in ["pem", "key"] {
        std::os::unix::fs::symlink(format!("0.{ending}"), folder.join(format!("live.{ending}"))).unwrap();
    }
    let mut settings = site.settings.clone();
    let mut files = serow_tls::CertificateFiles {
        certificate: folder.join("live.pem"),
        key: folder.join("live.key"),
        ocsp_response: None,
    };
    settings.certificates = serow_tls::Certificates::Files(vec![files.clone()]);
    let acceptor = TlsAcceptor::new(settings).unwrap();
    assert_ne!(shown(&site, &acceptor, TlsVersion::Tls13, "example.com", None), other.der);
    for ending in ["pem", "key"] {
        std::os::unix::fs::symlink(format!("other.{ending}"), folder.join("link")).unwrap();
        fs::rename(folder.join("link"), folder.join(format!("live.{ending}"))).unwrap();
    }
    acceptor.reload_changed_files();
    assert_eq!(shown(&site, &acceptor, TlsVersion::Tls13, "example.com", None), other.der);
    files.key.clone_from(&files.certificate);
}

#[test]
fn ocsp_responses_are_stapled() {
    let site = Site::new();
    let response = |mark: u8| [&[0x30, 0x06][..], &[0x0a, 1, 0], &[0xa0, 1, mark]].concat();
    let path = crate::authority::file(site.folder.path(), "ocsp.der", response(1));
    let mut settings = site.settings.clone();
    if let serow_tls::Certificates::Files(files) = &mut settings.certificates {
        files[0].ocsp_response = Some(path.clone());
    }
    let acceptor = TlsAcceptor::new(settings).unwrap();
    let stapled = |version| {
        let witness = Witness::new(site.authority.roots(), None, true);
        let (mut client, mut server) =
            (connect(&Arc::new(witness.client_config(version)), "example.com"), Server::new(&acceptor));
        exchange(&mut client, &mut server, Delivery::Whole).unwrap();
        witness.ocsp_response()
    };
    for version in VERSIONS {
        assert_eq!(stapled(version), response(1));
    }
    fs::write(&path, response(2)).unwrap();
    acceptor.reload_changed_files();
    assert_eq!(stapled(TlsVersion::Tls13), response(2));
    fs::write(&path, "<html>").unwrap();
    acceptor.reload_changed_files();
    assert_eq!(stapled(TlsVersion::Tls13), response(2));
}
