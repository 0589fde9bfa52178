//! The implementations that are compared: three of the server's side of a connection.

use std::io::{Read, Write};

use bytes::{Buf, BytesMut};
use rustls::{
    ServerConnection,
    server::UnbufferedServerConnection,
    unbuffered::{ConnectionState, EncodeError},
};
use serow_tls::{MAX_RECORD_PLAINTEXT, RECORD_OVERHEAD, TlsSession};

use crate::Outcome;

/// The server's side of a connection.
pub(crate) trait Server {
    /// Appends to `sealed` what answers the client's part of a handshake, which it takes from `received`.
    fn shake_hands(&mut self, received: &mut BytesMut, sealed: &mut Vec<u8>) -> Outcome<()>;
    /// Appends one record.
    fn seal(&mut self, plaintext: &[u8], sealed: &mut Vec<u8>) -> Outcome<()>;
    /// Takes one record from `received` and appends its plaintext.
    fn open(&mut self, received: &mut BytesMut, plaintext: &mut BytesMut) -> Outcome<()>;
}

/// Serow's session.
pub(crate) struct Serow(pub(crate) TlsSession);

impl Server for Serow {
    fn shake_hands(&mut self, received: &mut BytesMut, sealed: &mut Vec<u8>) -> Outcome<()> {
        self.0.shake_hands(received, sealed)?;
        Ok(())
    }

    fn seal(&mut self, plaintext: &[u8], sealed: &mut Vec<u8>) -> Outcome<()> {
        Ok(self.0.seal(plaintext, MAX_RECORD_PLAINTEXT, sealed)?)
    }

    fn open(&mut self, received: &mut BytesMut, plaintext: &mut BytesMut) -> Outcome<()> {
        self.0.receive(received, plaintext, &mut Vec::new())?;
        Ok(())
    }
}

/// rustls' buffered connection.
pub(crate) struct Buffered(pub(crate) ServerConnection);

impl Server for Buffered {
    fn shake_hands(&mut self, received: &mut BytesMut, sealed: &mut Vec<u8>) -> Outcome<()> {
        while self.0.is_handshaking() && !received.is_empty() {
            let count = self.0.read_tls(&mut &received[..])?;
            received.advance(count);
            self.0.process_new_packets()?;
        }
        while self.0.wants_write() {
            self.0.write_tls(sealed)?;
        }
        Ok(())
    }

    fn seal(&mut self, plaintext: &[u8], sealed: &mut Vec<u8>) -> Outcome<()> {
        self.0.writer().write_all(plaintext)?;
        while self.0.wants_write() {
            self.0.write_tls(sealed)?;
        }
        Ok(())
    }

    fn open(&mut self, received: &mut BytesMut, plaintext: &mut BytesMut) -> Outcome<()> {
        while !received.is_empty() {
            let count = self.0.read_tls(&mut &received[..])?;
            received.advance(count);
            let length = self.0.process_new_packets()?.plaintext_bytes_to_read();
            let start = plaintext.len();
            plaintext.resize(start + length, 0);
            self.0.reader().read_exact(&mut plaintext[start..])?;
        }
        Ok(())
    }
}

/// rustls' unbuffered connection.
pub(crate) struct Unbuffered(pub(crate) UnbufferedServerConnection);

impl Server for Unbuffered {
    fn shake_hands(&mut self, received: &mut BytesMut, sealed: &mut Vec<u8>) -> Outcome<()> {
        loop {
            let status = self.0.process_tls_records(received);
            let discard = status.discard;
            let is_waiting = match status.state? {
                ConnectionState::EncodeTlsData(mut data) => {
                    if let Err(EncodeError::InsufficientSize(size)) = data.encode(&mut []) {
                        let start = sealed.len();
                        sealed.resize(start + size.required_size, 0);
                        data.encode(&mut sealed[start..])?;
                    }
                    false
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    false
                }
                _ => true,
            };
            received.advance(discard);
            if is_waiting {
                return Ok(());
            }
        }
    }

    fn seal(&mut self, plaintext: &[u8], sealed: &mut Vec<u8>) -> Outcome<()> {
        let ConnectionState::WriteTraffic(mut writer) = self.0.process_tls_records(&mut []).state? else {
            return Err("the connection is not ready to send".into());
        };
        let start = sealed.len();
        sealed.resize(start + plaintext.len() + RECORD_OVERHEAD, 0);
        let length = writer.encrypt(plaintext, &mut sealed[start..])?;
        sealed.truncate(start + length);
        Ok(())
    }

    fn open(&mut self, received: &mut BytesMut, plaintext: &mut BytesMut) -> Outcome<()> {
        while !received.is_empty() {
            let status = self.0.process_tls_records(received);
            let mut discard = status.discard;
            if let ConnectionState::ReadTraffic(mut reader) = status.state? {
                while let Some(record) = reader.next_record() {
                    let record = record?;
                    discard += record.discard;
                    plaintext.extend_from_slice(record.payload);
                }
            }
            received.advance(discard);
        }
        Ok(())
    }
}
