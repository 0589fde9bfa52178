//! Certificates as the authority issued them.

use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA256, digest};
use instant_acme::CertificateIdentifier;
use rcgen::KeyPair;
use rustls_pki_types::{CertificateDer, Der};
use serow_tls::ServerCertificate;
use x509_cert::{
    Certificate,
    der::Decode,
    ext::pkix::{AuthorityKeyIdentifier, SubjectAltName, name::GeneralName},
};

use crate::{
    CertificateName,
    schedule::{LastOrder, Validity},
};

/// A certificate with its key, as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct IssuedCertificate {
    /// The key and the chain, in PEM.
    pub(crate) pem: String,
    pub(crate) validity: Validity,
    /// The issuer's common name, or its whole name.
    pub(crate) issuer: String,
    pub(crate) names: Vec<CertificateName>,
    /// The directory of the fallback that issued it; none if the first authority did.
    pub(crate) fallback: Option<String>,
    /// The order that it came from, if that is stored with it.
    pub(crate) order: Option<LastOrder>,
    /// Ready for handshakes.
    pub(crate) server: ServerCertificate,
    /// By which the authority knows it (RFC 9773 §4.1).
    identifier: Option<CertificateIdentifier<'static>>,
}

impl IssuedCertificate {
    /// A chain and the key that it was ordered for.
    pub(crate) fn new(chain: &str, key: &KeyPair) -> Result<Self, String> {
        Self::parse(format!("{}{}", key.serialize_pem(), chain))
    }

    /// As [`IssuedCertificate::new`], issued by the fallback with this directory, which is stored as explanatory text
    /// (RFC 7468 §2) in the same file: the next process knows who issued this very certificate.
    pub(crate) fn of_fallback(chain: &str, key: &KeyPair, directory: &str) -> Result<Self, String> {
        Self::parse(format!("{FALLBACK_MARK}{directory}\n{}{chain}", key.serialize_pem()))
    }

    /// As it is stored: the key, then the chain. Fails if the key is not the certificate's.
    pub(crate) fn parse(pem: String) -> Result<Self, String> {
        let server = ServerCertificate::from_pem(pem.as_bytes(), pem.as_bytes()).map_err(|error| error.to_string())?;
        let first = server.chain().first().ok_or("it has no certificate")?;
        let damaged = |error: x509_cert::der::Error| format!("the certificate is damaged: {error}");
        let certificate = Certificate::from_der(first).map_err(damaged)?;
        let content = certificate.tbs_certificate();
        let validity = validity(&certificate);
        let key_identifier = content.get_extension::<AuthorityKeyIdentifier>().map_err(damaged)?;
        let key_identifier = key_identifier.and_then(|(_, identifier)| identifier.key_identifier);
        let serial = content.serial_number().as_bytes();
        let identifier = key_identifier.map(|key| {
            CertificateIdentifier::new(Der::from_slice(key.as_bytes()), Der::from_slice(serial)).into_owned()
        });
        let names = content.get_extension::<SubjectAltName>().map_err(damaged)?;
        let names = names.map(|(_, names)| certificate_names(&names)).unwrap_or_default();
        let issuer = issuer(content.issuer());
        let explanation = |mark| explanations(&pem).find_map(|line| line.strip_prefix(mark));
        let fallback = explanation(FALLBACK_MARK).map(str::to_owned);
        let order = explanation(ORDER_MARK).and_then(parse_order);
        Ok(Self { validity, issuer, names, fallback, order, identifier, server, pem })
    }

    /// The same, which this order has brought: that is stored as explanatory text with it, so that all processes know.
    pub(crate) fn of_order(self, order: LastOrder) -> Self {
        let seconds = order.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        // Behind the line about the fallback, which is the first.
        let begin = self.pem.find(PEM_BEGIN).unwrap_or_default();
        let (head, rest) = self.pem.split_at(begin);
        let pem = format!("{head}{ORDER_MARK}{seconds}, early: {}\n{rest}", order.early);
        Self { pem, order: Some(order), ..self }
    }

    /// From when to when a certificate that clients get is valid.
    #[cfg(test)]
    pub(crate) fn validity_of(certificate: &ServerCertificate) -> Option<Validity> {
        let certificate = Certificate::from_der(certificate.chain().first()?).ok()?;
        Some(validity(&certificate))
    }

    /// By which the authority knows it, if it can be known.
    pub(crate) fn identifier(&self) -> Option<CertificateIdentifier<'static>> {
        self.identifier.clone()
    }

    /// A number of this certificate, at least 0 and less than 1: the same for all processes that have it.
    pub(crate) fn spread(&self) -> f64 {
        self.server.chain().first().map_or(0.0, |first| spread(first))
    }

    /// The certificate itself.
    pub(crate) fn der(&self) -> Option<&CertificateDer<'static>> {
        self.server.chain().first()
    }

    /// Whether it was issued later; of two that were issued together, all processes choose the same one.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        let rank = |issued: &Self| (issued.validity.not_before, issued.validity.not_after);
        (rank(self), &self.pem) > (rank(other), &other.pem)
    }

    /// Whether it is for these names, and no fewer.
    pub(crate) fn covers(&self, names: &[CertificateName]) -> bool {
        names.iter().all(|name| self.names.contains(name))
    }
}

fn validity(certificate: &Certificate) -> Validity {
    let validity = certificate.tbs_certificate().validity();
    Validity { not_before: validity.not_before.to_system_time(), not_after: validity.not_after.to_system_time() }
}

/// A number of this text, at least 0 and less than 1.
pub(crate) fn spread(text: &[u8]) -> f64 {
    let digest = digest(&SHA256, text);
    let bytes = digest.as_ref().first_chunk().copied().unwrap_or_default();
    f64::from(u32::from_be_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

fn certificate_names(names: &SubjectAltName) -> Vec<CertificateName> {
    let names = names.0.iter().filter_map(|name| match name {
        GeneralName::DnsName(name) => Some(CertificateName::Dns(name.as_str().to_ascii_lowercase())),
        GeneralName::IpAddress(bytes) => match *bytes.as_bytes() {
            [a, b, c, d] => Some(CertificateName::Ip([a, b, c, d].into())),
            ref bytes => Some(CertificateName::Ip(<[u8; 16]>::try_from(bytes).ok()?.into())),
        },
        _ => None,
    });
    names.collect()
}

/// The lines of explanatory text in front of a PEM text (RFC 7468 §2).
fn explanations(pem: &str) -> impl Iterator<Item = &str> {
    pem.lines().take_while(|line| !line.starts_with(PEM_BEGIN))
}

/// As [`IssuedCertificate::of_order`] writes it.
fn parse_order(text: &str) -> Option<LastOrder> {
    let (seconds, early) = text.split_once(", early: ")?;
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds.parse().ok()?))?;
    Some(LastOrder { at, early: early.parse().ok()? })
}

/// The beginning of the line that says when the certificate was ordered, in seconds since 1970.
const ORDER_MARK: &str = "Ordered at: ";

const PEM_BEGIN: &str = "-----BEGIN ";

/// The beginning of the first line of a certificate that the fallback issued.
const FALLBACK_MARK: &str = "Issued by the fallback authority: ";

/// The issuer of a certificate.
pub(crate) fn issuer_of(certificate: &CertificateDer<'_>) -> Option<String> {
    Some(issuer(Certificate::from_der(certificate).ok()?.tbs_certificate().issuer()))
}

/// The common name if there is one.
fn issuer(name: &x509_cert::name::Name) -> String {
    let text = name.to_string();
    let common = text.split(',').find_map(|part| part.trim().strip_prefix("CN="));
    common.unwrap_or(&text).to_owned()
}
