//! How connections are encrypted.

use std::{
    convert::Infallible,
    ffi::OsString,
    fmt,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
    str::FromStr,
};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::without_options;
use crate::values::{ListenAddress, SettingValue, Span, choice, in_settings_file};

/// How connections are encrypted.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<TlsOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "TLS")]
pub struct TlsOptions {
    /// Encrypt connections: with a certificate and its key, or with self-signed for development (repeatable).
    ///
    /// The files are in PEM, the certificate with those that lead to an authority behind it; without KEY, the first file
    /// holds both. With several, the name that the client asks for decides, and where that leaves a choice, what it can
    /// check; the first is for all other names. The files are read anew when they change. self-signed makes a certificate
    /// for localhost, *.localhost, 127.0.0.1 and ::1 that browsers warn of; its fingerprint is printed.
    #[arg(long, value_name = "CERT[,KEY]|self-signed")]
    pub tls: Vec<CertificateChoice>,

    /// What the authority says of the certificate, to be handed to clients (repeatable: the second is for the second).
    ///
    /// An OCSP response in DER, as 'openssl ocsp -respout' writes it. The file is read anew when it changes.
    #[arg(long, value_name = "FILE")]
    pub tls_ocsp: Vec<PathBuf>,

    /// The versions of TLS that are spoken.
    #[arg(long, value_name = "VERSIONS", default_value = "1.2-1.3")]
    pub tls_versions: VersionsChoice,

    /// The authorities whose certificates clients show, in PEM; clients without one are refused.
    ///
    /// A client that resumes a session is refused when its certificate has expired since.
    #[arg(long, value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,

    /// Whether clients must show a certificate, where --tls-client-ca is given, or may.
    #[arg(long, value_name = "required|optional", default_value = "required", hide_possible_values = true)]
    pub tls_client: ClientChoice,

    /// For how long browsers shall remember to come with TLS only (Strict-Transport-Security), such as 365d.
    ///
    /// There is no way back before that time is over: begin with 5m. 0 makes them forget.
    #[arg(long, value_name = "TIME")]
    pub hsts: Option<Span>,

    /// Listen here without TLS, and send everybody to the same place with it (308).
    #[arg(long, value_name = "ADDR")]
    pub redirect_http: Option<ListenAddress>,
}

/// With what the server shows who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateChoice {
    /// A certificate made for this run.
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
        let bytes = text.as_bytes();
        match bytes.iter().position(|byte| *byte == b',') {
            Some(comma) => {
                let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_owned()));
                Self::Files(path(&bytes[..comma]), path(&bytes[comma + 1..]))
            }
            None => Self::Files(text.clone().into(), text.into()),
        }
    }
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

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VersionsChoice {
    /// 1.2 alone.
    #[value(name = "1.2", help = None)]
    Tls12,
    /// Both.
    #[value(name = "1.2-1.3", help = None)]
    Both,
    /// 1.3 alone.
    #[value(name = "1.3", help = None)]
    Tls13,
}

/// Whether clients must show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClientChoice {
    /// They may.
    #[value(help = None)]
    Optional,
    /// They must.
    #[value(help = None)]
    Required,
}

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
