//! Encryption of stored values: whoever reads the store does not read private keys, nor replaces a value by another one.

use std::{error::Error, fmt, fs, os::unix::fs::MetadataExt, path::Path};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    error::Unspecified,
    hkdf::{HKDF_SHA256, Salt},
};

/// The secret of a fleet, which encrypts what its servers store in common.
#[derive(Clone)]
pub struct StoreSecret {
    key: [u8; 32],
}

/// Why a file cannot be used as a secret: its name and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSecretError {
    text: String,
}

impl StoreSecret {
    /// Reads the secret from a file. The line break at its end does not count.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, every user can read it, or it has less than 32 bytes.
    pub fn of_file(path: &Path) -> Result<Self, StoreSecretError> {
        let refuse = |problem: String| StoreSecretError { text: format!("{}: {problem}", path.display()) };
        let content = fs::read(path).map_err(|error| refuse(error.to_string()))?;
        let metadata = fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
        if metadata.mode() & 0o007 != 0 {
            return Err(refuse("every user can read this secret: run chmod 600 on it".to_owned()));
        }
        let content = content.trim_ascii_end();
        if content.len() < MIN_SECRET {
            return Err(refuse(format!(
                "the secret has {} bytes and needs {MIN_SECRET}: make one with `openssl rand -base64 33`",
                content.len()
            )));
        }
        Self::derive(content).map_err(|_| refuse("no key can be derived".to_owned()))
    }

    /// The key for this secret (RFC 5869).
    fn derive(secret: &[u8]) -> Result<Self, Unspecified> {
        let mut key = [0; 32];
        let derived = Salt::new(HKDF_SHA256, b"serow: a store of certificates").extract(secret);
        derived.expand(&[b"values, AES-256-GCM"], &AES_256_GCM)?.fill(&mut key)?;
        Ok(Self { key })
    }

    /// Encrypts the value of a key: a byte for this format, the nonce, the encrypted value and its tag. The key is
    /// authenticated as well, so that nobody can move a value to another key.
    pub(crate) fn seal(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let mut sealed = value.to_vec();
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, &self.key)?;
        let nonce = cipher.seal_in_place_append_tag(Aad::from(key.as_bytes()), &mut sealed)?;
        Ok([&[FORMAT], nonce.as_ref().as_slice(), &sealed].concat())
    }

    /// Decrypts the value of a key.
    pub(crate) fn open(&self, key: &str, sealed: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let Some((&[FORMAT], rest)) = sealed.split_first_chunk() else { return Err(Unspecified) };
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Unspecified)?;
        let mut value = rest.to_vec();
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, &self.key)?;
        let length = cipher.open_in_place(Nonce::from(nonce), Aad::from(key.as_bytes()), &mut value)?.len();
        value.truncate(length);
        Ok(value)
    }
}

/// The key of AES-256 has as many bytes: a shorter secret would be easier to guess than the key.
const MIN_SECRET: usize = 32;

/// The first byte of an encrypted value; another number would be another format.
const FORMAT: u8 = 1;

impl fmt::Debug for StoreSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoreSecret").finish_non_exhaustive()
    }
}

impl fmt::Display for StoreSecretError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Error for StoreSecretError {}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn secret(byte: u8) -> StoreSecret {
        StoreSecret::derive(&[byte; 32]).unwrap()
    }

    #[test]
    fn a_value_is_decrypted_only_with_its_secret_under_its_key_and_unchanged() {
        let value = b"-----BEGIN PRIVATE KEY-----";
        let sealed = secret(1).seal("a/b.pem", value).unwrap();
        assert!(!sealed.windows(7).any(|part| part == b"PRIVATE"));
        assert_ne!(sealed, secret(1).seal("a/b.pem", value).unwrap());
        assert_eq!(secret(1).open("a/b.pem", &sealed).unwrap(), value);
        assert!(secret(2).open("a/b.pem", &sealed).is_err());
        assert!(secret(1).open("a/c.pem", &sealed).is_err());
        for position in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[position] ^= 1;
            assert!(secret(1).open("a/b.pem", &changed).is_err(), "byte {position}");
            assert!(secret(1).open("a/b.pem", &sealed[..position]).is_err(), "{position} bytes");
        }
    }

    #[test]
    fn a_secret_is_long_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for (content, mode, expected) in [
            ("0123456789012345678901234567890\n", 0o600, Some("has 31 bytes and needs 32")),
            ("01234567890123456789012345678901", 0o644, Some("every user can read")),
            ("01234567890123456789012345678901\n", 0o640, None),
            ("01234567890123456789012345678901\n", 0o400, None),
        ] {
            let _ = fs::remove_file(&path);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match (StoreSecret::of_file(&path), expected) {
                (Ok(_), None) => {}
                (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
                (outcome, expected) => panic!("{content:?} {mode:o}: {outcome:?}, not {expected:?}"),
            }
        }
        assert!(StoreSecret::of_file(&folder.path().join("missing")).unwrap_err().to_string().contains("missing: "));
    }
}
