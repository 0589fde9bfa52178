//! Sessions that another acceptor resumes, since it has the same secret.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use rustls::ClientConfig;
use serow_tls::{ClientCertificates, SharedSecret, TlsAcceptor, TlsError};

use crate::{
    authority::file,
    ends::{Delivery, Server, Site, VERSIONS, connect, exchange},
};

/// A file that only its owner may read.
fn secret(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = file(folder, name, content);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Whether this acceptor resumes a session of this client.
fn resumes(config: &Arc<ClientConfig>, acceptor: &TlsAcceptor) -> Result<bool, TlsError> {
    let (mut client, mut server) = (connect(config, "example.com"), Server::new(acceptor));
    client.write(b"hello");
    exchange(&mut client, &mut server, Delivery::Whole)?;
    assert_eq!(&server.plaintext[..], b"hello");
    let description = server.session.description().unwrap();
    assert_eq!(description.is_resumed(), client.handshake_kind() == Some(rustls::HandshakeKind::Resumed));
    Ok(description.is_resumed())
}

#[test]
fn acceptors_with_the_same_secret_resume_each_others_sessions() {
    let mut site = Site::new();
    let mut acceptor = |content: Option<&[u8]>| {
        site.settings.ticket_secret = content.map(|content| secret(site.folder.path(), "secret", content));
        site.acceptor()
    };
    let [one, two] = [(); 2].map(|()| acceptor(Some(&[7; 32])));
    let other = acceptor(Some(&[8; 32]));
    let random = acceptor(None);
    for version in VERSIONS {
        let config = Arc::new(site.client_config(version));
        let expected = [(&one, false), (&two, true), (&one, true), (&other, false), (&two, false), (&random, false)];
        for (number, (acceptor, expected)) in expected.into_iter().enumerate() {
            assert_eq!(resumes(&config, acceptor), Ok(expected), "{version:?} {number}");
        }
    }
}

#[test]
fn acceptors_with_a_secret_in_memory_resume_each_others_sessions_without_client_certificates() {
    let mut site = Site::new();
    let authorities = file(site.folder.path(), "authorities.pem", site.authority.pem());
    let mut acceptor = |secret: u8, clients: ClientCertificates| {
        site.settings.shared_secret = Some(SharedSecret([secret; 32]));
        site.settings.client_certificates = clients;
        site.acceptor()
    };
    let [one, two] = [(); 2].map(|()| acceptor(7, ClientCertificates::Off));
    let other = acceptor(8, ClientCertificates::Off);
    let [first, second] = [(); 2].map(|()| acceptor(7, ClientCertificates::Optional(authorities.clone())));
    for version in VERSIONS {
        let config = Arc::new(site.client_config(version));
        let expected = [(&one, false), (&two, true), (&other, false), (&first, false), (&second, false), (&two, false)];
        for (number, (acceptor, expected)) in expected.into_iter().enumerate() {
            assert_eq!(resumes(&config, acceptor), Ok(expected), "{version:?} {number}");
        }
    }
}

#[test]
fn a_changed_secret_is_used_and_tickets_of_the_previous_one_are_accepted() {
    let mut site = Site::new();
    let path = secret(site.folder.path(), "secret", [1; 48]);
    site.settings.ticket_secret = Some(path.clone());
    let (changed, unchanged) = (site.acceptor(), site.acceptor());
    for (number, version) in (2..).zip(VERSIONS) {
        let config = Arc::new(site.client_config(version));
        assert_eq!(resumes(&config, &unchanged), Ok(false));
        fs::write(&path, [number; 48]).unwrap();
        changed.reload_changed_files();
        assert_eq!(resumes(&config, &changed), Ok(true), "{version:?}");
        // The client has a ticket of the new secret now.
        assert_eq!(resumes(&config, &unchanged), Ok(false), "{version:?}");
        unchanged.reload_changed_files();
        for acceptor in [&changed, &unchanged] {
            assert_eq!(resumes(&config, acceptor), Ok(true), "{version:?}");
        }
        // Files that cannot be used change nothing.
        fs::write(&path, "short").unwrap();
        changed.reload_changed_files();
        assert_eq!(resumes(&config, &changed), Ok(true), "{version:?}");
        fs::write(&path, [number; 48]).unwrap();
    }
}

/// A session that is enough for a server without client certificates is not for a server that requires them.
#[test]
fn a_session_without_client_certificate_is_not_resumed_where_one_is_required() {
    let mut site = Site::new();
    let authorities = file(site.folder.path(), "authorities.pem", site.authority.pem());
    site.settings.ticket_secret = Some(secret(site.folder.path(), "secret", [1; 32]));
    let kinds = [
        ClientCertificates::Off,
        ClientCertificates::Optional(authorities.clone()),
        ClientCertificates::Required(authorities),
    ];
    let acceptors = kinds.map(|kind| {
        site.settings.client_certificates = kind;
        [(); 2].map(|()| site.acceptor())
    });
    let [[off, another_off], [optional, another_optional], [required, _]] = &acceptors;
    for version in VERSIONS {
        let config = Arc::new(site.client_config(version));
        for (acceptor, expected) in [
            (off, Some(false)),
            (another_off, Some(true)),
            (optional, Some(false)),
            (another_optional, Some(true)),
            (required, None),
            (off, Some(false)),
            (required, None),
        ] {
            assert_eq!(resumes(&config, acceptor).ok(), expected, "{version:?}");
        }
    }
}

#[test]
fn an_unusable_secret_is_reported_with_the_remedy() {
    let mut site = Site::new();
    let folder = site.folder.path().to_owned();
    let short = "a secret needs at least 32 bytes: write it with 'openssl rand -out FILE 48'";
    let public = "other users may read or write this file, and decrypt sessions with it: run 'chmod o=' on it, and replace \
                  the secret";
    for (content, mode, expected) in [
        (&b""[..], 0o600, Some(short)),
        (&[1; 31], 0o600, Some(short)),
        (&[1; 32], 0o600, None),
        (&[1; 32], 0o640, None),
        (&[1; 32], 0o604, Some(public)),
        (&[1; 32], 0o602, Some(public)),
    ] {
        let path = secret(&folder, "secret", content);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let expected = expected.map(|text| format!("{}: {text}", path.display()));
        site.settings.ticket_secret = Some(path);
        let error = TlsAcceptor::new(site.settings.clone()).err().map(|error| error.to_string());
        assert_eq!(error, expected, "{mode:o}");
    }
    site.settings.ticket_secret = Some(folder.join("missing"));
    let error = TlsAcceptor::new(site.settings).unwrap_err().to_string();
    assert!(error.ends_with("missing: there is no such file: name the one that holds it"), "{error}");
}
