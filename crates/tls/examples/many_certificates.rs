//! Measures the cost of certificates in a table: memory for each, and the time of a handshake with many and with one.
//!
//! `cargo run --release -p serow-tls --example many_certificates [NUMBER]`
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::{
    env, fs,
    time::{Duration, Instant},
};

use bytes::BytesMut;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serow_tls::{
    CertificateTable, Resumption, ServerCertificate, TlsAcceptor, TlsClientSettings, TlsConnector, TlsSession,
    TlsSettings, Trust,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let number = env::args().nth(1).map_or(Ok(10_000), |text| text.parse::<usize>())?;
    let authority = Authority::new()?;
    let (one, many) = (CertificateTable::default(), CertificateTable::default());
    one.install(&["n0.example.com"], &authority.issue("n0.example.com")?);
    // Issuing the first certificate has already taken the memory that the generation itself takes for good.
    let before = resident()?;
    for name in (0..number).map(|number| format!("n{number}.example.com")) {
        many.install(&[&name], &authority.issue(&name)?);
    }
    let each = resident()?.saturating_sub(before) / number as u64;
    println!("{number} certificates: {each} bytes of memory each");
    let (one, many) = (acceptor(one)?, acceptor(many)?);
    let connector = TlsConnector::new(TlsClientSettings {
        trust: Trust::Unchecked,
        resumption: Resumption::Off,
        ..TlsClientSettings::default()
    })?;
    let (mut with_one, mut with_many) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        with_one.push(handshakes(&one, &connector, |_| 0)?);
        with_many.push(handshakes(&many, &connector, |handshake| (round * 7919 + handshake * 104_729) % number)?);
    }
    let (one, many) = (median(with_one), median(with_many));
    println!("a handshake, both ends: {one:?} with one certificate, {many:?} with {number}");
    Ok(())
}

/// An authority with an intermediate certificate, as public ones have it.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    intermediate: String,
}

impl Authority {
    fn new() -> Result<Self> {
        let (root_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = Issuer::new(root, root_key);
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let intermediate = parameters.signed_by(&key, &root)?.pem();
        Ok(Self { issuer: Issuer::new(parameters, key), intermediate })
    }

    fn issue(&self, name: &str) -> Result<ServerCertificate> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec![name.to_owned()])?.signed_by(&key, &self.issuer)?;
        let chain = certificate.pem() + &self.intermediate;
        Ok(ServerCertificate::from_pem(chain.as_bytes(), key.serialize_pem().as_bytes())?)
    }
}

fn acceptor(table: CertificateTable) -> Result<TlsAcceptor> {
    Ok(TlsAcceptor::new(TlsSettings::managed(Vec::new(), table))?)
}

/// The time of one of several handshakes, with the names of these numbers.
fn handshakes(acceptor: &TlsAcceptor, connector: &TlsConnector, name: impl Fn(usize) -> usize) -> Result<Duration> {
    let begin = Instant::now();
    for handshake in 0..HANDSHAKES {
        let mut client = TlsSession::connect(connector, &format!("n{}.example.com", name(handshake)))?;
        let mut server = TlsSession::accept(acceptor)?;
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        client.begin(&mut to_server);
        let (mut at_server, mut at_client, mut plaintext) = (BytesMut::new(), BytesMut::new(), BytesMut::new());
        while !(client.is_established() && server.is_established()) {
            at_server.extend_from_slice(&std::mem::take(&mut to_server));
            server.receive(&mut at_server, &mut plaintext, &mut to_client)?;
            at_client.extend_from_slice(&std::mem::take(&mut to_client));
            client.receive(&mut at_client, &mut plaintext, &mut to_server)?;
        }
    }
    Ok(begin.elapsed() / HANDSHAKES as u32)
}

/// Resident memory in bytes (proc_pid_statm(5)).
fn resident() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').nth(1).ok_or("no resident pages")?.parse()?;
    Ok(pages * rustix::param::page_size() as u64)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

const ROUNDS: usize = 15;
const HANDSHAKES: usize = 200;
