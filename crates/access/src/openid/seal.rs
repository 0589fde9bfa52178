//! Encryption of what browsers keep for the server.

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    error::Unspecified,
    hkdf::{HKDF_SHA256, Salt},
    hmac,
};
use data_encoding::BASE64URL_NOPAD;

use crate::openid::cookie_key::CookieKey;

/// Encrypts values for one purpose: what is sealed for another purpose, or with other settings, is not opened.
pub(crate) struct Seal {
    key: RandomizedNonceKey,
    derivation: hmac::Key,
}

impl Seal {
    /// For this purpose.
    pub(crate) fn new(key: &CookieKey, purpose: &[u8]) -> Result<Self, Unspecified> {
        let derived = Salt::new(HKDF_SHA256, b"serow: cookies of logins").extract(key.secret());
        let mut bytes = [0; 32];
        derived.expand(&[b"values, AES-256-GCM-SIV", purpose], &AES_256_GCM_SIV)?.fill(&mut bytes)?;
        let key = RandomizedNonceKey::new(&AES_256_GCM_SIV, &bytes)?;
        derived.expand(&[b"texts, HMAC-SHA-256", purpose], &AES_256_GCM_SIV)?.fill(&mut bytes)?;
        Ok(Self { key, derivation: hmac::Key::new(hmac::HMAC_SHA256, &bytes) })
    }

    /// The encrypted value as text for cookies and URLs. The name of its kind is authenticated as well, so that one kind
    /// is never opened as another.
    pub(crate) fn seal(&self, kind: &str, value: &[u8]) -> Result<String, Unspecified> {
        let mut sealed = value.to_vec();
        let nonce = self.key.seal_in_place_append_tag(Aad::from(kind.as_bytes()), &mut sealed)?;
        Ok(BASE64URL_NOPAD.encode(&[&[FORMAT], nonce.as_ref().as_slice(), &sealed].concat()))
    }

    /// The value, if it was sealed here as this kind.
    pub(crate) fn open(&self, kind: &str, text: &str) -> Option<Vec<u8>> {
        let sealed = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (&[FORMAT], rest) = sealed.split_first_chunk()? else { return None };
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>()?;
        let mut value = rest.to_vec();
        let length = self.key.open_in_place(Nonce::from(nonce), Aad::from(kind.as_bytes()), &mut value).ok()?.len();
        value.truncate(length);
        Some(value)
    }

    /// A text that nobody else can compute, for this kind and these bytes: 43 letters, digits, - and _.
    pub(crate) fn derive(&self, kind: &str, secret: &[u8], number: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.derivation);
        for part in [kind.as_bytes(), secret, number] {
            context.update(&part.len().to_be_bytes());
            context.update(part);
        }
        BASE64URL_NOPAD.encode(context.sign().as_ref())
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Seal").finish_non_exhaustive()
    }
}

/// The first byte of an encrypted value; another number would be another format.
const FORMAT: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(byte: u8, purpose: &str) -> Seal {
        Seal::new(&CookieKey::of_bytes(&[byte; 32]).unwrap(), purpose.as_bytes()).unwrap()
    }

    #[test]
    fn values_are_opened_only_with_their_key_purpose_and_kind_and_unchanged() {
        let one = seal(1, "a");
        let text = one.seal("session", b"alice").unwrap();
        assert_eq!(one.open("session", &text).as_deref(), Some(&b"alice"[..]));
        assert_ne!(text, one.seal("session", b"alice").unwrap());
        assert_eq!(seal(1, "a").open("session", &text).as_deref(), Some(&b"alice"[..]));
        for (seal, kind) in [(&seal(2, "a"), "session"), (&seal(1, "b"), "session"), (&one, "state")] {
            assert_eq!(seal.open(kind, &text), None, "{kind}");
        }
        for position in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            assert_eq!(one.open("session", std::str::from_utf8(&changed).unwrap()), None, "byte {position}");
            assert_eq!(one.open("session", &text[..position]), None, "{position} bytes");
        }
        for text in ["", "=", "AA", &format!("{text}="), &format!("{text}A"), &text.to_ascii_lowercase()] {
            assert_eq!(one.open("session", text), None, "{text}");
        }
    }

    #[test]
    fn derived_texts_depend_on_everything() {
        let one = seal(1, "a");
        let text = one.derive("nonce", b"secret", b"1");
        assert_eq!((text.len(), text.as_str()), (43, &*one.derive("nonce", b"secret", b"1")));
        for other in [
            one.derive("verifier", b"secret", b"1"),
            one.derive("nonce", b"secret1", b""),
            one.derive("nonce", b"secret", b"2"),
            seal(2, "a").derive("nonce", b"secret", b"1"),
            seal(1, "b").derive("nonce", b"secret", b"1"),
        ] {
            assert_ne!(other, text);
        }
    }
}
