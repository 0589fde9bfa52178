//! The secret from which the keys of cookies are derived.

use std::{error::Error, fmt, fs, os::unix::fs::MetadataExt, path::Path};

use aws_lc_rs::rand;
use data_encoding::BASE64;
use zeroize::Zeroizing;

/// The secret from which the keys of cookies are derived. Servers with the same secret know each other's sessions.
#[derive(Clone)]
pub struct CookieKey {
    secret: Zeroizing<Vec<u8>>,
}

/// Why a file cannot be used as a secret: its name and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFileError {
    text: String,
}

impl CookieKey {
    /// A new secret.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn generate() -> Result<Self, aws_lc_rs::error::Unspecified> {
        let mut secret = Zeroizing::new(vec![0; MIN_SECRET]);
        rand::fill(&mut secret)?;
        Ok(Self { secret })
    }

    /// Reads the secret from a file. The line break at its end does not count.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, every user can read it, or it has less than 32 bytes.
    pub fn of_file(path: &Path) -> Result<Self, SecretFileError> {
        let secret = read_secret(path)?;
        Self::of_bytes(&secret).ok_or_else(|| {
            let problem = format!("the secret has {} bytes and needs {MIN_SECRET}", secret.len());
            SecretFileError::new(path, &format!("{problem}: make one with `openssl rand -base64 33`"))
        })
    }

    /// This secret; `None` if it has less than 32 bytes.
    #[must_use]
    pub fn of_bytes(secret: &[u8]) -> Option<Self> {
        (secret.len() >= MIN_SECRET).then(|| Self { secret: Zeroizing::new(secret.to_vec()) })
    }

    /// A text from which a key is read again, to be kept in a file that only this user can read. The key that is read
    /// is another one.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}\n", BASE64.encode(&self.secret))
    }

    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }
}

/// Reads a secret from a file that not every user can read. The line break at its end does not count.
///
/// # Errors
///
/// If the file cannot be read, is empty, or every user can read it.
pub fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, SecretFileError> {
    let content = fs::read(path).map(Zeroizing::new).map_err(|error| SecretFileError::new(path, &error.to_string()))?;
    let metadata = fs::metadata(path).map_err(|error| SecretFileError::new(path, &error.to_string()))?;
    if metadata.mode() & 0o007 != 0 {
        return Err(SecretFileError::new(path, "every user can read this secret: run chmod 600 on it"));
    }
    match content.trim_ascii_end() {
        [] => Err(SecretFileError::new(path, "the file is empty: write the secret into it")),
        secret => Ok(Zeroizing::new(secret.to_vec())),
    }
}

impl SecretFileError {
    fn new(path: &Path, problem: &str) -> Self {
        Self { text: format!("{}: {problem}", path.display()) }
    }
}

impl fmt::Debug for CookieKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CookieKey").finish_non_exhaustive()
    }
}

impl fmt::Display for SecretFileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Error for SecretFileError {}

/// The key of AES-256 has as many bytes: a shorter secret would be easier to guess than the key.
const MIN_SECRET: usize = 32;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn secrets_are_long_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for (content, mode, expected) in [
            ("0123456789012345678901234567890\n", 0o600, Some("has 31 bytes and needs 32")),
            ("01234567890123456789012345678901", 0o644, Some("every user can read")),
            ("\n", 0o600, Some("is empty")),
            ("01234567890123456789012345678901\n", 0o640, None),
        ] {
            let _ = fs::remove_file(&path);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match (CookieKey::of_file(&path), expected) {
                (Ok(key), None) => assert_eq!(key.secret(), content.trim_end().as_bytes()),
                (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
                (outcome, expected) => panic!("{content:?} {mode:o}: {outcome:?}, not {expected:?}"),
            }
        }
        assert!(CookieKey::of_file(&folder.path().join("missing")).is_err());
    }
}
