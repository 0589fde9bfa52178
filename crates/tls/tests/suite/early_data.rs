//! Clients with a ticket of another server of the same name, which took data before the handshake was complete.

use std::{io::Write, sync::Arc};

use rustls::{ClientConfig, ServerConfig, ServerConnection, server::ServerSessionMemoryCache};
use serow_tls::TlsVersion;

use crate::ends::{Client, Delivery, Server, Site, connect, exchange};

/// RFC 8446 §4.2.10: what comes too early is passed over, and the handshake goes on.
#[test]
fn early_data_is_skipped() {
    let site = Site::new();
    for delivery in [Delivery::Whole, Delivery::ByteByByte] {
        let config = config_with_ticket(&site);
        let (mut client, mut server) = (connect(&config, "example.com"), Server::new(&site.acceptor()));
        for piece in [&b"too early"[..], &[7; 3000], b"and again"] {
            client.early_data().expect("the ticket allows it").write_all(piece).unwrap();
        }
        exchange(&mut client, &mut server, delivery).unwrap();
        assert!(!client.is_handshaking() && !client.is_early_data_accepted(), "{delivery:?}");
        assert!(server.session.is_established() && server.plaintext.is_empty());
        client.write(b"at the right time");
        exchange(&mut client, &mut server, delivery).unwrap();
        assert_eq!(server.plaintext, "at the right time");
    }
}

/// A client's settings, with a ticket of the other server.
fn config_with_ticket(site: &Site) -> Arc<ClientConfig> {
    let mut config = site.client_config(TlsVersion::Tls13);
    config.enable_early_data = true;
    let config = Arc::new(config);
    let issued = site.authority.issue(&["example.com"]);
    let mut other =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![issued.der], issued.key_der).unwrap();
    other.max_early_data_size = 10_000;
    other.session_storage = ServerSessionMemoryCache::new(10);
    let mut client = connect(&config, "example.com");
    converse(&mut client, &mut ServerConnection::new(Arc::new(other)).unwrap());
    config
}

/// Lets both ends say all they have.
fn converse(client: &mut Client, server: &mut ServerConnection) {
    loop {
        let flight = client.flight();
        let mut rest = &flight[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
        }
        let mut answer = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut answer).unwrap();
        }
        client.take(&answer);
        if flight.is_empty() && answer.is_empty() {
            return;
        }
    }
}
