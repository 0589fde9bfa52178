//! Clients whose server name no certificate has.

use std::sync::Arc;

use rustls::AlertDescription;
use serow_tls::{CertificateTable, Certificates, ServerCertificate, TlsAcceptor, TlsError, UnknownNames};

use crate::{
    authority::Authority,
    ends::{Client, Delivery, Ours, Server, Site, VERSIONS, client_config, connect, converse, exchange},
};

/// An address is not sent.
const NAMES: [(&str, Option<&str>); 5] = [
    ("example.com", Some("example.com")),
    ("a.example.org", Some("a.example.org")),
    ("managed.example", Some("managed.example")),
    ("unknown.example", Some("unknown.example")),
    ("192.0.2.1", None),
];

/// A server with certificates of files and of a table, or of files alone.
fn server(unknown_names: UnknownNames, with_table: bool) -> (Site, TlsAcceptor) {
    let authority = Authority::new();
    let issued = [authority.issue(&["example.com", "192.0.2.1"]), authority.issue(&["*.example.org"])];
    let mut site = Site::with(authority, &issued);
    site.settings.unknown_names = unknown_names;
    if let (true, Certificates::Files(files)) = (with_table, site.settings.certificates.clone()) {
        let table = CertificateTable::default();
        let managed = site.authority.issue(&["managed.example"]);
        let managed = ServerCertificate::from_pem(managed.certificate.as_bytes(), managed.key.as_bytes()).unwrap();
        table.install(&["managed.example"], &managed);
        table.set_default(&managed);
        site.settings.certificates = Certificates::Managed { files, table };
    }
    let acceptor = site.acceptor();
    (site, acceptor)
}

fn error_of(client: &mut Client) -> rustls::Error {
    client.process_new_packets().unwrap_err()
}

#[test]
fn unknown_names_get_the_default_certificate_or_an_alert() {
    for (with_table, version) in [false, true].into_iter().flat_map(|table| VERSIONS.map(|version| (table, version))) {
        let (site, default) = server(UnknownNames::Default, with_table);
        let (strict_site, strict) = server(UnknownNames::Refuse, with_table);
        for (name, sent) in NAMES {
            let known = ["example.com", "a.example.org"].contains(&name) || (with_table && name == "managed.example");
            for delivery in [Delivery::Whole, Delivery::ByteByByte] {
                let config = Arc::new(client_config(site.authority.roots(), version));
                let (mut client, mut server) = (connect(&config, name), Server::new(&default));
                let outcome = exchange(&mut client, &mut server, delivery);
                // It gets a certificate, of which it is the judge.
                let rejected = matches!(outcome, Err(TlsError::Alert(AlertDescription::BadCertificate)));
                assert!(outcome.is_ok() || rejected, "{version:?} {name}: {outcome:?}");

                let config = Arc::new(client_config(strict_site.authority.roots(), version));
                let (mut client, mut server) = (connect(&config, name), Server::new(&strict));
                let outcome = exchange(&mut client, &mut server, delivery);
                let expected = if known { Ok(()) } else { Err(TlsError::UnknownName(sent.map(Arc::from))) };
                assert_eq!(outcome, expected, "{version:?} {name}");
                if !known {
                    let alert = rustls::Error::AlertReceived(AlertDescription::UnrecognisedName);
                    assert_eq!(error_of(&mut client), alert, "{version:?} {name}");
                }
            }
        }
    }
}

#[test]
fn both_sides_report_an_unknown_name() {
    let (site, acceptor) = server(UnknownNames::Refuse, false);
    for version in VERSIONS {
        for (name, expected) in [
            ("unknown.example", "no certificate has the client's server name, unknown.example"),
            ("192.0.2.1", "the client sent no server name, so it got no certificate"),
        ] {
            let mut server = Server::new(&acceptor);
            let mut client = Ours::connect(&site.connector(version), name);
            let hello = std::mem::take(&mut client.sealed);
            let error = server.receive(&hello, Delivery::Whole).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.fault()), (expected, serow_tls::Fault::Peer));
            // One alert, of which nothing is left.
            assert_eq!(server.sealed, [21, 3, 3, 0, 2, 2, 112]);
            let error = client.receive(&server.sealed, Delivery::Whole).unwrap_err();
            let expected = "the peer has no certificate for the server name (alert unrecognized_name)";
            assert_eq!(error.to_string(), expected, "{version:?}");
        }
        // A refusal is not remembered by the thread.
        let (mut client, mut server) = (Ours::connect(&site.connector(version), "example.com"), Server::new(&acceptor));
        converse(&mut client, &mut server, Delivery::Whole).unwrap();
    }
}

/// Validation (RFC 8737) is not about the certificates of the server.
#[test]
fn a_name_that_is_being_validated_is_not_refused() {
    let (mut site, _) = server(UnknownNames::Refuse, true);
    let Certificates::Managed { table, files } = site.settings.certificates.clone() else { unreachable!() };
    let issued = site.authority.issue(&["new.example"]);
    let pem = [issued.certificate, issued.key].concat();
    table.add_challenge("new.example", &ServerCertificate::for_validation(pem.as_bytes()).unwrap());
    site.settings.certificates = Certificates::Managed { files, table };
    for (name, expected) in [("new.example", true), ("other.example", false)] {
        let mut config = site.client_config(serow_tls::TlsVersion::Tls13);
        config.alpn_protocols = vec![b"acme-tls/1".to_vec()];
        let (mut client, mut server) = (connect(&Arc::new(config), name), Server::new(&site.acceptor()));
        let outcome = exchange(&mut client, &mut server, Delivery::Whole);
        assert_eq!(outcome == Err(TlsError::Validated), expected, "{outcome:?}");
        assert_eq!(matches!(outcome, Err(TlsError::UnknownName(_))), !expected, "{outcome:?}");
    }
}
