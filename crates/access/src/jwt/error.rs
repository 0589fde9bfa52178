//! Why keys cannot be used, and why a token is refused.

use std::{error::Error, fmt};

/// Why keys cannot be used: one line with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(pub(crate) String);

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for KeyError {}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It has more than 16 KiB.
    TooLarge,
    /// It is not a signed token, or has something twice.
    Malformed,
    /// It is signed with an algorithm that its key is not for, or that is not permitted.
    Algorithm,
    /// It names a key that is not in the set.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// It is not valid any more.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// It does not say until when it is valid.
    WithoutExpiry,
    /// It comes from another issuer.
    Issuer,
    /// It is for another audience.
    Audience,
    /// A registered claim has the wrong type.
    Claims,
}

impl TokenError {
    /// Returns the description for the client (RFC 6750 §3): ASCII without quotation marks.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "the token is too large",
            Self::Malformed => "the token is malformed",
            Self::Algorithm => "the token is signed with another algorithm",
            Self::UnknownKey => "the token is signed with an unknown key",
            Self::Signature => "the signature is wrong",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::WithoutExpiry => "the token does not expire",
            Self::Issuer => "the token has another issuer",
            Self::Audience => "the token is for another audience",
            Self::Claims => "a claim of the token has the wrong type",
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl Error for TokenError {}
