//! The TLS of one connection.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use rustls::{
    HandshakeKind, ProtocolVersion,
    server::{ServerConnectionData, UnbufferedServerConnection},
    unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic},
};

use super::{Protocol, TlsAcceptor, TlsDescription, TlsError, TlsVersion};

/// The TLS of one connection; the caller moves the bytes.
///
/// It keeps no bytes, neither received nor to be sent: they stay in the caller's buffers, and an idle session needs none.
pub struct TlsSession {
    connection: Box<UnbufferedServerConnection>,
    state: State,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The peer has said nothing yet.
    New,
    /// The handshake goes on.
    Handshake,
    /// Both sides may send.
    Established,
    /// The peer has said that it sends no more.
    PeerClosed,
    /// Nothing can be done any more.
    Failed,
}

/// What receiving brought, beside plaintext.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The handshake has just become complete: the protocol is agreed upon, and sending is possible.
    pub established: bool,
    /// The peer has just said that it sends no more (close_notify). An input that ends without it was cut off, by the
    /// network or by somebody who wants a part to be taken for the whole.
    pub closed: bool,
}

impl TlsSession {
    /// Begins a session with a peer that has just connected.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn accept(acceptor: &TlsAcceptor) -> Result<Self, TlsError> {
        let connection = UnbufferedServerConnection::new(Arc::clone(&acceptor.config))?;
        Ok(Self { connection: Box::new(connection), state: State::New })
    }

    /// Takes whole records from the front of `received` and appends their plaintext to `plaintext`; what must be sent back
    /// is appended to `sealed`: flights of the handshake, tickets, alerts. What is left in `received` must still be there,
    /// with more behind it, at the next call. Of what comes behind a close_notify nothing is taken for data (RFC 8446
    /// §6.1); it is thrown away.
    ///
    /// # Errors
    ///
    /// When the peer breaks the protocol or nothing can be agreed upon. `sealed` then has the alert that tells the peer;
    /// the session is of no more use.
    pub fn receive(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        if self.state == State::New && !received.is_empty() {
            if let Err(error) = check_first_bytes(received) {
                self.state = State::Failed;
                return Err(error);
            }
            self.state = State::Handshake;
        }
        if matches!(self.state, State::Failed | State::PeerClosed) {
            received.clear();
            return Ok(Received::default());
        }
        let outcome = self.process(received, plaintext, sealed);
        if outcome.is_err() {
            self.state = State::Failed;
        }
        outcome
    }

    /// Encrypts into records whose plaintext has at most `record` bytes, at least 1 and at most [`LARGEST_RECORD`].
    ///
    /// # Errors
    ///
    /// Outside an established session, and when too much was sent with the same keys of TLS 1.2.
    pub fn seal(&mut self, plaintext: &[u8], record: usize, sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        if !self.is_established() {
            return Err(TlsError::NotEstablished);
        }
        for piece in plaintext.chunks(record.clamp(1, LARGEST_RECORD)) {
            self.write(piece, sealed, |traffic, piece, room| traffic.encrypt(piece, room))?;
        }
        Ok(())
    }

    /// Says that nothing more will be sent (close_notify). The peer may go on.
    pub fn close(&mut self, sealed: &mut Vec<u8>) {
        if !self.is_established() {
            return;
        }
        // Refused where it has been said before.
        let _ = self.write(&[], sealed, |traffic, _, room| traffic.queue_close_notify(room));
    }

    /// Whether the handshake is complete, and sending possible.
    #[must_use]
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Established | State::PeerClosed)
    }

    /// Whether the peer has said that it sends no more.
    #[must_use]
    pub fn is_closed_by_peer(&self) -> bool {
        self.state == State::PeerClosed
    }

    /// What is spoken inside, if that was agreed upon.
    #[must_use]
    pub fn protocol(&self) -> Option<Protocol> {
        self.connection.alpn_protocol().and_then(Protocol::of_name)
    }

    /// What was agreed upon; nothing before the handshake is complete.
    #[must_use]
    pub fn description(&self) -> Option<TlsDescription> {
        if !self.is_established() {
            return None;
        }
        Some(TlsDescription {
            version: match self.connection.protocol_version()? {
                ProtocolVersion::TLSv1_3 => TlsVersion::Tls13,
                _ => TlsVersion::Tls12,
            },
            cipher_suite: self.connection.negotiated_cipher_suite()?.suite().as_str().unwrap_or("unknown"),
            server_name: None,
            client_certificate: self
                .connection
                .peer_certificates()
                .and_then(|chain| chain.first())
                .map(|certificate| Arc::from(certificate.as_ref())),
            resumed: self.connection.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }

    fn process(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        let mut news = Received::default();
        loop {
            let UnbufferedStatus { mut discard, state } = self.connection.process_tls_records(received);
            let mut is_done = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        plaintext.extend_from_slice(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, sealed),
                Ok(ConnectionState::TransmitTlsData(transmission)) => transmission.done(),
                Ok(ConnectionState::PeerClosed) => news.closed = true,
                Ok(_) => is_done = true,
                Err(error) => {
                    self.encode_alert(sealed);
                    return Err(error.into());
                }
            }
            received.advance(discard.min(received.len()));
            if is_done {
                break;
            }
        }
        if self.state == State::Handshake && !self.connection.is_handshaking() {
            self.state = State::Established;
            news.established = true;
        }
        if news.closed {
            self.state = State::PeerClosed;
            received.clear();
        }
        Ok(news)
    }

    /// What tells the peer why it failed.
    fn encode_alert(&mut self, sealed: &mut Vec<u8>) {
        while let UnbufferedStatus { state: Ok(ConnectionState::EncodeTlsData(data)), .. } =
            self.connection.process_tls_records(&mut [])
        {
            encode(data, sealed);
        }
    }

    /// Has the library write something that depends on the plaintext, behind what it wants to send itself.
    fn write(
        &mut self,
        plaintext: &[u8],
        sealed: &mut Vec<u8>,
        write: impl Fn(&mut WriteTraffic<'_, ServerConnectionData>, &[u8], &mut [u8]) -> Result<usize, EncryptError>,
    ) -> Result<(), TlsError> {
        loop {
            match self.connection.process_tls_records(&mut []).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let start = sealed.len();
                    let mut room = plaintext.len() + RECORD_OVERHEAD;
                    loop {
                        sealed.resize(start + room, 0);
                        match write(&mut traffic, plaintext, &mut sealed[start..]) {
                            Ok(length) => {
                                sealed.truncate(start + length);
                                return Ok(());
                            }
                            Err(EncryptError::InsufficientSize(size)) => room = size.required_size,
                            Err(EncryptError::EncryptExhausted) => {
                                sealed.truncate(start);
                                return Err(TlsError::Server(rustls::Error::EncryptError));
                            }
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, sealed),
                Ok(ConnectionState::TransmitTlsData(transmission)) => transmission.done(),
                Ok(ConnectionState::PeerClosed) => {}
                Ok(_) => return Err(TlsError::NotEstablished),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Appends what is to be sent.
fn encode<Data>(mut data: EncodeTlsData<'_, Data>, sealed: &mut Vec<u8>) {
    let start = sealed.len();
    if let Err(EncodeError::InsufficientSize(size)) = data.encode(&mut []) {
        sealed.resize(start + size.required_size, 0);
        let written = data.encode(&mut sealed[start..]).unwrap_or(0);
        sealed.truncate(start + written);
    }
}

/// RFC 8446 §5.1: the first byte is the content type handshake, the second the major version 3.
fn check_first_bytes(received: &[u8]) -> Result<(), TlsError> {
    match received {
        [HANDSHAKE] | [HANDSHAKE, 3, ..] => Ok(()),
        [first, ..] => Err(TlsError::NotTls { http: first.is_ascii_alphabetic() }),
        [] => Ok(()),
    }
}

/// RFC 8446 §5.1
const HANDSHAKE: u8 = 22;

/// The most plaintext in a record (RFC 8446 §5.1).
pub const LARGEST_RECORD: usize = 1 << 14;

/// The most bytes that a record adds to its plaintext: a head of 5 bytes (RFC 8446 §5.1), a tag of 16 (RFC 5116 §5.1) and
/// a type (TLS 1.3) or an explicit nonce of 8 (TLS 1.2 with AES-GCM, RFC 5288 §3). For whoever wants a record to fill a
/// segment.
pub const RECORD_OVERHEAD: usize = 5 + 8 + 16;
