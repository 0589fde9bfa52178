//! A self-signed certificate for development.

mod kept;

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use aws_lc_rs::digest::{SHA256, digest};
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::{
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    sign::CertifiedKey,
};

pub use self::kept::{KeepError, kept_text};
use crate::{TlsSettingsError, time};

/// A self-signed certificate for `localhost`, everything below it, 127.0.0.1 and ::1. It is valid for a year.
#[derive(Clone, Debug)]
pub struct SelfSigned {
    certificate: CertificateDer<'static>,
    key: Arc<PrivatePkcs8KeyDer<'static>>,
    /// Where it is kept.
    file: Option<PathBuf>,
}

impl SelfSigned {
    /// Generates one, whose key is never stored.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn new() -> Result<Self, TlsSettingsError> {
        Self::generate(time::wall())
    }

    fn generate(now: SystemTime) -> Result<Self, TlsSettingsError> {
        let failed = |error: rcgen::Error| TlsSettingsError::SelfSigned(error.to_string());
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let mut parameters = CertificateParams::new(NAMES.map(str::to_owned)).map_err(failed)?;
        parameters.distinguished_name.push(DnType::CommonName, "Serow, for development");
        parameters.is_ca = IsCa::ExplicitNoCa;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        parameters.not_before = (now - CLOCK_SKEW).into();
        parameters.not_after = (now + LIFETIME).into();
        let certificate = parameters.self_signed(&key).map_err(failed)?;
        Ok(Self { certificate: certificate.der().clone(), key: Arc::new(key.serialize_der().into()), file: None })
    }

    /// SHA-256 of the certificate, as browsers and `openssl x509 -fingerprint` show it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut text = String::new();
        for (position, byte) in digest(&SHA256, &self.certificate).as_ref().iter().enumerate() {
            let separator = if position == 0 { "" } else { ":" };
            // Writing to a string never fails.
            let _ = write!(text, "{separator}{byte:02X}");
        }
        text
    }

    /// The certificate in DER.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The file that it is kept in, with its key beside it; none if it is for this process only.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(crate) fn certified_key(&self, provider: &CryptoProvider) -> Result<CertifiedKey, rustls::Error> {
        let key = PrivateKeyDer::Pkcs8(self.key.clone_key());
        CertifiedKey::from_der(vec![self.certificate.clone()], key, provider)
    }
}

/// RFC 6761 §6.3: names that lead to this machine; and its addresses.
const NAMES: [&str; 4] = ["localhost", "*.localhost", "127.0.0.1", "::1"];

/// Long enough that a browser's stored exception is rarely needed again, and less than the 398 days that some clients
/// accept at most.
const LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// For phones and virtual machines whose clock is a little behind.
const CLOCK_SKEW: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_that_of_openssl() {
        let one = SelfSigned::new().unwrap();
        let fingerprint = one.fingerprint();
        assert_eq!(fingerprint.len(), 32 * 3 - 1);
        let bytes: Vec<u8> = fingerprint.split(':').map(|identity| u8::from_str_radix(identity, 16).unwrap()).collect();
        assert_eq!(bytes, digest(&SHA256, one.certificate()).as_ref());
        assert_ne!(SelfSigned::new().unwrap().fingerprint(), fingerprint);
    }
}
