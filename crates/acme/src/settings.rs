//! Settings of the certificates to obtain: from which authority, and where they are kept.

use std::{iter, path::PathBuf, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use serow_tls::CertificateTable;

use crate::{CertificateName, ChallengeSettings, OnDemand, StorageError, StoreSettings, storage::DirectoryStorage};

/// Settings of the certificates to obtain: from which authority, and where they are kept.
#[derive(Clone, Debug)]
pub struct AcmeSettings {
    /// The certificates.
    pub certificates: Vec<CertificateRequest>,
    /// The certificate authority.
    pub authority: Authority,
    /// Another authority, for certificates that are urgent while the first one fails.
    pub fallback: Option<Authority>,
    /// Where keys, certificates and accounts are kept.
    pub store: StoreSettings,
    /// How names are validated.
    pub challenges: ChallengeSettings,
    /// The certificates in use, for TLS settings.
    pub table: CertificateTable,
    /// Certificates for other names, when clients request them.
    pub on_demand: Option<OnDemand>,
}

impl AcmeSettings {
    /// Creates the folders that are needed later, for this user and group: a sandbox may not allow it then.
    pub(crate) fn create_folders(&mut self, owner: Option<(u32, Option<u32>)>) -> Result<(), StorageError> {
        let authorities: Vec<String> =
            iter::once(&self.authority).chain(&self.fallback).map(Authority::folder).collect();
        let below = |names: &[&str]| -> Vec<String> {
            authorities.iter().flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}"))).collect()
        };
        match &mut self.store {
            StoreSettings::Directory(folder) => {
                let shared = ["locks", "challenges", "challenges/http", "challenges/tls"].map(str::to_owned);
                let all = [&shared[..], &below(&["", "certificates", "orders", "failures"])].concat();
                DirectoryStorage::create(folder, &all, owner)
            }
            StoreSettings::Redis(redis) => {
                let created = match (&redis.folder, redis.copy()) {
                    (Some(folder), Some(copy)) => DirectoryStorage::create(folder, &[], owner)
                        .and_then(|()| DirectoryStorage::create(&copy, &below(&["", "certificates"]), owner))
                        .map_err(|error| error.to_string()),
                    _ => Err("neither XDG_STATE_HOME nor HOME names a folder, and the settings name none".to_owned()),
                };
                if let Err(error) = created {
                    tracing::warn!(
                        "no copy of the certificates in Redis is kept, so a start while Redis is away has none: {error}"
                    );
                    redis.folder = None;
                }
                Ok(())
            }
        }
    }
}

/// A certificate to obtain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRequest {
    /// Its names, at least one.
    pub names: Vec<CertificateName>,
    /// The kind of its key.
    pub key: KeyKind,
}

/// The kind of a certificate's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA with P-256: supported by every client that can use TLS 1.2, and the fastest handshake.
    #[default]
    EcdsaP256,
    /// ECDSA with P-384.
    EcdsaP384,
    /// RSA with 2,048 bits, for very old clients.
    Rsa2048,
}

/// A certificate authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The URL of its directory (RFC 8555 §7.1.1).
    pub directory: String,
    /// A file of authorities that its own certificate is verified with, in PEM; without it, those of the system.
    pub ca_file: Option<PathBuf>,
    /// Where it may send mail.
    pub email: Option<String>,
    /// The kind of certificates, of those that it offers.
    pub profile: Option<String>,
    /// The common name of the issuer of the topmost certificate in the preferred chain, of those that it offers.
    pub chain: Option<String>,
    /// The account at the authority that the ACME account belongs to (RFC 8555 §7.3.4).
    pub external_account: Option<ExternalAccount>,
}

/// An account at an authority that exists before ACME is used (RFC 8555 §7.3.4).
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    /// The identifier of its key.
    pub id: String,
    /// The key.
    pub key: Arc<[u8]>,
}

impl Authority {
    /// Let's Encrypt.
    pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
    /// Let's Encrypt's authority for tests, which clients do not trust and whose limits are high.
    pub const LETS_ENCRYPT_STAGING: &str = "https://acme-staging-v02.api.letsencrypt.org/directory";

    /// An authority with this directory.
    #[must_use]
    pub fn new(directory: impl Into<String>) -> Self {
        Self {
            directory: directory.into(),
            ca_file: None,
            email: None,
            profile: None,
            chain: None,
            external_account: None,
        }
    }

    /// Whether it is Let's Encrypt, or its authority for tests: they issue certificates for public names only.
    #[must_use]
    pub fn is_lets_encrypt(&self) -> bool {
        [Self::LETS_ENCRYPT, Self::LETS_ENCRYPT_STAGING].contains(&self.directory.as_str())
    }

    /// The folder of what belongs to this authority: its host, and a digest of the URL where that says more.
    pub(crate) fn folder(&self) -> String {
        let rest = self.directory.split_once("://").map_or(self.directory.as_str(), |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '.';
        let host: String = host.chars().map(|char| if is_plain(char) { char } else { '_' }).collect();
        let host = host.trim_start_matches('.');
        format!("{host}-{}", short_digest(&self.directory))
    }
}

impl CertificateRequest {
    /// A certificate with a key of the default kind.
    #[must_use]
    pub fn new(names: Vec<CertificateName>) -> Self {
        Self { names, key: KeyKind::default() }
    }

    /// The first name; and for several, how many more and a digest of all: a file name.
    pub(crate) fn id(&self, profile: Option<&str>) -> String {
        let names: Vec<_> = self.names.iter().map(CertificateName::to_string).collect();
        let first = names.first().map_or("", String::as_str).replace('*', "_").replace(':', "-");
        let mut id = first;
        if names.len() > 1 {
            id.push_str(&format!("+{}-{}", names.len() - 1, short_digest(&names.join(","))));
        }
        match self.key {
            KeyKind::EcdsaP256 => {}
            KeyKind::EcdsaP384 => id.push_str("-p384"),
            KeyKind::Rsa2048 => id.push_str("-rsa2048"),
        }
        if let Some(profile) = profile {
            id.push_str(&format!("-{}", short_digest(profile)));
        }
        id
    }
}

fn short_digest(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    HEXLOWER.encode(digest.as_ref().first_chunk::<4>().unwrap_or(&[0; 4]))
}

impl std::fmt::Debug for ExternalAccount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ExternalAccount").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_file_names_and_differ() {
        let id = |names: &str, key, profile| {
            let names = names.split(',').map(|name| name.parse().unwrap()).collect();
            CertificateRequest { names, key }.id(profile)
        };
        for (names, expected) in
            [("example.com", "example.com"), ("*.example.com", "_.example.com"), ("2001:db8::1", "2001-db8--1")]
        {
            assert_eq!(id(names, KeyKind::EcdsaP256, None), expected);
        }
        let ids = [
            id("a.example,b.example", KeyKind::EcdsaP256, None),
            id("a.example,c.example", KeyKind::EcdsaP256, None),
            id("a.example", KeyKind::EcdsaP256, Some("shortlived")),
            id("a.example", KeyKind::EcdsaP384, None),
            id("a.example", KeyKind::Rsa2048, None),
        ];
        for (number, id) in ids.iter().enumerate() {
            assert!(!ids[..number].contains(id) && !id.contains('/'), "{id}");
        }
    }

    #[test]
    fn the_folder_of_an_authority_is_one_file_name() {
        for (url, expected) in [
            (Authority::LETS_ENCRYPT, "acme-v02.api.letsencrypt.org-"),
            ("https://127.0.0.1:14000/dir", "127.0.0.1_14000-"),
            ("https://../../etc", "-"),
        ] {
            let folder = Authority::new(url).folder();
            assert!(folder.starts_with(expected) && !folder.contains('/'), "{folder}");
        }
        assert_ne!(Authority::new("https://a/b").folder(), Authority::new("https://a/c").folder());
    }
}
