//! Choosing a certificate by server name.

use std::{borrow::Borrow, collections::HashMap, hash::Hash, sync::Arc};

use rustls::{SignatureScheme, sign::CertifiedKey};

use crate::identity::Identity;

/// The certificates by their names.
#[derive(Debug)]
pub(crate) struct Names {
    keys: Vec<Arc<CertifiedKey>>,
    /// For each name, its certificates in the order of the settings. The first label may be the wildcard `*`.
    names: HashMap<String, Vec<usize>>,
    /// For clients that send no server name, or an unknown one: the first certificate, and the others with its name.
    default: Vec<usize>,
}

impl Names {
    pub(crate) fn new<'a>(identities: impl IntoIterator<Item = &'a Identity>) -> Self {
        let mut this = Self { keys: Vec::new(), names: HashMap::new(), default: Vec::new() };
        let mut first_name = None;
        for identity in identities {
            let position = this.keys.len();
            this.keys.push(Arc::clone(&identity.key));
            for name in &identity.names {
                let positions = this.names.entry(name.clone()).or_default();
                // A certificate may repeat a name.
                if positions.last() != Some(&position) {
                    positions.push(position);
                }
            }
            if position == 0 {
                first_name = identity.names.first();
            }
        }
        this.default = first_name.and_then(|name| this.names.get(name)).cloned().unwrap_or_else(|| vec![0]);
        this
    }

    /// The certificate for a client that requests this name, in lower case, and supports these signature schemes: the
    /// first that it can verify. If it can verify none, the handshake fails. Nothing if no certificate has the name.
    pub(crate) fn choose_named(&self, name: &str, schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.choose_of(find(&self.names, name)?, schemes)
    }

    /// Whether a certificate has this name, in lower case.
    pub(crate) fn has(&self, name: &str) -> bool {
        find(&self.names, name).is_some()
    }

    /// The certificate for clients that request no name, or an unknown one.
    pub(crate) fn choose_default(&self, schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.choose_of(&self.default, schemes)
    }

    fn choose_of(&self, positions: &[usize], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut keys = positions.iter().filter_map(|position| self.keys.get(*position));
        let first = keys.clone().next();
        keys.find(|key| key.key.choose_scheme(schemes).is_some()).or(first).cloned()
    }
}

/// Returns the value that a map has for a server name, in lower case. An exact name takes precedence over a wildcard,
/// which stands for one label (RFC 6125 §6.4.3).
pub(crate) fn find<'m, K: Borrow<str> + Eq + Hash, V>(names: &'m HashMap<K, V>, name: &str) -> Option<&'m V> {
    names.get(name).or_else(|| {
        let (_, parent) = name.split_once('.')?;
        names.get(format!("*.{parent}").as_str())
    })
}
