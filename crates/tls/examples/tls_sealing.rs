//! What sealing costs, beside the same encryption without TLS. To be counted with
//! `valgrind --tool=callgrind --toggle-collect='tls_sealing::measured*'`.
//!
//! `tls_sealing seal|open|plain BYTES TIMES`

use std::{
    hint::black_box,
    io::{Read, Write},
    sync::Arc,
};

use ::aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use bytes::BytesMut;
use rustls::{ClientConfig, ClientConnection, RootCertStore, crypto::aws_lc_rs, version::TLS13};
use serow_tls::{Certificates, LARGEST_RECORD, SelfSigned, TlsAcceptor, TlsSession, TlsSettings};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, what, bytes, times] = &arguments[..] else { return Err("seal|open|plain BYTES TIMES".into()) };
    let (bytes, times): (usize, usize) = (bytes.parse()?, times.parse()?);
    let (mut session, mut client) = established()?;
    match what.as_str() {
        "seal" => {
            let mut sealed = Vec::with_capacity(2 * bytes + 100);
            measured_sealing(&mut session, &vec![7; bytes], times, &mut sealed)?;
        }
        "open" => {
            let mut records = Vec::new();
            for _ in 0..times {
                client.writer().write_all(&vec![7; bytes])?;
                while client.wants_write() {
                    client.write_tls(&mut records)?;
                }
            }
            let mut received = BytesMut::from(&records[..]);
            measured_opening(&mut session, &mut received, bytes)?;
        }
        _ => {
            let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[1; 32]).map_err(|_| "no key")?);
            measured_encryption(&key, &mut vec![7; bytes], times);
        }
    }
    Ok(())
}

#[inline(never)]
fn measured_sealing(session: &mut TlsSession, plaintext: &[u8], times: usize, sealed: &mut Vec<u8>) -> Outcome<()> {
    for _ in 0..times {
        sealed.clear();
        session.seal(black_box(plaintext), LARGEST_RECORD, sealed)?;
    }
    Ok(())
}

#[inline(never)]
fn measured_opening(session: &mut TlsSession, received: &mut BytesMut, bytes: usize) -> Outcome<()> {
    let mut plaintext = BytesMut::with_capacity(2 * bytes);
    while !received.is_empty() {
        // Record by record, as from a socket.
        let length = 5 + usize::from(u16::from_be_bytes([received[3], received[4]]));
        let mut record = received.split_to(length);
        plaintext.clear();
        session.receive(&mut record, &mut plaintext, &mut Vec::new())?;
    }
    Ok(())
}

#[inline(never)]
fn measured_encryption(key: &LessSafeKey, text: &mut [u8], times: usize) {
    for number in 0..times {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&number.to_be_bytes());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let _ = black_box(key.seal_in_place_separate_tag(nonce, Aad::from([0; 5]), black_box(text)));
    }
}

/// A session of TLS 1.3 with the cipher that rustls prefers, AES-256-GCM, and its client.
fn established() -> Outcome<(TlsSession, ClientConnection)> {
    let one = SelfSigned::new()?;
    let mut roots = RootCertStore::empty();
    roots.add(one.certificate().to_vec().into())?;
    let mut settings = TlsSettings::self_signed()?;
    settings.certificates = Certificates::SelfSigned(one);
    let mut session = TlsSession::accept(&TlsAcceptor::new(settings)?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut client = ClientConnection::new(Arc::new(config), "localhost".try_into()?)?;
    let (mut received, mut plaintext) = (BytesMut::new(), BytesMut::new());
    while !session.is_established() {
        let (mut flight, mut sealed) = (Vec::new(), Vec::new());
        while client.wants_write() {
            client.write_tls(&mut flight)?;
        }
        received.extend_from_slice(&flight);
        session.receive(&mut received, &mut plaintext, &mut sealed)?;
        let mut sealed = &sealed[..];
        while !sealed.is_empty() {
            client.read_tls(&mut sealed)?;
            client.process_new_packets()?;
        }
    }
    let _ = client.reader().read(&mut [0; 16]);
    Ok((session, client))
}
