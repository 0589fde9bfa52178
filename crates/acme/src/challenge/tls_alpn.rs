//! tls-alpn-01 (RFC 8737): a self-signed certificate that states a digest.

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};

use crate::CertificateName;

/// The certificate for the validation of a name, after its key, in PEM.
pub(super) fn certificate(name: &CertificateName, digest: &[u8]) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec![name.to_string()])?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let certificate = parameters.self_signed(&key)?;
    Ok(format!("{}{}", key.serialize_pem(), certificate.pem()))
}

/// Where the certificate for the validation of a name is stored.
pub(super) fn storage_key(validation_name: &str) -> String {
    format!("challenges/tls/{validation_name}.pem")
}
