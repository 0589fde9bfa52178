//! TLS records: encrypting and decrypting them with the keys of one direction.
//!
//! ```text
//!           ┌──────┬─────────┬────────┬────────────────────────┬─────────────────────────┬─────┐
//! TLS 1.3   │  23  │ 3 │ 3   │ length │                        │ plaintext, type, zeroes │ tag │   RFC 8446 §5.2
//! TLS 1.2   │ type │ 3 │ 3   │ length │ explicit nonce (GCM)   │ plaintext               │ tag │   RFC 5288 §3, RFC 7905 §2
//!           └──────┴─────────┴────────┴────────────────────────┴─────────────────────────┴─────┘
//! ```

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use rustls::{AlertDescription, ConnectionTrafficSecrets, ContentType};

use crate::{TlsError, TlsVersion};

/// The keys of one direction, and how many records they have encrypted.
///
/// A nonce is the sequence number XORed with a secret (RFC 8446 §5.3), and sequence numbers only increase: no nonce is
/// used twice with a key.
pub(crate) struct RecordKeys {
    key: LessSafeKey,
    nonce_base: [u8; NONCE_LENGTH],
    sequence: u64,
    format: Format,
}

/// The format of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Tls13,
    /// With an explicit nonce in front, for AES-GCM.
    Tls12Explicit,
    Tls12,
}

/// The header of a record.
#[derive(Clone, Copy)]
pub(crate) struct RecordHeader([u8; HEADER_LENGTH]);

impl RecordKeys {
    /// The keys after the handshake, which have encrypted `sequence` records.
    pub(crate) fn new(
        version: TlsVersion,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
    ) -> Result<Self, TlsError> {
        let (algorithm, key, iv): (&'static Algorithm, _, _) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(TlsError::unusable_keys()),
        };
        let format = match version {
            TlsVersion::Tls13 => Format::Tls13,
            TlsVersion::Tls12 if algorithm == &CHACHA20_POLY1305 => Format::Tls12,
            TlsVersion::Tls12 => Format::Tls12Explicit,
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| TlsError::unusable_keys())?;
        let nonce_base = iv.as_ref().try_into().map_err(|_| TlsError::unusable_keys())?;
        Ok(Self { key: LessSafeKey::new(key), nonce_base, sequence, format })
    }

    /// How many records these keys have encrypted.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Appends a record.
    ///
    /// # Errors
    ///
    /// When the cipher fails, which no input of this function causes.
    #[inline]
    pub(crate) fn seal(&mut self, kind: ContentType, plaintext: &[u8], sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        let kind = u8::from(kind);
        let (outer, inner) = match self.format {
            Format::Tls13 => (u8::from(ContentType::ApplicationData), &[kind][..]),
            Format::Tls12 | Format::Tls12Explicit => (kind, &[][..]),
        };
        let explicit = self.format.explicit_length();
        let length = explicit + plaintext.len() + inner.len() + TAG_LENGTH;
        let header = RecordHeader::new(outer, length);
        let nonce = self.nonce();
        let (additional, additional_length) = self.additional(header, plaintext.len());

        let start = sealed.len();
        sealed.resize(start + HEADER_LENGTH + length, 0);
        let (head, body) = sealed[start..].split_at_mut(HEADER_LENGTH + explicit);
        head[..HEADER_LENGTH].copy_from_slice(&header.0);
        head[HEADER_LENGTH..].copy_from_slice(&nonce[NONCE_LENGTH - explicit..]);
        let (ciphertext, tail) = body.split_at_mut(plaintext.len());
        let nonce = Nonce::assume_unique_for_key(nonce);
        let additional = Aad::from(&additional[..additional_length]);
        let outcome = self.key.seal_out_of_place_scatter(nonce, additional, plaintext, ciphertext, inner, tail);
        // Also after a failure: the nonce counts as used.
        self.sequence += 1;
        outcome.map_err(|_| {
            sealed.truncate(start);
            TlsError::Local(rustls::Error::EncryptError)
        })
    }

    /// Decrypts the body of a record in place; returns its type and plaintext.
    ///
    /// # Errors
    ///
    /// The alert to send, where the record was not encrypted with these keys.
    #[inline]
    pub(crate) fn open<'a>(
        &mut self,
        header: RecordHeader,
        body: &'a mut [u8],
    ) -> Result<(ContentType, &'a [u8]), AlertDescription> {
        let explicit = self.format.explicit_length();
        let Some(plaintext_length) = body.len().checked_sub(explicit + TAG_LENGTH) else {
            return Err(AlertDescription::BadRecordMac);
        };
        let (additional, additional_length) = self.additional(header, plaintext_length);
        let (explicit_nonce, body) = body.split_at_mut(explicit);
        let nonce = match self.format {
            // RFC 5288 §3: the sender chooses this part.
            Format::Tls12Explicit => {
                let mut nonce = self.nonce_base;
                nonce[NONCE_LENGTH - explicit..].copy_from_slice(explicit_nonce);
                nonce
            }
            Format::Tls12 | Format::Tls13 => self.nonce(),
        };
        let nonce = Nonce::assume_unique_for_key(nonce);
        let additional = Aad::from(&additional[..additional_length]);
        let plaintext = self.key.open_in_place(nonce, additional, body).map_err(|_| AlertDescription::BadRecordMac)?;
        self.sequence += 1;
        match self.format {
            Format::Tls13 => unpad(plaintext),
            Format::Tls12 | Format::Tls12Explicit => {
                if plaintext.len() > MAX_RECORD_PLAINTEXT {
                    return Err(AlertDescription::RecordOverflow);
                }
                Ok((header.kind(), plaintext))
            }
        }
    }

    /// RFC 8446 §5.3, RFC 7905 §2; AES-GCM in TLS 1.2 allows any nonce that is not used twice (RFC 5288 §3).
    fn nonce(&self) -> [u8; NONCE_LENGTH] {
        let mut nonce = self.nonce_base;
        for (byte, sequence) in nonce[NONCE_LENGTH - 8..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= sequence;
        }
        nonce
    }

    /// The additional data: the header (RFC 8446 §5.2), or the sequence number and the header with the length of the
    /// plaintext (RFC 5246 §6.2.3.3).
    fn additional(&self, header: RecordHeader, plaintext_length: usize) -> ([u8; 13], usize) {
        let mut additional = [0; 13];
        match self.format {
            Format::Tls13 => {
                additional[..HEADER_LENGTH].copy_from_slice(&header.0);
                (additional, HEADER_LENGTH)
            }
            Format::Tls12 | Format::Tls12Explicit => {
                additional[..8].copy_from_slice(&self.sequence.to_be_bytes());
                additional[8..11].copy_from_slice(&header.0[..3]);
                additional[11..].copy_from_slice(&low_bytes(plaintext_length));
                (additional, 13)
            }
        }
    }
}

impl Format {
    fn explicit_length(self) -> usize {
        match self {
            Self::Tls12Explicit => EXPLICIT_LENGTH,
            Self::Tls12 | Self::Tls13 => 0,
        }
    }
}

impl RecordHeader {
    fn new(kind: u8, length: usize) -> Self {
        let [high, low] = low_bytes(length);
        Self([kind, 3, 3, high, low])
    }

    /// The header at the front of these bytes, if it is complete.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied().map(Self)
    }

    /// The type that the header states.
    pub(crate) fn kind(self) -> ContentType {
        ContentType::from(self.0[0])
    }

    /// The length of the body.
    pub(crate) fn length(self) -> usize {
        usize::from(u16::from_be_bytes([self.0[3], self.0[4]]))
    }

    /// Whether the version is one that an encrypted record has: 3.3, in TLS 1.3 too (RFC 8446 §5.2).
    pub(crate) fn has_valid_version(self) -> bool {
        self.0[1..3] == [3, 3]
    }
}

/// RFC 8446 §5.4: the type is the last byte that is not zero.
fn unpad(padded: &[u8]) -> Result<(ContentType, &[u8]), AlertDescription> {
    if padded.len() > MAX_RECORD_PLAINTEXT + 1 {
        return Err(AlertDescription::RecordOverflow);
    }
    match padded.iter().rposition(|byte| *byte != 0) {
        Some(end) => Ok((ContentType::from(padded[end]), &padded[..end])),
        None => Err(AlertDescription::UnexpectedMessage),
    }
}

/// A length in the two bytes of a header.
#[allow(clippy::cast_possible_truncation, reason = "records have at most 2^14 + 2048 bytes")]
fn low_bytes(length: usize) -> [u8; 2] {
    (length as u16).to_be_bytes()
}

/// The most plaintext in a record (RFC 8446 §5.1).
pub const MAX_RECORD_PLAINTEXT: usize = 1 << 14;

/// The most bytes that a record adds to its plaintext: a header of 5, a tag of 16 and a type (TLS 1.3) or an explicit
/// nonce of 8 (TLS 1.2 with AES-GCM). For callers that want a record to fill a segment.
pub const RECORD_OVERHEAD: usize = HEADER_LENGTH + EXPLICIT_LENGTH + TAG_LENGTH;

/// RFC 8446 §5.1: type, version, length.
pub(crate) const HEADER_LENGTH: usize = 5;

/// The longest body: RFC 5246 §6.2.3 allows 2048 bytes of overhead, RFC 8446 §5.2 only 256. No cipher in use adds more
/// than 24, but TLS 1.3 may pad.
pub(crate) const MAX_RECORD_BODY: usize = MAX_RECORD_PLAINTEXT + 256;

/// The same for all ciphers in use (RFC 5116 §5.1, RFC 8439 §2.8).
const TAG_LENGTH: usize = 16;

/// RFC 5116 §5.1, RFC 8439 §2.8
const NONCE_LENGTH: usize = 12;

/// RFC 5288 §3
const EXPLICIT_LENGTH: usize = 8;
