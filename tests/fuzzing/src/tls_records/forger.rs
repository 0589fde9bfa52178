//! A peer that seals whatever it likes.

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf::{HKDF_SHA384, KeyType, Prk},
};

use super::{DATA, HANDSHAKE, KEY_UPDATE};

/// Plaintexts that a peer could encrypt which keeps to no rules.
pub(super) struct Forger {
    key: LessSafeKey,
    iv: [u8; 12],
    pub(super) sequence: u64,
    /// In TLS 1.3.
    secret: Option<Vec<u8>>,
    /// The part of a handshake message that our side has.
    message: Vec<u8>,
}

pub(super) struct Record {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: u8,
    pub(super) content: Vec<u8>,
}

impl Forger {
    pub(super) fn new(key: &[u8], iv: &[u8], secret: Option<Vec<u8>>) -> Self {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap());
        Self { key, iv: iv.try_into().unwrap(), sequence: 0, secret, message: Vec::new() }
    }

    fn of_secret(secret: Vec<u8>) -> Self {
        Self::new(&expand(&secret, "key", 32), &expand(&secret, "iv", 12), Some(secret))
    }

    pub(super) fn record(&mut self, kind: u8, content: Vec<u8>, zeroes: u8) -> Record {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= sequence;
        }
        let length = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
        let mut text = content.clone();
        let (head, additional) = if self.secret.is_some() {
            text.push(kind);
            text.resize(text.len() + usize::from(zeroes), 0);
            let header = [&[DATA, 3, 3][..], &length(text.len() + 16)].concat();
            (header.clone(), header)
        } else {
            let header = [&[kind, 3, 3][..], &length(text.len() + 24)].concat();
            let additional = [&self.sequence.to_be_bytes()[..], &[kind, 3, 3], &length(text.len())].concat();
            ([&header, &nonce[4..]].concat(), additional)
        };
        self.sequence += 1;
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(additional), &mut text)
            .unwrap();
        let (kind, content) = if self.secret.is_some() { meant(kind, content) } else { (kind, content) };
        // A record of zeroes has no kind, but is nobody's raw bytes either.
        Record { bytes: [head, text].concat(), kind: if kind == 0 { u8::MAX } else { kind }, content }
    }

    /// Notes a record that was accepted: it may hold the last part of new keys, maybe with tickets in front of it.
    pub(super) fn note_accepted(&mut self, record: &Record) {
        if record.kind != HANDSHAKE || self.secret.is_none() {
            return;
        }
        self.message.extend_from_slice(&record.content);
        while let Some(&[kind, high, middle, low]) = self.message.first_chunk() {
            let length = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
            if self.message.len() < length {
                return;
            }
            self.message.drain(..length);
            if kind == KEY_UPDATE
                && let Some(secret) = &self.secret
            {
                *self = Self::of_secret(expand(secret, "traffic upd", 48));
            }
        }
    }
}

/// RFC 8446 §5.4: a kind of 0 is taken for padding, and the last byte before it that is not is the kind.
fn meant(kind: u8, mut content: Vec<u8>) -> (u8, Vec<u8>) {
    content.push(kind);
    let end = content.iter().rposition(|byte| *byte != 0);
    content.truncate(end.map_or(0, |end| end + 1));
    let kind = content.pop().unwrap_or(0);
    (kind, content)
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// RFC 8446 §7.1: HKDF-Expand-Label without a context.
fn expand(secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let [lengths, labels] = [length, label.len()].map(|length| u8::try_from(length).unwrap());
    let information: [&[u8]; 3] = [&[0, lengths, labels], label.as_bytes(), &[0]];
    let mut made = vec![0; length];
    let secret = Prk::new_less_safe(HKDF_SHA384, secret);
    secret.expand(&information, Length(length)).unwrap().fill(&mut made).unwrap();
    made
}
