//! Why a certificate was rejected, in words for users.

use std::{error::Error, fmt};

use rustls::CertificateError;

use crate::date::date;

/// Why the peer's certificate was rejected: the end of a sentence about it.
pub(crate) fn reason(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "is from an authority that is not trusted here, or its chain is incomplete".to_owned()
        }
        CertificateError::ExpiredContext { not_after, .. } => format!("expired on {}", date(*not_after)),
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("is not valid before {}: look at this machine's clock", date(*not_before))
        }
        CertificateError::NotValidForNameContext { expected, presented } => match &presented[..] {
            [] => format!("names no server; {} was expected", expected.to_str()),
            names => format!("is for {}, not for {}", list(names), expected.to_str()),
        },
        // The signature of the certificate, or of the handshake.
        CertificateError::BadSignature => {
            "is not signed by the authority that it names, or is not the peer's own".to_owned()
        }
        CertificateError::Revoked => "was revoked by its authority".to_owned(),
        CertificateError::UnknownRevocationStatus => {
            "may be revoked: there is no revocation list of its authority, or of one in its chain".to_owned()
        }
        CertificateError::ExpiredRevocationListContext { next_update, .. } => {
            format!(
                "may be revoked: its authority's revocation list expired on {}: get the next one",
                date(*next_update)
            )
        }
        CertificateError::InvalidPurposeContext { .. } => "is for another purpose".to_owned(),
        CertificateError::Other(other) if other.0.is::<UntrustedSelfSigned>() => {
            "is self-signed, and not trusted here".to_owned()
        }
        CertificateError::Other(other) if is_authority(&*other.0) => {
            "is a certificate authority's (CA:TRUE), which cannot identify a server".to_owned()
        }
        error => format!("is not accepted: {error}"),
    }
}

fn is_authority(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// The first names, as the library writes them: `DnsName("example.com")`, `IpAddress(127.0.0.1)`.
fn list(names: &[String]) -> String {
    let bare = |name: &String| {
        let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
        inside.trim_matches('"').to_owned()
    };
    let mut list = names.iter().take(MAX_SHOWN_NAMES).map(bare).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_SHOWN_NAMES {
        list.push_str(" and others");
    }
    list
}

/// A reason that the library does not distinguish from an unknown authority.
#[derive(Debug)]
pub(crate) struct UntrustedSelfSigned;

impl fmt::Display for UntrustedSelfSigned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("it is self-signed")
    }
}

impl Error for UntrustedSelfSigned {}

/// As many as fit in a line. Certificates may have hundreds.
const MAX_SHOWN_NAMES: usize = 3;
