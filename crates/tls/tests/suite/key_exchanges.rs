//! Which key exchange is negotiated.

use std::sync::Arc;

use rustls::{
    HandshakeKind, NamedGroup,
    client::Resumption,
    crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs, aws_lc_rs::kx_group},
};
use serow_tls::TlsVersion;

use crate::ends::{Delivery, Ours, Server, Site, client_config_of, connect, exchange};

/// A client that prefers these groups, and sends a key for the first.
fn provider(groups: &[&'static dyn SupportedKxGroup]) -> CryptoProvider {
    CryptoProvider { kx_groups: groups.to_vec(), ..aws_lc_rs::default_provider() }
}

/// The client's preference counts, as browsers have the post-quantum exchange first; and no client needs another
/// round trip for it.
#[test]
fn the_exchange_that_the_client_prefers_is_negotiated_however_its_hello_is_split() {
    let site = Site::new();
    let (quantum, curve): (&'static dyn SupportedKxGroup, _) = (kx_group::X25519MLKEM768, kx_group::X25519);
    for (groups, version, expected, step) in [
        (&[quantum, curve][..], TlsVersion::Tls13, NamedGroup::X25519MLKEM768, 1),
        (&[quantum], TlsVersion::Tls13, NamedGroup::X25519MLKEM768, 100),
        (&[curve, quantum], TlsVersion::Tls13, NamedGroup::X25519, 100),
        // It exists in TLS 1.3 only.
        (&[quantum, curve], TlsVersion::Tls12, NamedGroup::X25519, 100),
    ] {
        let mut config = client_config_of(provider(groups), site.authority.roots(), version);
        config.resumption = Resumption::disabled();
        let config = Arc::new(config);
        let mut hello = connect(&config, "example.com").flight();
        // The key alone has 1184 bytes (FIPS 203), so that the message may take two packets.
        assert_eq!(hello.len() > 1184, expected == NamedGroup::X25519MLKEM768);
        let acceptor = site.acceptor();
        for split in (0..hello.len()).step_by(step) {
            let (mut client, mut server) = (connect(&config, "example.com"), Server::new(&acceptor));
            hello = client.flight();
            let (first, rest) = hello.split_at(split);
            server.receive(first, Delivery::Whole).unwrap();
            assert!(server.sealed.is_empty());
            server.receive(rest, Delivery::Whole).unwrap();
            client.take(&std::mem::take(&mut server.sealed));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            let group = client.negotiated_key_exchange_group().map(SupportedKxGroup::name);
            assert_eq!((group, client.handshake_kind()), (Some(expected), Some(HandshakeKind::Full)), "{split}");
        }
    }
}

/// Our client has the post-quantum exchange first, and a key for X25519 for servers without it.
#[test]
fn our_client_offers_the_post_quantum_exchange_first() {
    let site = Site::new();
    let mut client = Ours::connect(&site.connector(TlsVersion::Tls13), "example.com");
    let hello = std::mem::take(&mut client.sealed);
    // The extension key_share (RFC 8446 §4.2.8): 51, two lengths, and the first group.
    let quantum = u16::from(NamedGroup::X25519MLKEM768).to_be_bytes();
    let shares = hello.windows(8).find(|bytes| bytes.starts_with(&[0, 51, 4]) && bytes[6..] == quantum);
    assert!(shares.is_some(), "{hello:02x?}");
    let curve = [&u16::from(NamedGroup::X25519).to_be_bytes()[..], &[0, 32]].concat();
    assert!(hello.windows(4).any(|bytes| bytes == curve));
}
