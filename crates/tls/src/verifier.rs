//! Verification of servers' certificates.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::{
    CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use webpki::EndEntityCert;

use crate::{TlsSettingsError, Trust, authorities, rejection::UntrustedSelfSigned};

/// The verifier of servers' certificates.
pub(crate) fn verifier(trust: &Trust, provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>, TlsSettingsError> {
    let (authorities, path) = match trust {
        Trust::Unchecked => return Ok(Arc::new(Verifier::Unchecked(Arc::clone(provider)))),
        Trust::System => (authorities::of_system()?, None),
        Trust::File(path) => (authorities::of_file(path)?.1, Some(path)),
    };
    let authorities = Arc::new(authorities);
    let library = WebPkiServerVerifier::builder_with_provider(Arc::clone(&authorities), Arc::clone(provider))
        .build()
        .map_err(|error| match path {
        Some(path) => TlsSettingsError::Authorities(path.clone(), error.to_string()),
        None => TlsSettingsError::NoAuthorities(Some(error.to_string())),
    })?;
    Ok(Arc::new(Verifier::Authorities { authorities, library, rejection: Mutex::default() }))
}

/// Verifies certificates against authorities as the library does, with one more reason for a rejection; or accepts all.
#[derive(Debug)]
pub(crate) enum Verifier {
    Authorities {
        authorities: Arc<RootCertStore>,
        library: Arc<WebPkiServerVerifier>,
        /// Why a certificate was rejected last.
        rejection: Mutex<Option<CertificateError>>,
    },
    /// Signatures are accepted too: a server that may show any certificate may as well show one whose key it has.
    Unchecked(Arc<CryptoProvider>),
}

impl Verifier {
    /// Why a certificate was rejected last, if one was.
    pub(crate) fn last_rejection(&self) -> Option<CertificateError> {
        match self {
            Self::Authorities { rejection, .. } => rejection.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Self::Unchecked(_) => None,
        }
    }

    /// Verifies a signature of the handshake with `verify`, unless everything is accepted.
    fn verify_signature(
        &self,
        verify: impl FnOnce(&WebPkiServerVerifier) -> Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self {
            Self::Authorities { library, .. } => verify(library),
            Self::Unchecked(_) => Ok(HandshakeSignatureValid::assertion()),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Self::Authorities { authorities, library, rejection } = self else {
            return Ok(ServerCertVerified::assertion());
        };
        let outcome = match library.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // Most are also marked as an authority's, which the library reports first.
            Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_)))
                if is_untrusted_self_signed(end_entity, authorities) =>
            {
                Err(CertificateError::Other(OtherError(Arc::new(UntrustedSelfSigned))).into())
            }
            outcome => outcome,
        };
        if let Err(rustls::Error::InvalidCertificate(error)) = &outcome {
            *rejection.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        }
        outcome
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify_signature(|library| library.verify_tls12_signature(message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify_signature(|library| library.verify_tls13_signature(message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self {
            Self::Authorities { library, .. } => library.supported_verify_schemes(),
            Self::Unchecked(provider) => provider.signature_verification_algorithms.supported_schemes(),
        }
    }
}

/// Whether a certificate is signed by its own subject, which is not one of the authorities.
fn is_untrusted_self_signed(certificate: &CertificateDer<'_>, authorities: &RootCertStore) -> bool {
    EndEntityCert::try_from(certificate).is_ok_and(|certificate| {
        let subject = certificate.subject();
        let is_authority = || authorities.roots.iter().any(|authority| authority.subject.as_ref() == subject);
        certificate.issuer() == subject && !is_authority()
    })
}
