//! Which certificates are for which name.

use std::{collections::HashMap, sync::Arc};

use rustls::{SignatureScheme, sign::CertifiedKey};

use crate::identity::Identity;

/// The certificates by the names they are for.
#[derive(Debug)]
pub(crate) struct Names {
    keys: Vec<Arc<CertifiedKey>>,
    /// For each name, its certificates in the order in which they were given. One whose first step is `*` stands for all.
    names: HashMap<String, Vec<usize>>,
    /// Those for clients that name no server, or one that no certificate is for: the first, and the others of its name.
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
                // A certificate may have a name twice.
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

    /// The certificate for a client that asks for this name, in lower case, and understands these signatures: the first
    /// that it can check. Where it can check none, the handshake finds that out.
    pub(crate) fn choose(&self, name: Option<&str>, schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let positions = name.and_then(|name| self.positions(name)).unwrap_or(&self.default);
        let mut keys = positions.iter().filter_map(|position| self.keys.get(*position));
        let first = keys.clone().next();
        keys.find(|key| key.key.choose_scheme(schemes).is_some()).or(first).cloned()
    }

    /// A certificate for exactly this name comes before one for all beside it (RFC 6125 §6.4.3: `*` stands for one step).
    fn positions(&self, name: &str) -> Option<&Vec<usize>> {
        self.names.get(name).or_else(|| {
            let (_, parent) = name.split_once('.')?;
            self.names.get(&format!("*.{parent}"))
        })
    }
}
