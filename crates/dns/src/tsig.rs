//! Signatures of messages with a shared key (TSIG, RFC 8945): bytes in, bytes out.

mod error;
mod key_file;
mod response;

use std::{str::FromStr, sync::Arc};

use aws_lc_rs::hmac;

use self::response::{ParsedResponse, Signature, parse_time};
pub use self::{error::TsigError, key_file::KeyFileError};
use crate::message::{HEADER_LENGTH, InvalidNameError, RESPONSE, checked_name, write_name};

/// A key that this client and a name server share. Its text form is a key file of BIND, as `tsig-keygen` writes it.
///
/// ```
/// use serow_dns::tsig::TsigKey;
///
/// let key: TsigKey = r#"key "serow" { algorithm hmac-sha256; secret "c2VjcmV0"; };"#.parse()?;
/// assert_eq!(key.name(), "serow");
/// # Ok::<(), serow_dns::tsig::KeyFileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TsigKey {
    name: String,
    algorithm: TsigAlgorithm,
    /// Shared, since clients are cloned and it has more than a kilobyte.
    secret: Arc<hmac::Key>,
}

/// How messages are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigAlgorithm {
    /// The one that every implementation has (RFC 8945 §6).
    HmacSha256,
    /// With 48 bytes.
    HmacSha384,
    /// With 64 bytes.
    HmacSha512,
}

/// A request with its signature, which that of the response depends on.
#[derive(Clone, Debug)]
pub struct SignedMessage {
    bytes: Vec<u8>,
    /// Its signature.
    mac: Vec<u8>,
    id: u16,
}

impl TsigKey {
    /// A key with this name, which both sides know it by.
    ///
    /// # Errors
    ///
    /// An invalid name.
    pub fn new(name: &str, algorithm: TsigAlgorithm, secret: &[u8]) -> Result<Self, InvalidNameError> {
        Ok(Self { name: checked_name(name)?, algorithm, secret: Arc::new(hmac::Key::new(algorithm.hmac(), secret)) })
    }

    /// The name, in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Signs a message at this time, in seconds since 1970.
    #[must_use]
    pub fn sign(&self, message: &[u8], time: u64) -> SignedMessage {
        let mut signing = hmac::Context::with_key(&self.secret);
        signing.update(message);
        signing.update(&self.variables(time, FUDGE, 0, &[]));
        let mac = signing.sign().as_ref().to_vec();
        let id = message.first_chunk().copied().map(u16::from_be_bytes).unwrap_or_default();
        let mut bytes = message.to_vec();
        if let Some(count) = bytes.get_mut(ADDITIONAL_COUNT).and_then(|count| count.last_mut()) {
            // A message of this client has no other additional records.
            *count = 1;
        }
        self.write_record(&mut bytes, time, &mac, id);
        SignedMessage { bytes, mac, id }
    }

    /// The record that carries the signature (RFC 8945 §4.2).
    fn write_record(&self, bytes: &mut Vec<u8>, time: u64, mac: &[u8], id: u16) {
        write_name(&self.name, bytes);
        numbers(&[TSIG, CLASS_ANY, 0, 0], bytes);
        let mut data = Vec::new();
        write_name(self.algorithm.name(), &mut data);
        write_time(time, &mut data);
        // The algorithms' signatures have at most 64 bytes.
        numbers(&[FUDGE, mac.len() as u16], &mut data);
        data.extend_from_slice(mac);
        numbers(&[id, 0, 0], &mut data);
        // Names have at most 255 bytes.
        numbers(&[data.len() as u16], bytes);
        bytes.extend_from_slice(&data);
    }

    /// The data that is signed besides the message (RFC 8945 §4.3.3).
    fn variables(&self, time: u64, fudge: u16, error: u16, other: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_name(&self.name, &mut bytes);
        numbers(&[CLASS_ANY, 0, 0], &mut bytes);
        write_name(self.algorithm.name(), &mut bytes);
        write_time(time, &mut bytes);
        // It was parsed from a length in two bytes.
        numbers(&[fudge, error, other.len() as u16], &mut bytes);
        bytes.extend_from_slice(other);
        bytes
    }
}

impl SignedMessage {
    /// The message to send.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the response, which arrives at this time in seconds since 1970, says that the request has succeeded.
    ///
    /// # Errors
    ///
    /// Why it does not, or cannot be trusted.
    pub fn verify(&self, key: &TsigKey, response: &[u8], now: u64) -> Result<(), TsigError> {
        let parsed = ParsedResponse::parse(response).ok_or(TsigError::Malformed)?;
        if parsed.id != self.id || (parsed.flags ^ self.flags()) & (OPCODE | RESPONSE) != RESPONSE {
            return Err(TsigError::Malformed);
        }
        let code = parsed.flags & RCODE;
        let Some(signature) = &parsed.signature else {
            return Err(if code == 0 { TsigError::Unsigned } else { TsigError::Rejected(code) });
        };
        match signature.error {
            // RFC 8945 §5.3.2: these are not signed.
            BAD_SIGNATURE => return Err(TsigError::WrongSecret),
            BAD_KEY => return Err(TsigError::UnknownKey),
            _ => {}
        }
        self.verify_signature(key, response, signature)?;
        match signature.error {
            0 => {}
            BAD_TIME => {
                let server = <[u8; 6]>::try_from(signature.other.as_slice()).ok().map(parse_time);
                return Err(TsigError::WrongTime { signed: signature.time, server });
            }
            error => return Err(TsigError::Rejected(error)),
        }
        if now.abs_diff(signature.time) > signature.fudge.into() {
            return Err(TsigError::OldResponse(signature.time));
        }
        if code == 0 { Ok(()) } else { Err(TsigError::Rejected(code)) }
    }

    fn flags(&self) -> u16 {
        self.bytes.get(2..).and_then(|bytes| bytes.first_chunk()).copied().map(u16::from_be_bytes).unwrap_or_default()
    }

    /// RFC 8945 §5.3.1: the request's signature, the message without its own, and the variables.
    fn verify_signature(&self, key: &TsigKey, response: &[u8], signature: &Signature) -> Result<(), TsigError> {
        if signature.key != key.name || signature.algorithm != key.algorithm.name() {
            return Err(TsigError::ForgedResponse);
        }
        let mut signed = Vec::with_capacity(response.len() + self.mac.len());
        numbers(&[self.mac.len() as u16], &mut signed);
        signed.extend_from_slice(&self.mac);
        let start = signed.len();
        signed.extend_from_slice(response.get(..signature.start).ok_or(TsigError::Malformed)?);
        let header = signed.get_mut(start..).and_then(|bytes| bytes.first_chunk_mut::<HEADER_LENGTH>());
        let header = header.ok_or(TsigError::Malformed)?;
        header[..2].copy_from_slice(&signature.original_id.to_be_bytes());
        header[ADDITIONAL_COUNT].copy_from_slice(&(signature.additional - 1).to_be_bytes());
        signed.extend_from_slice(&key.variables(signature.time, signature.fudge, signature.error, &signature.other));
        hmac::verify(&key.secret, &signed, &signature.mac).map_err(|_| TsigError::ForgedResponse)
    }
}

impl TsigAlgorithm {
    /// The names of all, for error messages.
    pub(crate) const NAMES: &str = "hmac-sha256, hmac-sha384 or hmac-sha512";

    fn name(self) -> &'static str {
        match self {
            Self::HmacSha256 => "hmac-sha256",
            Self::HmacSha384 => "hmac-sha384",
            Self::HmacSha512 => "hmac-sha512",
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::HmacSha256 => hmac::HMAC_SHA256,
            Self::HmacSha384 => hmac::HMAC_SHA384,
            Self::HmacSha512 => hmac::HMAC_SHA512,
        }
    }
}

impl FromStr for TsigAlgorithm {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.to_ascii_lowercase();
        let name = text.strip_suffix('.').unwrap_or(&text);
        [Self::HmacSha256, Self::HmacSha384, Self::HmacSha512].into_iter().find(|found| found.name() == name).ok_or(())
    }
}

fn numbers(numbers: &[u16], bytes: &mut Vec<u8>) {
    numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_be_bytes()));
}

/// Seconds since 1970 in six bytes.
fn write_time(time: u64, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&time.to_be_bytes()[2..]);
}

/// Seconds that the clocks may differ (RFC 8945 §10: 300 is recommended).
const FUDGE: u16 = 300;

/// RFC 8945 §4.2.
const TSIG: u16 = 250;
const CLASS_ANY: u16 = 255;

/// RFC 8945 §3.
const BAD_SIGNATURE: u16 = 16;
const BAD_KEY: u16 = 17;
const BAD_TIME: u16 = 18;

/// RFC 1035 §4.1.1.
const OPCODE: u16 = 0xf << 11;
const RCODE: u16 = 0xf;
const ADDITIONAL_COUNT: std::ops::Range<usize> = 10..HEADER_LENGTH;

#[cfg(test)]
mod tests;
