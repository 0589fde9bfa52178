//! The identity of a client, from its certificate.

use std::{fmt::Write, net::IpAddr};

use aws_lc_rs::digest::{SHA256, digest};
use x509_cert::{
    Certificate,
    attr::AttributeTypeAndValue,
    der::{Decode, asn1::ObjectIdentifier},
    ext::pkix::{
        SubjectAltName,
        name::{DirectoryString, GeneralName},
    },
};

/// The identity of a client, from its certificate, which TLS has verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject, as RFC 4514 writes it.
    pub subject: String,
    /// The common name of the subject; nothing if there is none, or several.
    pub common_name: Option<String>,
    /// The subject alternative names of the kinds that we know.
    pub names: Vec<AlternativeName>,
    /// SHA-256 of the certificate, in lower-case hexadecimal digits.
    pub fingerprint: String,
}

/// A subject alternative name (RFC 5280 §4.2.1.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlternativeName {
    /// A host, in lower case.
    Dns(String),
    /// An address of e-mail.
    Email(String),
    /// A URI, such as a SPIFFE ID.
    Uri(String),
    /// An IP address.
    Address(IpAddr),
}

impl ClientCertificate {
    /// Reads a certificate in DER; nothing if it is malformed.
    #[must_use]
    pub fn parse(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?;
        let subject = certificate.tbs_certificate().subject();
        let names = match certificate.tbs_certificate().get_extension::<SubjectAltName>() {
            Ok(Some((_, names))) => names.0.iter().filter_map(AlternativeName::of).collect(),
            Ok(None) => Vec::new(),
            Err(_) => return None,
        };
        let mut common_names = subject.iter().filter(|attribute| attribute.oid == COMMON_NAME);
        let common_name = match (common_names.next(), common_names.next()) {
            (Some(attribute), None) => text_of(attribute),
            _ => None,
        };
        let mut fingerprint = String::new();
        for byte in digest(&SHA256, der).as_ref() {
            // A String takes everything.
            let _ = write!(fingerprint, "{byte:02x}");
        }
        Some(Self { subject: subject.to_string(), common_name, names, fingerprint })
    }
}

fn text_of(attribute: &AttributeTypeAndValue) -> Option<String> {
    let text = DirectoryString::try_from(&attribute.value).ok()?;
    Some(text.value().into_owned()).filter(|text| !text.chars().any(char::is_control))
}

impl AlternativeName {
    fn of(name: &GeneralName) -> Option<Self> {
        match name {
            GeneralName::DnsName(name) => Some(Self::Dns(name.as_str().to_ascii_lowercase())),
            GeneralName::Rfc822Name(name) => Some(Self::Email(name.as_str().to_owned())),
            GeneralName::UniformResourceIdentifier(name) => Some(Self::Uri(name.as_str().to_owned())),
            GeneralName::IpAddress(bytes) => {
                let bytes = bytes.as_bytes();
                let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
                v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok().map(Self::Address)
            }
            _ => None,
        }
    }

    /// Its value as text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Dns(text) | Self::Email(text) | Self::Uri(text) => text.clone(),
            Self::Address(address) => address.to_string(),
        }
    }
}

/// RFC 4519 §2.3.
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
