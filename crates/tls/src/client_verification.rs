//! The verification of clients' certificates: authorities and revocation lists from files, which are read again when
//! they change.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    crypto::CryptoProvider,
    pki_types::{CertificateRevocationListDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use webpki::OwnedCertRevocationList;

use crate::{
    ClientCertificates, TlsSettings, TlsSettingsError, authorities,
    file::{self, FileVersion},
    watch::Read,
};

/// How clients' certificates are verified.
#[derive(Clone, Debug)]
pub(crate) struct ClientVerification {
    authorities: PathBuf,
    required: bool,
    revocation_lists: Vec<PathBuf>,
}

impl ClientVerification {
    /// That of these settings; none if the server does not request certificates.
    ///
    /// # Errors
    ///
    /// When there are revocation lists without authorities.
    pub(crate) fn of(settings: &TlsSettings) -> Result<Option<Self>, TlsSettingsError> {
        let revocation_lists = settings.client_revocation_lists.clone();
        let (authorities, required) = match &settings.client_certificates {
            ClientCertificates::Off if revocation_lists.is_empty() => return Ok(None),
            ClientCertificates::Off => return Err(TlsSettingsError::RevocationWithoutAuthorities),
            ClientCertificates::Optional(path) => (path.clone(), false),
            ClientCertificates::Required(path) => (path.clone(), true),
        };
        Ok(Some(Self { authorities, required, revocation_lists }))
    }

    /// The paths of the files, in the order in which they are read.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        [&self.authorities].into_iter().chain(&self.revocation_lists).cloned().collect()
    }

    /// Reads the files.
    pub(crate) fn read(&self, provider: &Arc<CryptoProvider>) -> Read<Arc<dyn ClientCertVerifier>> {
        let (version, authorities) = authorities::of_file(&self.authorities)?;
        let mut versions = vec![version];
        let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider));
        for path in &self.revocation_lists {
            let (version, lists) = revocation_lists(path)?;
            versions.push(version);
            builder = builder.with_crls(lists);
        }
        // As in nginx and OpenSSL, all certificates of the chain need a list, and with an expired one none is accepted:
        // it lacks what was revoked since.
        let builder = builder.enforce_revocation_expiration();
        let builder = if self.required { builder } else { builder.allow_unauthenticated() };
        let unusable = |error: rustls::server::VerifierBuilderError| {
            TlsSettingsError::Authorities(self.authorities.clone(), error.to_string())
        };
        Ok((versions, builder.build().map_err(unusable)?))
    }
}

/// The lists in a file, in PEM or DER.
fn revocation_lists(
    path: &Path,
) -> Result<(FileVersion, Vec<CertificateRevocationListDer<'static>>), TlsSettingsError> {
    let invalid = |reason: String| TlsSettingsError::RevocationList(path.to_owned(), reason);
    let (version, content) = file::read_up_to(path, MAX_LENGTH).map_err(|error| match error {
        TlsSettingsError::Empty(_) => invalid("the file is empty".to_owned()),
        error => error,
    })?;
    let lists = if content.starts_with(&[DER_SEQUENCE]) {
        vec![CertificateRevocationListDer::from(content)]
    } else {
        CertificateRevocationListDer::pem_slice_iter(&content)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| invalid(error.to_string()))?
    };
    if lists.is_empty() {
        return Err(invalid("there is none in the file".to_owned()));
    }
    for list in &lists {
        OwnedCertRevocationList::from_der(list).map_err(|error| invalid(error.to_string()))?;
    }
    Ok((version, lists))
}

/// The first byte of a list in DER (RFC 5280 §5.1): none of PEM, which is text.
const DER_SEQUENCE: u8 = 0x30;

/// A list of 400,000 certificates: more than a public authority has. Reading it takes a moment of a handshake.
const MAX_LENGTH: u64 = 16 << 20;
