//! Password files.

use std::{collections::HashMap, fmt, sync::Arc};

use crate::password_hash::{HashError, PasswordHash};

/// The users of a password file, in the format of Apache's `htpasswd`: in each line a name, a colon and a hash.
#[derive(Debug)]
pub struct Htpasswd {
    users: HashMap<Box<str>, Arc<PasswordHash>>,
    /// Checked for names that there are not, so that they take as long.
    decoy: Option<Arc<PasswordHash>>,
}

/// An error in a password file; it contains no hash and no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HtpasswdError {
    /// This line has no colon, or nothing before it.
    Form {
        /// From 1.
        line: usize,
    },
    /// The hash of a user cannot be used.
    Hash {
        /// From 1.
        line: usize,
        /// The user.
        user: String,
        /// Why not.
        error: HashError,
    },
    /// A user has two lines.
    Twice {
        /// That of the second one, from 1.
        line: usize,
        /// The user.
        user: String,
    },
}

impl Htpasswd {
    /// Reads the text of a file. Empty lines and those that begin with `#` mean nothing; nor does what follows a second
    /// colon.
    ///
    /// # Errors
    ///
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, HtpasswdError> {
        let (mut users, mut decoy) = (HashMap::new(), None);
        for (number, line) in text.lines().enumerate() {
            let (number, line) = (number + 1, line.trim());
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (user, hash) = line.split_once(':').ok_or(HtpasswdError::Form { line: number })?;
            if user.is_empty() || user.chars().any(char::is_control) {
                return Err(HtpasswdError::Form { line: number });
            }
            let hash = hash.split(':').next().unwrap_or_default();
            let hash = PasswordHash::parse(hash).map_err(|error| HtpasswdError::Hash {
                line: number,
                user: user.to_owned(),
                error,
            })?;
            let hash = Arc::new(hash);
            decoy.get_or_insert_with(|| Arc::clone(&hash));
            if users.insert(user.into(), hash).is_some() {
                return Err(HtpasswdError::Twice { line: number, user: user.to_owned() });
            }
        }
        Ok(Self { users, decoy })
    }

    /// How many users there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there is no user.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// The hash to check the password of a user against, and whether the user exists: if not, a hash that takes as long.
    /// Nothing where the file has no users.
    #[must_use]
    pub fn hash(&self, user: &str) -> Option<(Arc<PasswordHash>, bool)> {
        match self.users.get(user) {
            Some(hash) => Some((Arc::clone(hash), true)),
            None => self.decoy.clone().map(|hash| (hash, false)),
        }
    }
}

impl fmt::Display for HtpasswdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { line } => {
                write!(f, "line {line}: expected NAME:HASH, as serow password and htpasswd write it")
            }
            Self::Hash { line, user, error } => write!(f, "line {line}: user {user:?}: {error}"),
            Self::Twice { line, user } => write!(f, "line {line}: user {user:?} has a line already: leave one out"),
        }
    }
}

impl std::error::Error for HtpasswdError {}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";

    #[test]
    fn users_are_found() {
        let file = Htpasswd::parse(&format!("# users\n\nbob:{HASH}\r\nbjörn:{HASH}:comment\n")).unwrap();
        assert_eq!(file.len(), 2);
        for (user, expected) in [("bob", true), ("björn", true), ("Bob", false), ("", false), ("bob ", false)] {
            assert_eq!(file.hash(user).unwrap().1, expected, "{user}");
        }
        assert!(Htpasswd::parse("# none").unwrap().hash("bob").is_none());
    }

    #[test]
    fn wrong_lines_are_named_without_their_hashes() {
        for (text, expected) in [
            ("bob", "line 1: expected NAME:HASH"),
            (":{SHA}", "line 1: expected NAME:HASH"),
            ("\nbob:secret", "line 2: user \"bob\": this is not a hash, but perhaps the password itself"),
            ("bob:rqXexS6ZhobKA", "line 1: user \"bob\": this looks like a hash by DES"),
            (
                "bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\nbob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
                "line 2: user \"bob\" has a line already",
            ),
        ] {
            let error = Htpasswd::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected) && !error.contains("secret"), "{error}");
        }
    }
}
