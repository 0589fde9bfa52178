//! Whether a server is believed to be who it says it is.

use std::{error::Error, fmt, sync::Arc};

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

use crate::{TlsSettingsError, Trust, authorities};

/// What checks servers' certificates.
pub(crate) fn verifier(
    trust: &Trust,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsSettingsError> {
    let (authorities, path) = match trust {
        Trust::Unchecked => return Ok(Arc::new(BelievesEverything(Arc::clone(provider)))),
        Trust::System => (authorities::of_system()?, None),
        Trust::File(path) => (authorities::of_file(path)?, Some(path)),
    };
    let authorities = Arc::new(authorities);
    let library = WebPkiServerVerifier::builder_with_provider(Arc::clone(&authorities), Arc::clone(provider))
        .build()
        .map_err(|error| match path {
        Some(path) => TlsSettingsError::Authorities(path.clone(), error.to_string()),
        None => TlsSettingsError::NoAuthorities(Some(error.to_string())),
    })?;
    Ok(Arc::new(BelievesAuthorities { authorities, library }))
}

/// Believes what authorities vouch for; as the library does, but tells one more reason why not.
#[derive(Debug)]
struct BelievesAuthorities {
    authorities: Arc<RootCertStore>,
    library: Arc<WebPkiServerVerifier>,
}

impl BelievesAuthorities {
    /// Whether nobody but its owner vouches for a certificate, and nobody has told us to believe that.
    fn is_self_signed(&self, certificate: &CertificateDer<'_>) -> bool {
        EndEntityCert::try_from(certificate).is_ok_and(|certificate| {
            let subject = certificate.subject();
            let is_known = || self.authorities.roots.iter().any(|authority| authority.subject.as_ref() == subject);
            certificate.issuer() == subject && !is_known()
        })
    }
}

impl ServerCertVerifier for BelievesAuthorities {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let outcome = self.library.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match outcome {
            // Most are also marked as an authority's, of which the library complains first.
            Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_)))
                if self.is_self_signed(end_entity) =>
            {
                Err(CertificateError::Other(OtherError(Arc::new(SelfSignedByStranger))).into())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.library.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.library.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.library.supported_verify_schemes()
    }
}

/// Believes whoever answers, signatures included: whoever may show any certificate may as well show one whose key it has.
#[derive(Debug)]
struct BelievesEverything(Arc<CryptoProvider>);

impl ServerCertVerifier for BelievesEverything {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Why a certificate is not believed, which the library does not tell from an unknown authority.
#[derive(Debug)]
pub(crate) struct SelfSignedByStranger;

impl fmt::Display for SelfSignedByStranger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("it is self-signed")
    }
}

impl Error for SelfSignedByStranger {}
