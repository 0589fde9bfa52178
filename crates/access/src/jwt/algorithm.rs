//! The algorithms that tokens are signed with.

pub use jsonwebtoken::Algorithm;

/// An algorithm by its name in JWS headers (RFC 7518 §3.1); `none` is not one.
#[must_use]
pub fn parse_algorithm(name: &str) -> Option<Algorithm> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
}

/// All names.
pub fn algorithm_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

const NAMES: [(&str, Algorithm); 13] = [
    ("HS256", Algorithm::HS256),
    ("HS384", Algorithm::HS384),
    ("HS512", Algorithm::HS512),
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
    // RFC 9864 §2.2.
    ("Ed25519", Algorithm::EdDSA),
];
