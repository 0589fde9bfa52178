//! TLS.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    str::FromStr,
};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::without_options;
use serow_document::values::{ListenAddress, SettingValue, Span, choice, in_settings_file};

/// TLS.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<TlsOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "TLS")]
pub struct TlsOptions {
    /// Certificate and private key, or self-signed for development (repeatable).
    ///
    /// The files are in PEM format; the certificate is followed by its intermediate certificates. Without KEY, the
    /// first file contains both. With several certificates, Serow selects by the server name that the client sends
    /// (SNI), then by the signature algorithms that it supports; the first certificate is the default. The files are
    /// reloaded when they change.
    ///
    /// self-signed generates a certificate for localhost, *.localhost, 127.0.0.1 and ::1, which browsers warn about, and
    /// keeps it for later starts: in $STATE_DIRECTORY, $XDG_STATE_HOME/serow or ~/.local/state/serow, as self-signed.pem.
    /// It is valid for a year, and replaced a month before it expires. The place and the fingerprint are printed.
    #[arg(long, value_name = "CERT[,KEY]|self-signed")]
    pub tls: Vec<CertificateChoice>,

    /// OCSP response to staple (repeatable: the second file belongs to the second certificate).
    ///
    /// It is in DER format, as 'openssl ocsp -respout' writes it. The file is reloaded when it changes.
    #[arg(long, value_name = "FILE")]
    pub tls_ocsp: Vec<PathBuf>,

    /// TLS versions to accept.
    #[arg(long, value_name = "VERSIONS", default_value = "1.2-1.3")]
    pub tls_versions: VersionsChoice,

    /// Certificate authorities for client certificates (mutual TLS), in PEM format; clients without a valid
    /// certificate are refused.
    ///
    /// The file is reloaded when it changes. A resumed session ends when the client certificate has expired, was
    /// revoked, or is not from one of these authorities any more.
    #[arg(long, value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,

    /// Whether client certificates are required or optional, with --tls-client-ca.
    #[arg(long, value_name = "required|optional", default_value = "required", hide_possible_values = true)]
    pub tls_client: ClientChoice,

    /// Certificate revocation list (CRL) for client certificates (repeatable), with --tls-client-ca.
    ///
    /// It is in PEM or DER format; a PEM file may contain several lists. All certificates of a client's chain need the
    /// list of their authority, and a list that has not expired: otherwise the client is refused, as by nginx. The file
    /// is reloaded when it changes.
    #[arg(long, value_name = "FILE")]
    pub tls_client_crl: Vec<PathBuf>,

    /// Secret from which the keys of session tickets are derived, with a new key each hour.
    ///
    /// All processes and machines with the same file resume each other's sessions: with --reuse-port, after a reload,
    /// and behind a load balancer. Their clocks may differ by a minute. Tickets are valid for 12 hours. The file needs at
    /// least 32 bytes, and must not be readable by others: 'umask 077; openssl rand -out FILE 48'. It is reloaded when it
    /// changes; tickets of the previous secret remain valid until they expire or the server is reloaded. With the secret,
    /// recorded sessions of TLS 1.2 can be decrypted: replace it regularly. Without it, the keys are random,
    /// and other processes do not know them; with serow run, generations share them, unless clients present certificates.
    #[arg(long, value_name = "FILE")]
    pub tls_ticket_secret: Option<PathBuf>,

    /// Whether clients that send an unknown server name, or none, get the default certificate or are refused.
    ///
    /// With refuse, they get the alert unrecognized_name. Clients that connect to an address (https://192.0.2.1) send no
    /// server name.
    #[arg(long, value_name = "default|refuse", default_value = "default", hide_possible_values = true)]
    pub tls_unknown_name: UnknownNameChoice,

    /// How long browsers must use TLS for this host (Strict-Transport-Security), such as 365d.
    ///
    /// It cannot be revoked before it expires: start with 5m. 0 deletes it in browsers.
    #[arg(long, value_name = "TIME")]
    pub hsts: Option<Span>,

    /// Listen on this address without TLS, and redirect all requests to HTTPS (308).
    #[arg(long, value_name = "ADDR")]
    pub redirect_http: Option<ListenAddress>,
}

/// The certificate of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateChoice {
    /// A certificate that is generated at start.
    SelfSigned,
    /// The files of certificate and key.
    Files(PathBuf, PathBuf),
}

impl CertificateChoice {
    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let files = match self {
            Self::SelfSigned => None,
            Self::Files(certificate, key) => Some([certificate, key]),
        };
        files.into_iter().flatten()
    }
}

impl From<OsString> for CertificateChoice {
    fn from(text: OsString) -> Self {
        if text == "self-signed" {
            return Self::SelfSigned;
        }
        match at_comma(&text) {
            Some((certificate, key)) => Self::Files(certificate, key),
            None => Self::Files(text.clone().into(), text.into()),
        }
    }
}

/// The paths before and behind the first comma.
#[cfg(unix)]
fn at_comma(text: &OsStr) -> Option<(PathBuf, PathBuf)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = text.as_bytes();
    let comma = bytes.iter().position(|byte| *byte == b',')?;
    Some((OsStr::from_bytes(&bytes[..comma]).into(), OsStr::from_bytes(&bytes[comma + 1..]).into()))
}

// There, all paths are text.
#[cfg(not(unix))]
fn at_comma(text: &OsStr) -> Option<(PathBuf, PathBuf)> {
    let (certificate, key) = text.to_str()?.split_once(',')?;
    Some((certificate.into(), key.into()))
}

impl FromStr for CertificateChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(OsString::from(text)))
    }
}

impl fmt::Display for CertificateChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SelfSigned => f.write_str("self-signed"),
            Self::Files(certificate, key) if certificate == key => certificate.display().fmt(f),
            Self::Files(certificate, key) => write!(f, "{},{}", certificate.display(), key.display()),
        }
    }
}

impl SettingValue for CertificateChoice {
    fn expected() -> String {
        r#"the files of a certificate and its key, as in "site.pem,site.key", or "self-signed""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }

    fn suggestion(_: &str) -> Option<String> {
        None
    }
}

in_settings_file!(CertificateChoice, "Certificate");

/// TLS versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VersionsChoice {
    /// Only 1.2.
    #[value(name = "1.2", help = None)]
    Tls12,
    /// 1.2 and 1.3.
    #[value(name = "1.2-1.3", help = None)]
    Both,
    /// Only 1.3.
    #[value(name = "1.3", help = None)]
    Tls13,
}

/// Whether clients must present a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClientChoice {
    /// They may.
    #[value(help = None)]
    Optional,
    /// They must.
    #[value(help = None)]
    Required,
}

/// The answer to clients that send an unknown server name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnknownNameChoice {
    /// The default certificate.
    #[value(help = None)]
    Default,
    /// An alert.
    #[value(help = None)]
    Refuse,
}

choice!(UnknownNameChoice, "UnknownServerName");
choice!(VersionsChoice, "VersionsOfTls");
choice!(ClientChoice, "ClientCertificates");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_parsed_or_refused() {
        let files = |certificate: &str, key: &str| CertificateChoice::Files(certificate.into(), key.into());
        for (text, expected) in [
            ("self-signed", CertificateChoice::SelfSigned),
            ("./self-signed", files("./self-signed", "./self-signed")),
            ("a.pem", files("a.pem", "a.pem")),
            ("a.pem,a.key", files("a.pem", "a.key")),
            ("a.pem,b,c", files("a.pem", "b,c")),
        ] {
            assert_eq!(CertificateChoice::from(OsString::from(text)), expected);
        }
    }
}
