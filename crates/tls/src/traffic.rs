//! The record layer after the handshake: data, alerts, and key updates.
//!
//! rustls, which makes the handshake, could continue here, but its buffered connection copies each record on the heap.
//! Here a record is decrypted where it was received, and encrypted into the buffer it is sent from; an idle session
//! keeps nothing but its keys. docs/measurements/tls-records.md has the ratios.

use bytes::{Buf, BytesMut};
use rustls::{AlertDescription, ContentType, HandshakeType, SupportedCipherSuite};

use crate::{
    Protocol, Received, TlsDescription, TlsError, TlsVersion,
    connection::Connection,
    flood_limits::{FloodLimits, take_one},
    messages::{KeyUpdateRequest, Message, Messages},
    record::{HEADER_LENGTH, MAX_RECORD_BODY, MAX_RECORD_PLAINTEXT, RECORD_OVERHEAD, RecordHeader, RecordKeys},
    schedule::Schedule,
    side::Side,
};

/// An established session.
pub(crate) struct Traffic {
    side: Side,
    receiving: RecordKeys,
    sending: RecordKeys,
    /// Derives the next keys, in TLS 1.3.
    schedule: Option<Box<Schedule>>,
    /// The most records that may be sent with the same keys.
    max_records: u64,
    flood_limits: FloodLimits,
    messages: Messages,
    /// The peer has requested a key update, which is due before the next data.
    owes_key_update: bool,
    sent_close: bool,
    pub(crate) closed_by_peer: bool,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) description: TlsDescription,
}

impl Traffic {
    /// Takes over from the handshake. The library must have nothing left to send.
    pub(crate) fn new(
        connection: Connection,
        protocol: Option<Protocol>,
        description: TlsDescription,
    ) -> Result<Self, TlsError> {
        let version = description.version;
        let suite = connection.state().negotiated_cipher_suite().ok_or_else(TlsError::unusable_keys)?;
        let max_records = match suite {
            SupportedCipherSuite::Tls13(suite) => suite.common.confidentiality_limit,
            SupportedCipherSuite::Tls12(suite) => suite.common.confidentiality_limit,
        };
        let side = connection.side();
        let (secrets, schedule) = connection.into_secrets()?;
        Ok(Self {
            side,
            receiving: RecordKeys::new(version, secrets.rx)?,
            sending: RecordKeys::new(version, secrets.tx)?,
            schedule: (version == TlsVersion::Tls13).then(|| Box::new(schedule)),
            max_records,
            flood_limits: FloodLimits::NEW,
            messages: Messages::default(),
            owes_key_update: false,
            sent_close: false,
            closed_by_peer: false,
            protocol,
            description,
        })
    }

    /// Takes whole records from the front of `received`.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        let mut events = Received::default();
        while let Some(header) = RecordHeader::of(received) {
            let outcome = match self.check(header) {
                Err(alert) => Err(TlsError::Violation(alert)),
                Ok(()) if received.len() < HEADER_LENGTH + header.length() => break,
                Ok(()) => self.take(header, received, plaintext, sealed),
            };
            if let Err(error) = outcome {
                self.alert_peer(&error, sealed);
                return Err(error);
            }
            received.advance(HEADER_LENGTH + header.length());
            if self.closed_by_peer {
                events.closed = true;
                received.clear();
                break;
            }
        }
        Ok(events)
    }

    /// Encrypts into records whose plaintext has at most `record` bytes.
    #[inline]
    pub(crate) fn seal(&mut self, plaintext: &[u8], record: usize, sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.sent_close {
            return Err(TlsError::NotEstablished);
        }
        let record = record.clamp(1, MAX_RECORD_PLAINTEXT);
        sealed.reserve(plaintext.len() + plaintext.len().div_ceil(record) * RECORD_OVERHEAD);
        for piece in plaintext.chunks(record) {
            if self.owes_key_update || self.sending.sequence() >= self.max_records {
                self.renew_sending(sealed)?;
            }
            self.sending.seal(ContentType::ApplicationData, piece, sealed)?;
        }
        Ok(())
    }

    /// Appends a close_notify: nothing more will be sent.
    pub(crate) fn close(&mut self, sealed: &mut Vec<u8>) {
        if !self.sent_close {
            self.sent_close = true;
            self.send_alert(WARNING, AlertDescription::CloseNotify, sealed);
        }
    }

    /// Ends a session that has just been established.
    pub(crate) fn refuse(&mut self, alert: AlertDescription, sealed: &mut Vec<u8>) {
        self.sent_close = true;
        self.send_alert(FATAL, alert, sealed);
    }

    /// Whether a header is valid here.
    #[inline]
    fn check(&self, header: RecordHeader) -> Result<(), AlertDescription> {
        if header.length() > MAX_RECORD_BODY {
            return Err(AlertDescription::RecordOverflow);
        }
        let is_13 = self.description.version == TlsVersion::Tls13;
        // RFC 8446 §5: after the handshake all records are encrypted, and then have this type.
        if is_13 && header.kind() != ContentType::ApplicationData {
            return Err(AlertDescription::UnexpectedMessage);
        }
        // RFC 8446 §5.1: TLS 1.3 ignores the version.
        if !is_13 && !header.has_valid_version() {
            return Err(AlertDescription::ProtocolVersion);
        }
        Ok(())
    }

    /// Handles one complete record.
    #[inline]
    fn take(
        &mut self,
        header: RecordHeader,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let body = &mut received[HEADER_LENGTH..HEADER_LENGTH + header.length()];
        let (kind, content) = self.receiving.open(header, body).map_err(TlsError::Violation)?;
        // RFC 8446 §5.1: no other record may stand between the fragments of a message.
        if self.messages.has_begun() && kind != ContentType::Handshake {
            return Err(TlsError::Violation(AlertDescription::UnexpectedMessage));
        }
        match kind {
            ContentType::ApplicationData if content.is_empty() => take_one(&mut self.flood_limits.empty_records),
            ContentType::ApplicationData => {
                self.flood_limits.restore();
                plaintext.extend_from_slice(content);
                Ok(())
            }
            ContentType::Alert => {
                match *content {
                    [level, description] => self.handle_alert(level, AlertDescription::from(description)),
                    // RFC 8446 §5.4.
                    [] if self.description.version == TlsVersion::Tls13 => {
                        Err(TlsError::Violation(AlertDescription::UnexpectedMessage))
                    }
                    // RFC 8446 §5.1: an alert is not fragmented, and alone in its record.
                    _ => Err(TlsError::Violation(AlertDescription::DecodeError)),
                }
            }
            ContentType::Handshake => match self.description.version {
                TlsVersion::Tls13 => self.handle_messages(content),
                TlsVersion::Tls12 => self.handle_renegotiation(content, sealed),
            },
            _ => Err(TlsError::Violation(AlertDescription::UnexpectedMessage)),
        }
    }

    /// RFC 8446 §6, RFC 5246 §7.2.
    fn handle_alert(&mut self, level: u8, description: AlertDescription) -> Result<(), TlsError> {
        if description == AlertDescription::CloseNotify {
            self.closed_by_peer = true;
            return Ok(());
        }
        // RFC 8446 §6: all alerts are fatal there, whatever their level, except those that announce the end.
        let is_warning = match self.description.version {
            TlsVersion::Tls13 => description == AlertDescription::UserCanceled,
            TlsVersion::Tls12 => level == WARNING,
        };
        if !is_warning {
            return Err(TlsError::Alert(description));
        }
        take_one(&mut self.flood_limits.warnings)
    }

    /// Post-handshake messages of TLS 1.3.
    fn handle_messages(&mut self, part: &[u8]) -> Result<(), TlsError> {
        self.messages.add(part).map_err(TlsError::Violation)?;
        while let Some(message) = self.messages.next(self.side).map_err(TlsError::Violation)? {
            match message {
                Message::KeyUpdate(request) => self.handle_key_update(request)?,
                Message::Ticket(ticket) => {
                    take_one(&mut self.flood_limits.tickets)?;
                    self.schedule()?.keep_ticket(&ticket)?;
                }
            }
        }
        Ok(())
    }

    /// RFC 8446 §4.6.3: the next records of the peer have new keys. A requested update of ours waits until the next
    /// data, and is made once for any number of requests: otherwise a peer that requests updates and reads nothing
    /// would pile up answers here.
    fn handle_key_update(&mut self, request: KeyUpdateRequest) -> Result<(), TlsError> {
        take_one(&mut self.flood_limits.key_updates)?;
        self.receiving = RecordKeys::new(TlsVersion::Tls13, self.schedule()?.next_receiving()?)?;
        self.owes_key_update |= request == KeyUpdateRequest::Requested;
        Ok(())
    }

    /// RFC 5246 §7.4.1: the peer wants to renegotiate. We refuse, and the session continues.
    fn handle_renegotiation(&mut self, message: &[u8], sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        let wanted = match self.side {
            Side::Client => HandshakeType::HelloRequest,
            Side::Server => HandshakeType::ClientHello,
        };
        if message.first().map(|first| HandshakeType::from(*first)) != Some(wanted) {
            return Err(TlsError::Violation(AlertDescription::UnexpectedMessage));
        }
        take_one(&mut self.flood_limits.renegotiations)?;
        self.send_alert(WARNING, AlertDescription::NoRenegotiation, sealed);
        Ok(())
    }

    /// Updates the sending keys (RFC 8446 §4.6.3), which TLS 1.2 cannot.
    fn renew_sending(&mut self, sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.schedule.is_none() {
            return Err(TlsError::Exhausted);
        }
        // update_not_requested: the peer decides about its own keys.
        let message = [u8::from(HandshakeType::KeyUpdate), 0, 0, 1, 0];
        self.sending.seal(ContentType::Handshake, &message, sealed)?;
        self.sending = RecordKeys::new(TlsVersion::Tls13, self.schedule()?.next_sending()?)?;
        self.owes_key_update = false;
        Ok(())
    }

    fn schedule(&mut self) -> Result<&mut Schedule, TlsError> {
        self.schedule.as_deref_mut().ok_or(TlsError::Exhausted)
    }

    /// Appends the alert that says why the session ends, unless the peer ended it.
    fn alert_peer(&mut self, error: &TlsError, sealed: &mut Vec<u8>) {
        if let Some(alert) = error.alert()
            && !self.sent_close
        {
            self.sent_close = true;
            self.send_alert(FATAL, alert, sealed);
        }
    }

    fn send_alert(&mut self, level: u8, description: AlertDescription, sealed: &mut Vec<u8>) {
        // If even this cannot be encrypted, the connection just closes.
        let _ = self.sending.seal(ContentType::Alert, &[level, description.into()], sealed);
    }
}

/// RFC 8446 §6
const WARNING: u8 = 1;
const FATAL: u8 = 2;
