//! Access control: who may send a request.
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
#![forbid(unsafe_code)]

mod address_rules;
mod apr1;
mod basic;
mod certificate_rules;
mod client_certificate;
mod credentials;
mod htpasswd;
mod keyed_digest;
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
