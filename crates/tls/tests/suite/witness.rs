//! A client that notes what it is shown.

use std::sync::{Arc, Mutex};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use serow_tls::TlsVersion;

use crate::ends::client_config;

/// Checks certificates and notes which was shown, with what was stapled to it.
#[derive(Debug)]
pub(crate) struct Witness {
    verifier: Arc<WebPkiServerVerifier>,
    schemes: Vec<SignatureScheme>,
    /// Whether the name counts.
    strict: bool,
    pub(crate) seen: Mutex<Option<(CertificateDer<'static>, Vec<u8>)>>,
}

impl Witness {
    /// One that understands these signatures only.
    pub(crate) fn new(roots: RootCertStore, schemes: Option<Vec<SignatureScheme>>, strict: bool) -> Arc<Self> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let schemes = schemes.unwrap_or_else(|| verifier.supported_verify_schemes());
        Arc::new(Self { verifier, schemes, strict, seen: Mutex::new(None) })
    }

    /// A client's settings with this witness.
    pub(crate) fn client_config(self: &Arc<Self>, version: TlsVersion) -> ClientConfig {
        let mut config = client_config(RootCertStore::empty(), version);
        config.dangerous().set_certificate_verifier(Arc::clone(self) as _);
        config
    }

    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.seen.lock().unwrap().clone().expect("a certificate was shown").0
    }

    pub(crate) fn ocsp_response(&self) -> Vec<u8> {
        self.seen.lock().unwrap().clone().expect("a certificate was shown").1
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.seen.lock().unwrap() = Some((end_entity.clone().into_owned(), ocsp_response.to_vec()));
        if !self.strict {
            return Ok(ServerCertVerified::assertion());
        }
        self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
