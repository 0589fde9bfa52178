//! Access control: which clients may send a request, and what they prove it with.
//!
//! | subject | file |
//! | --- | --- |
//! | `allow` and `deny` | `address_rules.rs` |
//! | files that are read again when they change | `watched_file.rs` |
//! | certificates of clients, and which are let in | `client_certificate.rs`, `certificate_rules.rs` |
//! | password files, and the hashes in them | `htpasswd.rs`, `password_hash.rs`, `apr1.rs` |
//! | Basic authentication (RFC 7617) | `basic.rs`, `credentials.rs` |
//! | passwords are checked on threads of their own, and seldom twice | `password_checker.rs`, `verified.rs` |
//! | digests of secrets under a key of this process | `keyed_digest.rs` |
//! | JSON Web Tokens (RFC 7519) | [`jwt`] |
//! | logins by a provider of OpenID Connect | [`openid`] |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure real time"))]

mod address_rules;
mod apr1;
mod basic;
mod certificate_rules;
mod client_certificate;
mod credentials;
mod htpasswd;
pub mod jwt;
mod keyed_digest;
pub mod openid;
mod password_checker;
mod password_counts;
mod password_hash;
mod verified;
mod watched_file;

pub use self::{
    address_rules::{AddressRules, RuleError},
    basic::{Authentication, Basic, Checking},
    certificate_rules::{CertificateRuleError, CertificateRules},
    client_certificate::{AlternativeName, ClientCertificate},
    credentials::Credentials,
    htpasswd::{Htpasswd, HtpasswdError},
    keyed_digest::KeyedDigest,
    password_checker::{PasswordChecker, PasswordQueue},
    password_counts::PasswordCounts,
    password_hash::{HashError, HashKind, PasswordHash, hash_password},
    watched_file::{FileWatch, WatchedFile, WatchedFileError, WatchedFiles},
};
