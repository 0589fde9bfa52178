//! Measures the cost of a TLS record with Serow's record layer, with rustls' buffered and with its unbuffered
//! connection, and with the bare cipher; and the memory of an idle connection. `bench/records` runs it and prints the
//! table.
//!
//! ```text
//! records seal|open IMPLEMENTATION BYTES TIMES     nanoseconds of processor time for each record
//! records memory IMPLEMENTATION COUNT              bytes of resident memory for each idle connection
//! ```
//!
//! `IMPLEMENTATION` is `serow`, `buffered`, `unbuffered` or `cipher`. All are the server's side of TLS 1.3 with
//! AES-256-GCM by aws-lc-rs. Callgrind counts the instructions of the functions `measured_…`.
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

mod implementations;

use std::{
    error::Error,
    fs,
    hint::black_box,
    io::{Read, Write},
    sync::Arc,
};

use ::aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use bytes::BytesMut;
use rustix::time::{ClockId, clock_gettime};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::{NoServerSessionStorage, UnbufferedServerConnection},
    version::TLS13,
};
use serow_tls::{Certificates, SelfSigned, TlsAcceptor, TlsSession, TlsSettings};

use self::implementations::{Buffered, Serow, Server, Unbuffered};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["seal" | "open", "cipher", bytes, times] => println!("{}", cipher(bytes.parse()?, times.parse()?)?),
        ["seal", implementation, bytes, times] => {
            println!("{}", seal(implementation, bytes.parse()?, times.parse()?)?);
        }
        ["open", implementation, bytes, times] => {
            println!("{}", open(implementation, bytes.parse()?, times.parse()?)?);
        }
        ["memory", implementation, count] => println!("{}", memory(implementation, count.parse()?)?),
        _ => return Err("records seal|open IMPLEMENTATION BYTES TIMES, or records memory IMPLEMENTATION COUNT".into()),
    }
    Ok(())
}

/// Makes connections: the configurations of both sides.
struct Site {
    implementation: String,
    acceptor: TlsAcceptor,
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl Site {
    fn new(implementation: &str) -> Outcome<Self> {
        let (one, mut roots) = (SelfSigned::new()?, RootCertStore::empty());
        roots.add(one.certificate().to_vec().into())?;
        let mut settings = TlsSettings::self_signed()?;
        settings.certificates = Certificates::SelfSigned(one);
        let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        let certificate: CertificateDer<'static> = other.cert.der().clone();
        roots.add(certificate.clone())?;
        let key = PrivateKeyDer::Pkcs8(other.signing_key.serialize_der().into());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        // As `TlsAcceptor` has it: the client keeps the sessions.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.ticketer = aws_lc_rs::Ticketer::new()?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let acceptor = TlsAcceptor::new(settings)?;
        Ok(Self { implementation: implementation.to_owned(), acceptor, server: server.into(), client: client.into() })
    }

    /// An established connection that has received and sent one record.
    fn connect(&self) -> Outcome<(Box<dyn Server>, ClientConnection)> {
        let mut server: Box<dyn Server> = match &self.implementation[..] {
            "serow" => Box::new(Serow(TlsSession::accept(&self.acceptor)?)),
            "buffered" => Box::new(Buffered(ServerConnection::new(Arc::clone(&self.server))?)),
            "unbuffered" => Box::new(Unbuffered(UnbufferedServerConnection::new(Arc::clone(&self.server))?)),
            _ => return Err("the implementation is serow, buffered, unbuffered or cipher".into()),
        };
        let mut client = ClientConnection::new(Arc::clone(&self.client), "localhost".try_into()?)?;
        let mut received = BytesMut::new();
        while client.is_handshaking() || client.wants_write() {
            let (mut flight, mut sealed) = (Vec::new(), Vec::new());
            while client.wants_write() {
                client.write_tls(&mut flight)?;
            }
            received.extend_from_slice(&flight);
            server.shake_hands(&mut received, &mut sealed)?;
            take(&mut client, &sealed)?;
        }
        let (mut plaintext, mut sealed) = (BytesMut::new(), Vec::new());
        server.open(&mut records(&mut client, 151, 1)?, &mut plaintext)?;
        server.seal(&plaintext, &mut sealed)?;
        take(&mut client, &sealed)?;
        client.reader().read_exact(&mut [0; 151])?;
        Ok((server, client))
    }
}

/// Hands the client what the server sent.
fn take(client: &mut ClientConnection, mut sealed: &[u8]) -> Outcome<()> {
    while !sealed.is_empty() {
        client.read_tls(&mut sealed)?;
        client.process_new_packets()?;
    }
    Ok(())
}

/// Records of a client with so many bytes of plaintext each.
fn records(client: &mut ClientConnection, bytes: usize, times: usize) -> Outcome<BytesMut> {
    let mut records = Vec::new();
    for _ in 0..times {
        client.writer().write_all(&vec![7; bytes])?;
        while client.wants_write() {
            client.write_tls(&mut records)?;
        }
    }
    Ok(BytesMut::from(&records[..]))
}

fn seal(implementation: &str, bytes: usize, times: usize) -> Outcome<u64> {
    let (mut server, _client) = Site::new(implementation)?.connect()?;
    let mut sealed = Vec::with_capacity(2 * bytes + 100);
    let began = processor_time();
    measured_sealing(&mut *server, &vec![7; bytes], times, &mut sealed)?;
    Ok((processor_time() - began) / times as u64)
}

#[inline(never)]
fn measured_sealing(server: &mut dyn Server, plaintext: &[u8], times: usize, sealed: &mut Vec<u8>) -> Outcome<()> {
    for _ in 0..times {
        sealed.clear();
        server.seal(black_box(plaintext), sealed)?;
    }
    Ok(())
}

fn open(implementation: &str, bytes: usize, times: usize) -> Outcome<u64> {
    let (mut server, mut client) = Site::new(implementation)?.connect()?;
    let mut plaintext = BytesMut::with_capacity(2 * bytes);
    let (mut time, mut left) = (0, times);
    while left > 0 {
        // Not all at once, which would take gigabytes.
        let count = left.min(1000);
        let mut received = records(&mut client, bytes, count)?;
        let began = processor_time();
        measured_opening(&mut *server, &mut received, &mut plaintext)?;
        time += processor_time() - began;
        left -= count;
    }
    Ok(time / times as u64)
}

#[inline(never)]
fn measured_opening(server: &mut dyn Server, received: &mut BytesMut, plaintext: &mut BytesMut) -> Outcome<()> {
    while !received.is_empty() {
        // Record by record, as from a socket.
        let length = 5 + usize::from(u16::from_be_bytes([received[3], received[4]]));
        let mut record = received.split_to(length);
        plaintext.clear();
        server.open(&mut record, plaintext)?;
    }
    Ok(())
}

/// The same encryption without TLS: what no implementation can do without.
fn cipher(bytes: usize, times: usize) -> Outcome<u64> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[1; 32])?);
    let began = processor_time();
    measured_encryption(&key, &mut vec![7; bytes], times);
    Ok((processor_time() - began) / times as u64)
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

/// Resident memory of each idle connection, from what `count` more of them add.
fn memory(implementation: &str, count: usize) -> Outcome<usize> {
    let site = Site::new(implementation)?;
    let connect = |count| (0..count).map(|_| Ok(site.connect()?.0)).collect::<Outcome<Vec<_>>>();
    // The first connections take the memory that is allocated once, and the memory that dropped clients leave free.
    let first = connect(count / 4)?;
    let before = resident()?;
    let more = connect(count)?;
    let bytes = resident()?.saturating_sub(before);
    drop((first, more));
    Ok(bytes / count)
}

/// Bytes of memory that this process has (proc_pid_status(5)).
fn resident() -> Outcome<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the system does not tell VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<usize>()? * 1024)
}

/// Nanoseconds of processor time so far.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
