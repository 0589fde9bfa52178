//! The hosts of sites, which containers cannot have.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use crate::settings::HostPattern;

/// The hosts of all sites, also of those of containers; another thread may change them.
#[derive(Clone, Debug, Default)]
pub struct TakenHosts(Arc<Mutex<Arc<Taken>>>);

/// The hosts of all sites at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    hosts: BTreeSet<String>,
    /// Those with a star, and what they stand for.
    patterns: Vec<(String, HostPattern)>,
}

impl TakenHosts {
    /// These hosts.
    #[must_use]
    pub fn new(hosts: Vec<String>) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(Taken::new(hosts)))))
    }

    /// Exchanges them.
    pub fn replace(&self, hosts: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(Taken::new(hosts));
    }

    pub(crate) fn get(&self) -> Arc<Taken> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Taken {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        let hosts: BTreeSet<String> = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        // All other hosts are nobody's.
        let patterns = hosts.iter().filter(|host| host.starts_with("*."));
        let patterns = patterns.filter_map(|host| Some((host.clone(), HostPattern::new(host)?))).collect();
        Self { hosts, patterns }
    }

    /// Whether a site has this very host.
    pub(crate) fn has(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }

    /// A site for all hosts below one that has this host, beside these.
    pub(crate) fn above(&self, host: &str, beside: &BTreeSet<&str>) -> Option<&str> {
        let mut above =
            self.patterns.iter().filter(|(name, pattern)| pattern.covers(host) && !beside.contains(name.as_str()));
        above.next().map(|(name, _)| name.as_str())
    }
}
