//! Certificates and keys in PEM.

use std::path::Path;

use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject},
};

use crate::TlsSettingsError;

pub(crate) fn chain(path: &Path, content: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsSettingsError> {
    let chain = certificates(path, content)?;
    match chain.is_empty() {
        true if PrivateKeyDer::from_pem_slice(content).is_ok() => Err(TlsSettingsError::Swapped(path.to_owned())),
        true => Err(TlsSettingsError::CertificateMissing(path.to_owned())),
        false => Ok(chain),
    }
}

/// All certificates of a file.
pub(crate) fn certificates(path: &Path, content: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsSettingsError> {
    CertificateDer::pem_slice_iter(content).collect::<Result<_, _>>().map_err(|error| not_pem(path, &error))
}

pub(crate) fn key(path: &Path, content: &[u8]) -> Result<PrivateKeyDer<'static>, TlsSettingsError> {
    // RFC 7468 §11, and RFC 1421 §4.6.1.1, which OpenSSL wrote for many years.
    let holds = |text: &[u8]| content.windows(text.len()).any(|window| window == text);
    if holds(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") || holds(b"Proc-Type: 4,ENCRYPTED") {
        return Err(TlsSettingsError::EncryptedKey(path.to_owned()));
    }
    PrivateKeyDer::from_pem_slice(content).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsSettingsError::KeyMissing(path.to_owned()),
        error => not_pem(path, &error),
    })
}

fn not_pem(path: &Path, error: &pem::Error) -> TlsSettingsError {
    let reason = match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            let name = String::from_utf8_lossy(end_marker);
            let name = name.trim_matches(|character: char| character == '-').trim_start_matches("END ");
            format!("the line -----END {name}----- is missing, so it may have been cut off")
        }
        pem::Error::IllegalSectionStart { line } => {
            format!("the line \"{}\" does not begin a section", String::from_utf8_lossy(line).escape_debug())
        }
        pem::Error::Base64Decode(_) => "the text between BEGIN and END is not base64".to_owned(),
        pem::Error::SectionTooLarge => "a section is too large".to_owned(),
        error => error.to_string(),
    };
    TlsSettingsError::NotPem(path.to_owned(), reason)
}
