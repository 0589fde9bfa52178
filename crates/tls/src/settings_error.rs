//! Errors of TLS settings.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

use rustls::CertificateError;

use crate::tickets::MIN_SECRET;

/// Why TLS settings cannot be used, in one line that says what to do.
#[non_exhaustive]
pub enum TlsSettingsError {
    /// No certificate is configured.
    NoCertificate,
    /// The lowest version is above the highest.
    NoVersion,
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// A file is too large.
    TooLarge(PathBuf),
    /// A file is empty.
    Empty(PathBuf),
    /// A file holds no certificate.
    CertificateMissing(PathBuf),
    /// There is a private key where the certificate should be.
    Swapped(PathBuf),
    /// A file holds no key.
    KeyMissing(PathBuf),
    /// A key needs a password.
    EncryptedKey(PathBuf),
    /// A file is not valid PEM.
    NotPem(PathBuf, String),
    /// TLS cannot use a certificate or a key.
    Unusable(PathBuf, rustls::Error),
    /// The key does not belong to the certificate.
    KeyMismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// A file does not hold a successful OCSP response.
    InvalidOcspResponse(PathBuf),
    /// A file is too short for a secret of session tickets.
    ShortTicketSecret(PathBuf),
    /// A secret of session tickets is not secret.
    PublicTicketSecret(PathBuf),
    /// The authorities in a file cannot be used.
    Authorities(PathBuf, String),
    /// A file does not hold certificate revocation lists.
    RevocationList(PathBuf, String),
    /// There are revocation lists, but clients do not present certificates.
    RevocationWithoutAuthorities,
    /// Settings of rustls are given, and others that contradict them.
    SettingsOfRustls,
    /// A setting of rustls that the records after the handshake would not follow, by its name.
    UnsupportedOfRustls(&'static str),
    /// An application protocol that rustls would negotiate, but the server does not speak.
    ProtocolOfRustls(String),
    /// The system has no authorities, and possibly why.
    NoAuthorities(Option<String>),
    /// A self-signed certificate cannot be generated.
    SelfSigned(String),
    /// rustls refuses the settings.
    Rustls(rustls::Error),
}

impl From<rustls::Error> for TlsSettingsError {
    fn from(error: rustls::Error) -> Self {
        Self::Rustls(error)
    }
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for TlsSettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for TlsSettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut about = |path: &Path, text: &str| write!(formatter, "{}: {text}", path.display());
        match self {
            Self::NoCertificate => formatter.write_str("TLS needs a certificate: configure one"),
            Self::UnsupportedOfRustls(name) => write!(formatter, "rustls' `{name}` is not supported: leave it out"),
            Self::SettingsOfRustls => formatter.write_str(
                "the settings of rustls decide about versions, names, clients' certificates and tickets: leave out these \
                 settings here",
            ),
            Self::ProtocolOfRustls(name) => {
                write!(formatter, "the server does not speak {name}: remove it from rustls' `alpn_protocols`")
            }
            Self::NoVersion => formatter.write_str("the lowest version of TLS is above the highest: swap them"),
            Self::Read(path, error) => about(path, &unreadable(error)),
            Self::TooLarge(path) => about(path, "the file is too large for a certificate or a key: name another one"),
            Self::Empty(path) => about(path, "the file is empty: put the certificate or the key there"),
            Self::CertificateMissing(path) => about(
                path,
                "there is no certificate in this file: it must be in PEM, and begin with -----BEGIN CERTIFICATE-----",
            ),
            Self::Swapped(path) => about(path, SWAPPED),
            Self::KeyMissing(path) => about(
                path,
                "there is no private key in this file: it must be in PEM, and begin with -----BEGIN PRIVATE KEY-----",
            ),
            Self::EncryptedKey(path) => about(
                path,
                "the key is encrypted: decrypt it with 'openssl pkey', in a file that only the server's user can read",
            ),
            Self::NotPem(path, error) => about(path, &format!("this file is not valid PEM: {error}; write it again")),
            Self::Unusable(path, error) => about(path, &format!("{}: get another one", unusable(error))),
            Self::KeyMismatch { certificate, key } => {
                let text = format!(
                    "this key does not belong to the certificate in {}: name the right one",
                    certificate.display()
                );
                about(key, &text)
            }
            Self::InvalidOcspResponse(path) => about(
                path,
                "this is not a successful OCSP response in DER: fetch it again with 'openssl ocsp -respout'",
            ),
            Self::ShortTicketSecret(path) => about(path, &short_secret()),
            Self::PublicTicketSecret(path) => about(path, PUBLIC_SECRET),
            Self::Authorities(path, error) => {
                about(path, &format!("certificates cannot be verified with this file ({error}): name another one"))
            }
            Self::RevocationList(path, error) => about(path, &invalid_list(error)),
            Self::RevocationWithoutAuthorities => formatter
                .write_str("revocation lists need the authorities of client certificates: configure both or neither"),
            Self::NoAuthorities(error) => {
                let reason = error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
                write!(
                    formatter,
                    "the system has no certificate authorities{reason}: install ca-certificates, or name a file of them"
                )
            }
            Self::SelfSigned(error) => write!(formatter, "the self-signed certificate cannot be generated: {error}"),
            Self::Rustls(error) => write!(formatter, "TLS cannot be set up: {error}"),
        }
    }
}

const SWAPPED: &str = "there is a private key and no certificate in this file: name the certificate first and then its key, \
                       as in site.pem,site.key";

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file: name the one that holds it".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "the server may not read this file: let its user or group read it".to_owned()
        }
        _ => format!("this file cannot be read: {error}"),
    }
}

/// Says in a sentence why a certificate or a key cannot be used.
fn unusable(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other))
            if matches!(other.0.downcast_ref(), Some(webpki::Error::UnsupportedCertVersion)) =>
        {
            "the certificate is of X.509 version 1 or 2, and TLS needs version 3".to_owned()
        }
        rustls::Error::InvalidCertificate(_) => {
            "the certificate is damaged, or of a kind that TLS does not know".to_owned()
        }
        _ => "the key is damaged, or of a kind that TLS does not know".to_owned(),
    }
}

fn short_secret() -> String {
    format!("a secret needs at least {MIN_SECRET} bytes: write it with 'openssl rand -out FILE 48'")
}

fn invalid_list(error: &str) -> String {
    format!("this is not a certificate revocation list in PEM or DER ({error}): write it with 'openssl ca -gencrl'")
}

impl Error for TlsSettingsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(_, error) => Some(error),
            Self::Unusable(_, error) | Self::Rustls(error) => Some(error),
            _ => None,
        }
    }
}

const PUBLIC_SECRET: &str = "other users may read or write this file, and decrypt sessions with it: run 'chmod o=' on it, \
                             and replace the secret";
