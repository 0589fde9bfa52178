//! Hashes of passwords, as `htpasswd` and others write them.

use std::fmt;

use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use data_encoding::BASE64;
use sha_crypt::ShaCrypt;
use sha1_smol::Sha1;

use crate::apr1;

/// The hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    kind: HashKind,
    text: Box<str>,
}

/// How a password is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashKind {
    /// `$argon2id$`: RFC 9106.
    Argon2,
    /// `$2y$`, `$2b$` and `$2a$`. Bytes of a password behind the 72nd do not count, as everywhere.
    Bcrypt,
    /// `$5$` and `$6$`: SHA-256-crypt and SHA-512-crypt.
    ShaCrypt,
    /// `$apr1$`: Apache's MD5-crypt. It is weak.
    Apr1,
    /// `{SHA}`: SHA-1 without a salt. It is weak.
    Sha1,
}

/// Why a text cannot be used as the hash of a password; it does not contain the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashError {
    /// It is of another kind.
    Unknown,
    /// It has the form of the oldest hashes by crypt(3), as `htpasswd -d` writes them: by DES, of eight characters of a
    /// password.
    Des,
    /// It has the form of no hash: it may be a password in the clear, as `htpasswd -p` writes it.
    Clear,
    /// It begins as one of a known kind, and is damaged.
    Damaged(HashKind),
    /// It takes so long that a check of it would be an attack.
    Expensive(HashKind),
}

impl PasswordHash {
    /// Reads a hash.
    ///
    /// # Errors
    ///
    /// The hash is of an unknown kind, damaged, or takes too long.
    pub fn parse(text: &str) -> Result<Self, HashError> {
        let kind = HashKind::of(text).ok_or_else(|| HashError::of_unknown(text))?;
        let is_expensive = kind.is_expensive(text).ok_or(HashError::Damaged(kind))?;
        if is_expensive {
            return Err(HashError::Expensive(kind));
        }
        Ok(Self { kind, text: text.into() })
    }

    /// How the password is hashed.
    #[must_use]
    pub fn kind(&self) -> HashKind {
        self.kind
    }

    /// The hash as it is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether this is the password. It takes up to two seconds.
    #[must_use]
    pub fn verify(&self, password: &[u8]) -> bool {
        let is_equal = |found: &str, text: &str| verify_slices_are_equal(found.as_bytes(), text.as_bytes()).is_ok();
        match self.kind {
            HashKind::Argon2 => Argon2::default().verify_password(password, &*self.text).is_ok(),
            HashKind::Bcrypt => bcrypt::verify(password, &self.text).unwrap_or(false),
            HashKind::ShaCrypt => match sha_crypt::PasswordHash::new(&*self.text) {
                Ok(hash) => PasswordVerifier::verify_password(&ShaCrypt::default(), password, &hash).is_ok(),
                Err(_) => false,
            },
            HashKind::Apr1 => apr1_parts(&self.text)
                .is_some_and(|(salt, hash)| is_equal(&apr1::hash(password, salt.as_bytes()), hash)),
            HashKind::Sha1 => {
                let digest = BASE64.encode(&Sha1::from(password).digest().bytes());
                self.text.strip_prefix(SHA1).is_some_and(|hash| is_equal(&digest, hash))
            }
        }
    }
}

impl HashKind {
    fn of(text: &str) -> Option<Self> {
        let prefixes = [
            ("$argon2id$", Self::Argon2),
            ("$2y$", Self::Bcrypt),
            ("$2b$", Self::Bcrypt),
            ("$2a$", Self::Bcrypt),
            ("$5$", Self::ShaCrypt),
            ("$6$", Self::ShaCrypt),
            (apr1::PREFIX, Self::Apr1),
            (SHA1, Self::Sha1),
        ];
        prefixes.into_iter().find(|(prefix, _)| text.starts_with(prefix)).map(|(_, kind)| kind)
    }

    /// Whether a check takes more than about two seconds; nothing if the text is damaged.
    fn is_expensive(self, text: &str) -> Option<bool> {
        match self {
            Self::Argon2 => {
                let hash = argon2::PasswordHash::new(text).ok()?;
                hash.hash?;
                let parameters = argon2::Params::try_from(&hash).ok()?;
                let memory = u64::from(parameters.m_cost()) * u64::from(parameters.t_cost());
                Some(memory > MAX_ARGON2)
            }
            Self::Bcrypt => {
                let parts: bcrypt::HashParts = text.parse().ok()?;
                (text.len() == BCRYPT_LENGTH).then_some(parts.get_cost() > MAX_BCRYPT)
            }
            Self::ShaCrypt => {
                let fields: Vec<&str> = text.split('$').skip(2).collect();
                let rounds = fields.first()?.strip_prefix("rounds=");
                let rounds: u32 = rounds.map_or(Ok(0), str::parse).ok()?;
                let has_hash = fields.last().is_some_and(|hash| matches!(hash.len(), 43 | 86));
                has_hash.then_some(rounds > MAX_SHA_ROUNDS)
            }
            Self::Apr1 => apr1_parts(text).filter(|(_, hash)| hash.len() == 22).map(|_| false),
            Self::Sha1 => {
                let digest = text.strip_prefix(SHA1)?;
                (BASE64.decode(digest.as_bytes()).ok()?.len() == 20).then_some(false)
            }
        }
    }
}

impl HashError {
    /// Why a text is not a hash that begins as one of a known kind.
    fn of_unknown(text: &str) -> Self {
        let is_of_crypt = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
        match text {
            text if text.len() == DES_LENGTH && text.bytes().all(is_of_crypt) => Self::Des,
            text if text.starts_with(['$', '{']) => Self::Unknown,
            _ => Self::Clear,
        }
    }
}

fn apr1_parts(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(apr1::PREFIX)?.split_once('$')
}

/// Hashes a password, with a new salt: by argon2id, or by bcrypt for programs that do not know argon2id.
///
/// # Errors
///
/// The kind is none of both, or the system has no random numbers; why, in one line.
pub fn hash_password(password: &[u8], kind: HashKind) -> Result<String, String> {
    match kind {
        HashKind::Argon2 => {
            let hash = Argon2::default().hash_password(password).map_err(|error| error.to_string())?;
            Ok(hash.to_string())
        }
        HashKind::Bcrypt => {
            let hash = bcrypt::hash_with_result(password, BCRYPT_COST).map_err(|error| error.to_string())?;
            Ok(hash.format_for_version(bcrypt::Version::TwoY))
        }
        other => Err(format!("{other} is weak: no new password is hashed by it")),
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHash").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl fmt::Display for HashKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Argon2 => "argon2id",
            Self::Bcrypt => "bcrypt",
            Self::ShaCrypt => "SHA-crypt",
            Self::Apr1 => "apr1 (MD5)",
            Self::Sha1 => "SHA-1",
        })
    }
}

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "this is not a hash by argon2id, bcrypt, SHA-crypt, apr1 or {SHA}: write one with serow password",
            ),
            Self::Des => f.write_str(
                "this looks like a hash by DES (crypt, htpasswd -d), for which only eight characters of a password count: write \
                 another one with serow password, or htpasswd -B",
            ),
            Self::Clear => f.write_str(
                "this is not a hash, but perhaps the password itself: write a hash with serow password, or htpasswd -B",
            ),
            Self::Damaged(kind) => write!(f, "the {kind} hash is damaged: write another one with serow password"),
            Self::Expensive(kind) => {
                write!(f, "a check of this {kind} hash takes longer than two seconds: write one with serow password")
            }
        }
    }
}

impl std::error::Error for HashError {}

const SHA1: &str = "{SHA}";

const BCRYPT_LENGTH: usize = 60;

/// Two characters of salt, eleven of the hash.
const DES_LENGTH: usize = 13;

/// As OWASP recommends at least; 250 ms on a processor of 2020.
const BCRYPT_COST: u32 = 12;

/// Two to four seconds: a mistake, or an attack by whoever may write the file.
const MAX_BCRYPT: u32 = 15;

/// About two seconds.
const MAX_SHA_ROUNDS: u32 = 5_000_000;

/// Passes over memory in KiB: about two seconds. The default has 38,912.
const MAX_ARGON2: u64 = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `htpasswd -nbB`, `-nbm`, `-nbs`, `openssl passwd -5` and `-6`, and the program `argon2`.
    const HASHES: [(&str, HashKind); 9] = include!("hashes.in");

    #[test]
    fn hashes_of_other_programs_are_verified() {
        for (text, kind) in HASHES {
            let hash = PasswordHash::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(hash.kind(), kind, "{text}");
            assert!(hash.verify(b"open sesame"), "{text}");
            for wrong in ["", "open", "open sesame ", "Open sesame"] {
                assert!(!hash.verify(wrong.as_bytes()), "{text} {wrong:?}");
            }
        }
    }

    #[test]
    fn new_hashes_are_verified_and_differ() {
        for kind in [HashKind::Argon2, HashKind::Bcrypt] {
            let [first, second] = [(); 2].map(|()| hash_password("sésame".as_bytes(), kind).unwrap());
            assert_ne!(first, second);
            assert!(PasswordHash::parse(&first).unwrap().verify("sésame".as_bytes()));
        }
        assert!(hash_password(b"a", HashKind::Sha1).is_err());
    }

    #[test]
    fn other_texts_are_refused() {
        use HashError::{Clear, Damaged, Des, Expensive, Unknown};
        for (text, expected) in [
            ("", Clear),
            ("secret", Clear),
            ("thirteen char", Clear),
            ("rqXexS6ZhobKA", Des),
            ("./abcdefghi./", Des),
            ("$1$abc$def", Unknown),
            ("{SSHA}abc", Unknown),
            ("{PLAIN}abc", Unknown),
            ("$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAA", Unknown),
            ("$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ", Damaged(HashKind::Argon2)),
            (
                "$argon2id$v=19$m=4194304,t=1,p=1$c29tZXNhbHQ$C2dfP0mHaUpRJo0wcDvMuGyNmP2Xg4sZ0OVEzI7CxKk",
                Expensive(HashKind::Argon2),
            ),
            ("$2y$12$short", Damaged(HashKind::Bcrypt)),
            ("$2y$31$jO1mS.eJn7.eXQpRiTb5j.UybACQNqGmhKQbb0aUFIAiD0uH7ds3G", Expensive(HashKind::Bcrypt)),
            ("$6$salt$short", Damaged(HashKind::ShaCrypt)),
            ("$6$rounds=x$salt$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Damaged(HashKind::ShaCrypt)),
            ("$5$rounds=999999999$salt$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Expensive(HashKind::ShaCrypt)),
            ("$apr1$salt", Damaged(HashKind::Apr1)),
            ("$apr1$salt$short", Damaged(HashKind::Apr1)),
            ("{SHA}", Damaged(HashKind::Sha1)),
            ("{SHA}AAAA", Damaged(HashKind::Sha1)),
        ] {
            assert_eq!(PasswordHash::parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
