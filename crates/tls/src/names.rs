//! Choosing a certificate by server name.

use std::{collections::HashMap, sync::Arc};

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
    /// first that it can verify. If it can verify none, the handshake fails.
    pub(crate) fn choose(&self, name: Option<&str>, schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let positions = name.and_then(|name| self.positions(name)).unwrap_or(&self.default);
        let mut keys = positions.iter().filter_map(|position| self.keys.get(*position));
        let first = keys.clone().next();
        keys.find(|key| key.key.choose_scheme(schemes).is_some()).or(first).cloned()
    }

    /// An exact name takes precedence over a wildcard, which stands for one label (RFC 6125 §6.4.3).
    fn positions(&self, name: &str) -> Option<&Vec<usize>> {
        self.names.get(name).or_else(|| {
            let (_, parent) = name.split_once('.')?;
            self.names.get(&format!("*.{parent}"))
        })
    }
}
