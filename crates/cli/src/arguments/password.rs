//! The options of `serow password`.

use clap::{Args, ValueEnum};
use serow_access::HashKind;

/// The options of `serow password`.
#[derive(Debug, Args)]
pub(crate) struct PasswordArguments {
    /// Name of the user.
    #[arg(value_name = "NAME")]
    pub(crate) user: String,

    /// How the password is hashed.
    #[arg(long, value_name = "KIND", default_value = "argon2")]
    pub(crate) hash: PasswordHashChoice,
}

/// How a password is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PasswordHashChoice {
    /// Argon2id, which needs much memory and time to guess.
    Argon2,
    /// bcrypt, which nginx, Apache and Caddy can read as well.
    Bcrypt,
}

impl PasswordHashChoice {
    /// The kind of the hash.
    pub(crate) fn kind(self) -> HashKind {
        match self {
            Self::Argon2 => HashKind::Argon2,
            Self::Bcrypt => HashKind::Bcrypt,
        }
    }
}
