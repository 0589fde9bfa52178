//! Certificates of clients, which TLS has verified.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use serow_access::{CertificateRules, ClientCertificate};
use serow_gateway::error_page;
use serow_message::{Request, StatusCode, User};

use crate::identity::{Identity, Verdict};

/// Certificates that clients must have.
#[derive(Debug)]
pub struct ClientCertificates {
    rules: CertificateRules,
    /// The field of the request that names the user to the handler; clients cannot set it.
    header: Option<Arc<str>>,
    known: Mutex<HashMap<usize, Known>>,
}

/// A certificate of an open connection, or of one that was open lately.
#[derive(Debug)]
struct Known {
    /// While it is held, no other certificate has its address.
    _certificate: Arc<[u8]>,
    user: Option<Outcome>,
}

/// The user of a certificate that meets the rules.
#[derive(Clone, Debug)]
struct Outcome(Option<Arc<str>>);

impl ClientCertificates {
    /// Those that meet these rules; this field names the user to the handler.
    #[must_use]
    pub fn new(rules: CertificateRules, header: Option<Arc<str>>) -> Self {
        Self { rules, header, known: Mutex::default() }
    }

    pub(crate) fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }

    /// Finds out whose certificate the connection of a request has.
    pub(crate) fn check(&self, request: &Request) -> Verdict {
        let encryption = request.connection().encryption();
        let certificate = encryption.and_then(|encryption| encryption.client_certificate.as_ref());
        match certificate.and_then(|certificate| self.outcome(certificate)) {
            Some(Outcome(None)) => Verdict::Passed(Identity::default()),
            Some(Outcome(Some(user))) => {
                let value = |name: &Arc<str>| (Arc::clone(name), Bytes::copy_from_slice(user.as_bytes()));
                let request_fields = self.header.iter().map(value).collect();
                Verdict::Passed(Identity { request_fields, ..Identity::of_user(User(user)) })
            }
            // A browser asks for a certificate when it connects, and not because of a response.
            None => Verdict::Refused(error_page(StatusCode::FORBIDDEN, &request.headers)),
        }
    }

    fn outcome(&self, certificate: &Arc<[u8]>) -> Option<Outcome> {
        let key = Arc::as_ptr(certificate).cast::<u8>() as usize;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return known.user.clone();
        }
        let parsed = ClientCertificate::parse(certificate).filter(|certificate| self.rules.fit(certificate));
        let user = parsed.map(|certificate| Outcome(name(&certificate)));
        if certificate.len() <= MAX_KEPT {
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(key, Known { _certificate: Arc::clone(certificate), user: user.clone() });
        }
        user
    }
}

/// The common name; in certificates of programs, which have none, the first alternative name.
fn name(certificate: &ClientCertificate) -> Option<Arc<str>> {
    let first = || certificate.names.first().map(serow_access::AlternativeName::text);
    let name = certificate.common_name.clone().or_else(first)?;
    let is_plain = !name.is_empty() && name.trim() == name && !name.chars().any(char::is_control);
    is_plain.then(|| name.into())
}

/// With those of the largest size, 4 MB: whoever opens connections must not fill the memory with certificates.
const MAX_KNOWN: usize = 1024;

/// A certificate has 1 to 2 KB. Larger ones are read for each request.
const MAX_KEPT: usize = 4096;
