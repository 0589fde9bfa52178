//! The trusted certificate authorities.

use std::path::Path;

use rustls::RootCertStore;

use crate::{
    TlsSettingsError,
    file::{self, FileVersion},
    pem,
};

/// The authorities in a PEM file, and its version.
pub(crate) fn of_file(path: &Path) -> Result<(FileVersion, RootCertStore), TlsSettingsError> {
    let (version, content) = file::read(path)?;
    let certificates = pem::certificates(path, &content)?;
    if certificates.is_empty() {
        return Err(TlsSettingsError::CertificateMissing(path.to_owned()));
    }
    let mut authorities = RootCertStore::empty();
    for certificate in certificates {
        authorities
            .add(certificate)
            .map_err(|error| TlsSettingsError::Authorities(path.to_owned(), error.to_string()))?;
    }
    Ok((version, authorities))
}

/// The authorities that the system trusts. `SSL_CERT_FILE` and `SSL_CERT_DIR` name others, as they do for OpenSSL.
pub(crate) fn of_system() -> Result<RootCertStore, TlsSettingsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    // One malformed certificate among hundreds must not make the others useless.
    authorities.add_parsable_certificates(found.certs);
    if authorities.is_empty() {
        return Err(TlsSettingsError::NoAuthorities(found.errors.first().map(ToString::to_string)));
    }
    Ok(authorities)
}
