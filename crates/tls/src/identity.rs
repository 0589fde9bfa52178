//! A certificate with its key, as it was read.

use std::sync::Arc;

use rustls::{crypto::CryptoProvider, pki_types::UnixTime, sign::CertifiedKey};
use webpki::EndEntityCert;

use crate::{CertificateFiles, TlsSettingsError, file, pem, validity, watch::Read};

/// A certificate with its key.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) key: Arc<CertifiedKey>,
    /// Its names, in lower case; `*.` is the wildcard for one label.
    pub(crate) names: Vec<String>,
}

impl Identity {
    pub(crate) fn new(key: CertifiedKey) -> Result<Self, rustls::Error> {
        let certificate = EndEntityCert::try_from(key.end_entity_cert()?)
            .map_err(|error| rustls::CertificateError::Other(rustls::OtherError(Arc::new(error))))?;
        let names = certificate.valid_dns_names().map(str::to_ascii_lowercase).collect();
        Ok(Self { key: Arc::new(key), names })
    }

    /// Reads the files; returns their versions too.
    pub(crate) fn read(files: &CertificateFiles, provider: &CryptoProvider) -> Read<Self> {
        let (certificate_version, certificate) = file::read(&files.certificate)?;
        let chain = pem::chain(&files.certificate, &certificate)?;
        let (key_version, key) = if files.key == files.certificate {
            (certificate_version, pem::key(&files.key, &certificate)?)
        } else {
            let (version, content) = file::read(&files.key)?;
            (version, pem::key(&files.key, &content)?)
        };
        let unusable = |error| match error {
            rustls::Error::InconsistentKeys(_) => {
                TlsSettingsError::KeyMismatch { certificate: files.certificate.clone(), key: files.key.clone() }
            }
            rustls::Error::InvalidCertificate(_) => TlsSettingsError::Unusable(files.certificate.clone(), error),
            _ => TlsSettingsError::Unusable(files.key.clone(), error),
        };
        let mut certified = CertifiedKey::from_der(chain, key, provider).map_err(unusable)?;
        let mut versions = vec![certificate_version, key_version];
        if let Some(path) = &files.ocsp_response {
            let (version, response) = file::read(path)?;
            if !is_ocsp_response(&response) {
                return Err(TlsSettingsError::InvalidOcspResponse(path.clone()));
            }
            certified.ocsp = Some(response);
            versions.push(version);
        }
        let unusable = |error| TlsSettingsError::Unusable(files.certificate.clone(), error);
        Ok((versions, Self::new(certified).map_err(unusable)?))
    }

    /// Why it is not valid at this time, if it is not.
    pub(crate) fn date_problem(&self) -> Option<String> {
        validity::problem(&self.key.cert, UnixTime::now())
    }
}

/// Whether this looks like a successful response, and not an error response or an HTML page: a SEQUENCE of this length
/// that begins with the status `successful` (RFC 6960 §4.2.1). Clients verify the rest.
fn is_ocsp_response(der: &[u8]) -> bool {
    let content = match der {
        [0x30, length @ 0..=0x7f, content @ ..] if content.len() == usize::from(*length) => content,
        [0x30, 0x81, length, content @ ..] if content.len() == usize::from(*length) => content,
        [0x30, 0x82, high, low, content @ ..] if content.len() == usize::from(u16::from_be_bytes([*high, *low])) => {
            content
        }
        _ => return false,
    };
    content.starts_with(&[0x0a, 1, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_successful_ocsp_responses_are_taken() {
        let successful = [&[0x30, 0x05][..], &[0x0a, 1, 0], &[0xa0, 0]].concat();
        assert!(is_ocsp_response(&successful));
        let long = [&[0x30, 0x82, 0x01, 0x00][..], &[0x0a, 1, 0], &[7; 253]].concat();
        assert!(is_ocsp_response(&long));
        let try_later = [&[0x30, 0x03][..], &[0x0a, 1, 3]].concat();
        for other in [&b""[..], b"<html>", &try_later, &successful[..4], &long[..20]] {
            assert!(!is_ocsp_response(other), "{other:?}");
        }
    }
}
