//! JSON Web Tokens (RFC 7519): strict verification, and keys that change while the server runs.
//!
//! ```
//! use serow_access::jwt::{Expectations, KeySet, Verifier};
//!
//! let keys = KeySet::of_secret("a secret that has at least 32 bytes")?.into();
//! let verifier = Verifier::new(Expectations::default());
//! // Seconds since 1970.
//! let now = 1_800_000_000;
//! assert!(verifier.verify("not.a.token", &keys, now).is_err());
//! # Ok::<(), serow_access::jwt::KeyError>(())
//! ```
//!
//! The verifier looks at no claim of a token before it has verified the signature. Until then, it reads only the
//! header, which names the algorithm and the key. Nothing in a token leads to a file, to another server or to a
//! database: a key is one of the [`KeySet`], and has the algorithms that it may be used with.
//!
//! | subject | file |
//! | --- | --- |
//! | algorithms, and which a key may be used with | `jwt/algorithm.rs`, `jwt/verification_key.rs` |
//! | sets of keys: JWKS, PEM, secrets | `jwt/key_set.rs`, `jwt/jwk.rs`, `jwt/public_key.rs` |
//! | a token's parts; JSON without duplicate members | `jwt/unverified_token.rs`, `jwt/strict_json.rs` |
//! | what a token says, and what is expected of it | `jwt/claims.rs`, `jwt/expectations.rs`, `jwt/conditions.rs` |
//! | verification, seldom twice for a token, and with large keys on a thread of its own | `jwt/verifier.rs`, `jwt/verified.rs`, `jwt/verification_thread.rs` |
//! | key sets that change: files, and URLs with the time to fetch them again | `jwt/key_source.rs`, `jwt/remote_keys.rs`, `jwt/kept_keys.rs`, `jwt/schedule.rs`, `jwt/key_fetcher.rs` |

mod algorithm;
mod claims;
mod conditions;
mod error;
mod expectations;
mod jwk;
mod kept_keys;
mod key_fetcher;
mod key_set;
mod key_source;
mod public_key;
mod remote_keys;
mod schedule;
mod strict_json;
mod unverified_token;
mod verification_key;
mod verification_thread;
mod verified;
mod verifier;

pub use self::{
    algorithm::{Algorithm, algorithm_names, parse_algorithm},
    claims::Claims,
    conditions::Conditions,
    error::{KeyError, TokenError},
    expectations::Expectations,
    key_fetcher::KeyFetcher,
    key_set::KeySet,
    key_source::KeySource,
    remote_keys::{FetchEnd, RemoteKeys, RemoteKeysError},
    verification_thread::{VerificationBusy, VerificationThread},
    verifier::{Token, Verification, VerificationTask, Verifier},
};
