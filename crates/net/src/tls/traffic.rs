//! What happens once the handshake is complete: records with data, alerts, and new keys.
//!
//! The library that makes the handshake (rustls 0.23) could go on here, but it makes a copy on the heap of each record,
//! received or sent. Here a record is decrypted where it was received, and encrypted to where it is sent from; and an idle
//! session keeps nothing but its keys.

use bytes::{Buf, BytesMut};
use rustls::{
    AlertDescription, ContentType, HandshakeType, SupportedCipherSuite,
    kernel::KernelConnection,
    server::{ServerConnectionData, UnbufferedServerConnection},
};

use super::{
    Protocol, Received, TlsDescription, TlsError, TlsVersion,
    record::{HEADER_LENGTH, LARGEST_BODY, LARGEST_RECORD, RECORD_OVERHEAD, RecordHeader, RecordKeys},
};

/// An established session.
pub(super) struct Traffic {
    receiving: RecordKeys,
    sending: RecordKeys,
    /// Makes the next keys, in TLS 1.3.
    schedule: Option<Box<KernelConnection<ServerConnectionData>>>,
    /// Records that may be sent with the same keys.
    most_records: u64,
    patience: Patience,
    sent_close: bool,
    pub(super) closed_by_peer: bool,
    pub(super) protocol: Option<Protocol>,
    pub(super) description: TlsDescription,
}

/// How often the peer may still do what costs us and brings nothing.
struct Patience {
    warnings: u8,
    key_updates: u8,
    renegotiations: u8,
}

impl Traffic {
    /// Goes on where the handshake ended. All that the library wanted to send must have left it.
    pub(super) fn new(
        connection: UnbufferedServerConnection,
        protocol: Option<Protocol>,
        description: TlsDescription,
    ) -> Result<Self, TlsError> {
        let version = description.version;
        let suite = connection.negotiated_cipher_suite().ok_or_else(TlsError::unusable_keys)?;
        let most_records = match suite {
            SupportedCipherSuite::Tls13(suite) => suite.common.confidentiality_limit,
            SupportedCipherSuite::Tls12(suite) => suite.common.confidentiality_limit,
        };
        let (secrets, schedule) = connection.dangerous_into_kernel_connection()?;
        Ok(Self {
            receiving: RecordKeys::new(version, secrets.rx)?,
            sending: RecordKeys::new(version, secrets.tx)?,
            schedule: (version == TlsVersion::Tls13).then(|| Box::new(schedule)),
            most_records,
            patience: Patience::NEW,
            sent_close: false,
            closed_by_peer: false,
            protocol,
            description,
        })
    }

    /// Takes whole records from the front of `received`.
    #[inline]
    pub(super) fn receive(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        let mut news = Received::default();
        while let Some(header) = RecordHeader::of(received) {
            let outcome = match self.check(header) {
                Err(alert) => Err(TlsError::Broken(alert)),
                Ok(()) if received.len() < HEADER_LENGTH + header.length() => break,
                Ok(()) => self.take(header, received, plaintext, sealed),
            };
            if let Err(error) = outcome {
                self.tell(&error, sealed);
                return Err(error);
            }
            received.advance(HEADER_LENGTH + header.length());
            if self.closed_by_peer {
                news.closed = true;
                received.clear();
                break;
            }
        }
        Ok(news)
    }

    /// Encrypts into records whose plaintext has at most `record` bytes.
    #[inline]
    pub(super) fn seal(&mut self, plaintext: &[u8], record: usize, sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.sent_close {
            return Err(TlsError::NotEstablished);
        }
        let record = record.clamp(1, LARGEST_RECORD);
        sealed.reserve(plaintext.len() + plaintext.len().div_ceil(record) * RECORD_OVERHEAD);
        for piece in plaintext.chunks(record) {
            if self.sending.sequence() >= self.most_records {
                self.renew_sending(sealed)?;
            }
            self.sending.seal(ContentType::ApplicationData, piece, sealed)?;
        }
        Ok(())
    }

    /// Says that nothing more will be sent.
    pub(super) fn close(&mut self, sealed: &mut Vec<u8>) {
        if !self.sent_close {
            self.sent_close = true;
            self.send_alert(WARNING, AlertDescription::CloseNotify, sealed);
        }
    }

    /// Whether a record may begin like this.
    #[inline]
    fn check(&self, header: RecordHeader) -> Result<(), AlertDescription> {
        if header.length() > LARGEST_BODY {
            return Err(AlertDescription::RecordOverflow);
        }
        let is_13 = self.description.version == TlsVersion::Tls13;
        // RFC 8446 §5: after the handshake, everything is encrypted, and then it looks like data.
        if is_13 && header.kind() != ContentType::ApplicationData {
            return Err(AlertDescription::UnexpectedMessage);
        }
        // RFC 8446 §5.1: the version is to be ignored there.
        if !is_13 && !header.has_right_version() {
            return Err(AlertDescription::ProtocolVersion);
        }
        Ok(())
    }

    /// Handles one whole record.
    #[inline]
    fn take(
        &mut self,
        header: RecordHeader,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let body = &mut received[HEADER_LENGTH..HEADER_LENGTH + header.length()];
        let (kind, content) = self.receiving.open(header, body).map_err(TlsError::Broken)?;
        match kind {
            ContentType::ApplicationData => {
                self.patience.key_updates = Patience::NEW.key_updates;
                plaintext.extend_from_slice(content);
                Ok(())
            }
            ContentType::Alert => {
                // RFC 8446 §5.1: an alert is not divided, and alone in its record.
                let &[level, description] = content else {
                    return Err(TlsError::Broken(AlertDescription::DecodeError));
                };
                self.handle_alert(level, AlertDescription::from(description))
            }
            ContentType::Handshake => {
                // What can be meant is short; the rest is looked at no further.
                let mut message = [0; KEY_UPDATE_LENGTH];
                let known = content.len().min(KEY_UPDATE_LENGTH);
                message[..known].copy_from_slice(&content[..known]);
                let message =
                    if content.len() == KEY_UPDATE_LENGTH { Ok(message) } else { Err(content.first().copied()) };
                self.handle_handshake(message, sealed)
            }
            _ => Err(TlsError::Broken(AlertDescription::UnexpectedMessage)),
        }
    }

    /// RFC 8446 §6, RFC 5246 §7.2.
    fn handle_alert(&mut self, level: u8, description: AlertDescription) -> Result<(), TlsError> {
        if description == AlertDescription::CloseNotify {
            self.closed_by_peer = true;
            return Ok(());
        }
        // RFC 8446 §6: all alerts are fatal there, whatever their level, but for the ones that say goodbye.
        let is_warning = match self.description.version {
            TlsVersion::Tls13 => description == AlertDescription::UserCanceled,
            TlsVersion::Tls12 => level == WARNING,
        };
        if !is_warning {
            return Err(TlsError::Alert(description));
        }
        spend(&mut self.patience.warnings)
    }

    /// What may come of a handshake afterwards; a message that is not as long as the only one that is understood comes as
    /// its first byte.
    fn handle_handshake(
        &mut self,
        message: Result<[u8; KEY_UPDATE_LENGTH], Option<u8>>,
        sealed: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let first = message.map_or_else(|first| first, |message| Some(message[0])).map(HandshakeType::from);
        match (self.description.version, first, message) {
            // RFC 8446 §4.6.3, §5.1: new keys, so nothing stands behind it. (It could be divided among records. Nobody
            // does that with five bytes.)
            (TlsVersion::Tls13, Some(HandshakeType::KeyUpdate), Ok([_, 0, 0, 1, wish @ (0 | 1)])) => {
                spend(&mut self.patience.key_updates)?;
                self.receiving = RecordKeys::new(TlsVersion::Tls13, self.schedule()?.update_rx_secret()?)?;
                // RFC 8446 §4.6.3: before the next data. Where nothing more is sent, there is none.
                if wish == 1 && !self.sent_close { self.renew_sending(sealed) } else { Ok(()) }
            }
            (TlsVersion::Tls13, Some(HandshakeType::KeyUpdate), Ok([_, 0, 0, 1, _])) => {
                Err(TlsError::Broken(AlertDescription::IllegalParameter))
            }
            // RFC 5246 §7.4.1.2: a client that wants another handshake. It may be refused, and goes on.
            (TlsVersion::Tls12, Some(HandshakeType::ClientHello), _) => {
                spend(&mut self.patience.renegotiations)?;
                self.send_alert(WARNING, AlertDescription::NoRenegotiation, sealed);
                Ok(())
            }
            _ => Err(TlsError::Broken(AlertDescription::UnexpectedMessage)),
        }
    }

    /// Sends with new keys from here on (RFC 8446 §4.6.3). TLS 1.2 has no such thing.
    fn renew_sending(&mut self, sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.schedule.is_none() {
            return Err(TlsError::Exhausted);
        }
        // Not requested: the peer knows best when its own keys have served enough.
        let message = [u8::from(HandshakeType::KeyUpdate), 0, 0, 1, 0];
        self.sending.seal(ContentType::Handshake, &message, sealed)?;
        self.sending = RecordKeys::new(TlsVersion::Tls13, self.schedule()?.update_tx_secret()?)?;
        Ok(())
    }

    fn schedule(&mut self) -> Result<&mut KernelConnection<ServerConnectionData>, TlsError> {
        self.schedule.as_deref_mut().ok_or(TlsError::Exhausted)
    }

    /// Tells the peer why the session ends, unless the peer has said so itself.
    fn tell(&mut self, error: &TlsError, sealed: &mut Vec<u8>) {
        if let Some(alert) = error.alert()
            && !self.sent_close
        {
            self.sent_close = true;
            self.send_alert(FATAL, alert, sealed);
        }
    }

    fn send_alert(&mut self, level: u8, description: AlertDescription, sealed: &mut Vec<u8>) {
        // Where even this cannot be encrypted, the end of the connection must do.
        let _ = self.sending.seal(ContentType::Alert, &[level, description.into()], sealed);
    }
}

impl Patience {
    /// A peer that goes on like this keeps the processor busy for nothing. The numbers are those of BoringSSL
    /// (`kMaxWarningAlerts`, `kMaxKeyUpdates`), which browsers and servers have in common; a second attempt to renegotiate
    /// after a refusal is one too many.
    const NEW: Self = Self { warnings: 4, key_updates: 32, renegotiations: 1 };
}

/// One time less.
fn spend(patience: &mut u8) -> Result<(), TlsError> {
    *patience = patience.checked_sub(1).ok_or(TlsError::Broken(AlertDescription::UnexpectedMessage))?;
    Ok(())
}

/// RFC 8446 §6
const WARNING: u8 = 1;
const FATAL: u8 = 2;

/// RFC 8446 §4, §4.6.3: a head of 4 bytes, and the wish.
const KEY_UPDATE_LENGTH: usize = 5;
