//! The certificate until the first one is issued.

use rcgen::{CertificateParams, DnType, KeyPair};
use serow_tls::ServerCertificate;

use crate::CertificateName;

/// A self-signed certificate for these names, generated for this process.
pub(crate) fn certificate(names: &[CertificateName]) -> Result<ServerCertificate, String> {
    let generated = || {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        parameters.distinguished_name.push(DnType::CommonName, "Serow, until a certificate is issued");
        Ok::<_, rcgen::Error>(format!("{}{}", key.serialize_pem(), parameters.self_signed(&key)?.pem()))
    };
    let pem = generated().map_err(|error| error.to_string())?;
    ServerCertificate::from_pem(pem.as_bytes(), pem.as_bytes()).map_err(|error| error.to_string())
}
