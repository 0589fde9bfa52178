//! Two ends of a connection in memory: a client of rustls, and our session; or both of ours.

use std::{
    io::{Read, Write},
    ops::{Deref, DerefMut},
    sync::Arc,
};

use bytes::BytesMut;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::ServerName,
    version::{TLS12, TLS13},
};
use serow_tls::{
    CertificateFiles, TlsAcceptor, TlsClientSettings, TlsConnector, TlsError, TlsSession, TlsSettings, TlsVersion,
    TlsVersions, Trust,
};
use tempfile::TempDir;

use crate::authority::{Authority, Issued, file};

/// How the bytes come to our end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// All that the other end has made, at once.
    Whole,
    ByteByByte,
}

/// The server's end.
pub(crate) type Server = Ours;

/// An end of ours, with its buffers.
pub(crate) struct Ours {
    pub(crate) session: TlsSession,
    pub(crate) received: BytesMut,
    pub(crate) plaintext: BytesMut,
    pub(crate) sealed: Vec<u8>,
    pub(crate) established: u32,
    pub(crate) closed: u32,
}

impl Ours {
    /// A server's.
    pub(crate) fn new(acceptor: &TlsAcceptor) -> Self {
        Self::of(TlsSession::accept(acceptor).unwrap())
    }

    /// A client's, whose first flight is made.
    pub(crate) fn connect(connector: &TlsConnector, name: &str) -> Self {
        let mut this = Self::of(TlsSession::connect(connector, name).unwrap());
        this.session.begin(&mut this.sealed);
        this
    }

    fn of(session: TlsSession) -> Self {
        Self {
            session,
            received: BytesMut::new(),
            plaintext: BytesMut::new(),
            sealed: Vec::new(),
            established: 0,
            closed: 0,
        }
    }

    pub(crate) fn receive(&mut self, bytes: &[u8], delivery: Delivery) -> Result<(), TlsError> {
        let pieces = match delivery {
            Delivery::Whole => bytes.chunks(bytes.len().max(1)),
            Delivery::ByteByByte => bytes.chunks(1),
        };
        for piece in pieces {
            self.received.extend_from_slice(piece);
            let news = self.session.receive(&mut self.received, &mut self.plaintext, &mut self.sealed)?;
            self.established += u32::from(news.established);
            self.closed += u32::from(news.closed);
        }
        Ok(())
    }
}

/// The client's end.
pub(crate) struct Client {
    connection: ClientConnection,
    /// Plaintext that it has received, until the test takes it.
    text: Vec<u8>,
}

impl Client {
    /// Returns the bytes that it has to send.
    pub(crate) fn flight(&mut self) -> Vec<u8> {
        let mut flight = Vec::new();
        while self.wants_write() {
            self.write_tls(&mut flight).unwrap();
        }
        flight
    }

    /// Takes bytes; what it thinks of them is in its state.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.read_tls(&mut bytes).unwrap() > 0 {
            let _ = self.connection.process_new_packets();
            let _ = self.connection.reader().read_to_end(&mut self.text);
        }
    }

    /// The connection alone.
    pub(crate) fn into_connection(self) -> ClientConnection {
        self.connection
    }

    /// Returns the plaintext that it has received since the last call.
    pub(crate) fn text(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.connection.set_buffer_limit(None);
        self.connection.writer().write_all(bytes).unwrap();
    }
}

impl Deref for Client {
    type Target = ClientConnection;

    fn deref(&self) -> &ClientConnection {
        &self.connection
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut ClientConnection {
        &mut self.connection
    }
}

/// Moves bytes until neither end has any more for the other.
pub(crate) fn exchange(client: &mut Client, server: &mut Server, delivery: Delivery) -> Result<(), TlsError> {
    loop {
        let flight = client.flight();
        let outcome = server.receive(&flight, delivery);
        let answer = std::mem::take(&mut server.sealed);
        client.take(&answer);
        outcome?;
        if flight.is_empty() && answer.is_empty() {
            return Ok(());
        }
    }
}

/// As [`exchange`], for two ends of ours.
pub(crate) fn converse(client: &mut Ours, server: &mut Ours, delivery: Delivery) -> Result<(), TlsError> {
    loop {
        let flight = std::mem::take(&mut client.sealed);
        let outcome = server.receive(&flight, delivery);
        let answer = std::mem::take(&mut server.sealed);
        client.receive(&answer, delivery)?;
        outcome?;
        if answer.is_empty() && client.sealed.is_empty() {
            return Ok(());
        }
    }
}

/// A server with one certificate, and clients that trust it.
pub(crate) struct Site {
    pub(crate) authority: Authority,
    pub(crate) folder: TempDir,
    pub(crate) settings: TlsSettings,
}

impl Site {
    pub(crate) fn new() -> Self {
        let authority = Authority::new();
        let issued = authority.issue(&["example.com"]);
        Self::with(authority, &[issued])
    }

    pub(crate) fn with(authority: Authority, issued: &[Issued]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<CertificateFiles> = issued
            .iter()
            .enumerate()
            .map(|(number, issued)| issued.store(folder.path(), &number.to_string()))
            .collect();
        Self { authority, folder, settings: TlsSettings::files(files) }
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::new(self.settings.clone()).unwrap()
    }

    pub(crate) fn client(&self, version: TlsVersion, name: &'static str) -> Client {
        connect(&Arc::new(self.client_config(version)), name)
    }

    /// The settings of a client of ours that trusts its authority.
    pub(crate) fn client_settings(&self) -> TlsClientSettings {
        let authority = file(self.folder.path(), "authority.pem", self.authority.pem());
        TlsClientSettings { trust: Trust::File(authority), ..TlsClientSettings::default() }
    }

    /// A client of ours that speaks one version.
    pub(crate) fn connector(&self, version: TlsVersion) -> TlsConnector {
        TlsConnector::new(TlsClientSettings { versions: only(version), ..self.client_settings() }).unwrap()
    }

    pub(crate) fn client_config(&self, version: TlsVersion) -> ClientConfig {
        client_config(self.authority.roots(), version)
    }
}

pub(crate) fn client_config(roots: RootCertStore, version: TlsVersion) -> ClientConfig {
    client_config_of(aws_lc_rs::default_provider(), roots, version)
}

pub(crate) fn client_config_of(provider: CryptoProvider, roots: RootCertStore, version: TlsVersion) -> ClientConfig {
    let versions = match version {
        TlsVersion::Tls12 => &[&TLS12],
        TlsVersion::Tls13 => &[&TLS13],
    };
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

pub(crate) fn connect(config: &Arc<ClientConfig>, name: &'static str) -> Client {
    let connection = ClientConnection::new(Arc::clone(config), ServerName::try_from(name).unwrap()).unwrap();
    Client { connection, text: Vec::new() }
}

/// Both ends after a handshake.
pub(crate) fn established(site: &Site, version: TlsVersion) -> (Client, Server) {
    let (mut client, mut server) = (site.client(version, "example.com"), Server::new(&site.acceptor()));
    exchange(&mut client, &mut server, Delivery::Whole).unwrap();
    assert!(!client.is_handshaking() && server.session.is_established());
    (client, server)
}

/// One version.
pub(crate) fn only(version: TlsVersion) -> TlsVersions {
    TlsVersions { lowest: version, highest: version }
}

pub(crate) const VERSIONS: [TlsVersion; 2] = [TlsVersion::Tls12, TlsVersion::Tls13];
