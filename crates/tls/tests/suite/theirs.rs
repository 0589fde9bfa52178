//! A server that is rustls whole, for clients of ours.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use rustls::{ServerConfig, ServerConnection, crypto::CryptoProvider};
use serow_tls::TlsError;

use crate::{
    authority::Issued,
    ends::{Delivery, Ours},
};

/// The server's end.
pub(crate) struct Theirs {
    connection: ServerConnection,
    /// Plaintext that it has received, until the test takes it.
    text: Vec<u8>,
    /// The first error that its peer has caused.
    error: Option<rustls::Error>,
}

/// The settings of a server with this certificate.
pub(crate) fn config(issued: &Issued, provider: CryptoProvider) -> ServerConfig {
    ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.der.clone()], issued.key_der.clone_key())
        .unwrap()
}

impl Theirs {
    pub(crate) fn new(config: impl Into<Arc<ServerConfig>>) -> Self {
        Self { connection: ServerConnection::new(config.into()).unwrap(), text: Vec::new(), error: None }
    }

    /// Returns the bytes that it has to send.
    pub(crate) fn flight(&mut self) -> Vec<u8> {
        let mut flight = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut flight).unwrap();
        }
        flight
    }

    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.connection.read_tls(&mut bytes).unwrap() > 0 {
            if let Err(error) = self.connection.process_new_packets() {
                self.error.get_or_insert(error);
            }
            let _ = self.connection.reader().read_to_end(&mut self.text);
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.connection.set_buffer_limit(None);
        self.connection.writer().write_all(bytes).unwrap();
    }

    /// New keys for what it sends, and a request for new ones of its peer.
    pub(crate) fn renew_keys(&mut self) {
        self.connection.refresh_traffic_keys().unwrap();
    }

    /// Returns the plaintext that it has received since the last call.
    pub(crate) fn text(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    pub(crate) fn error(&self) -> Option<&rustls::Error> {
        self.error.as_ref()
    }

    pub(crate) fn into_connection(self) -> ServerConnection {
        self.connection
    }

    /// Moves bytes until neither end has any more for the other.
    pub(crate) fn converse(&mut self, client: &mut Ours, delivery: Delivery) -> Result<(), TlsError> {
        loop {
            let flight = std::mem::take(&mut client.sealed);
            self.take(&flight);
            let answer = self.flight();
            let outcome = client.receive(&answer, delivery);
            if outcome.is_err() {
                self.take(&std::mem::take(&mut client.sealed));
            }
            outcome?;
            if answer.is_empty() && client.sealed.is_empty() {
                return Ok(());
            }
        }
    }
}
