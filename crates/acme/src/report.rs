//! The state of the certificates, for status and metrics.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

/// The state of all certificates, which clones share.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertificateReports {
    shared: Arc<Mutex<Reports>>,
}

#[derive(Debug, Default)]
struct Reports {
    named: Vec<CertificateReport>,
    /// By name.
    on_demand: BTreeMap<String, CertificateReport>,
}

/// The state of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateReport {
    /// Its names.
    pub names: Vec<String>,
    /// Its issuer; none if there is no certificate yet.
    pub issuer: Option<String>,
    /// Until when it is valid.
    pub expires: Option<SystemTime>,
    /// When the next one is ordered.
    pub next_order: Option<SystemTime>,
    /// How many orders have failed since the last one that did not, and why the last one did.
    pub failures: u32,
    /// Why the last order failed, if it did.
    pub last_error: Option<String>,
    /// When the last order of this process ended, successfully or not.
    pub last_order_end: Option<SystemTime>,
    /// Whether it failed: a renewal that is due too early is an error without a failed order.
    pub last_order_failed: bool,
    /// It was ordered because a client requested its name.
    pub is_on_demand: bool,
}

impl CertificateReports {
    /// The state of each certificate; of those on demand, the first [`MAX_ON_DEMAND`].
    pub(crate) fn all(&self) -> Vec<CertificateReport> {
        let reports = self.lock();
        reports.named.iter().chain(reports.on_demand.values().take(MAX_ON_DEMAND)).cloned().collect()
    }

    /// Whether a certificate has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        let reports = self.lock();
        let mut named = reports.named.iter().flat_map(|report| &report.names);
        named.any(|own| own.eq_ignore_ascii_case(name)) || reports.on_demand.contains_key(&name.to_ascii_lowercase())
    }

    pub(crate) fn replace(&self, reports: Vec<CertificateReport>) {
        self.lock().named = reports;
    }

    pub(crate) fn update(&self, number: usize, report: CertificateReport) {
        if let Some(place) = self.lock().named.get_mut(number) {
            *place = report;
        }
    }

    pub(crate) fn set_on_demand(&self, name: &str, report: CertificateReport) {
        self.lock().on_demand.insert(name.to_owned(), CertificateReport { is_on_demand: true, ..report });
    }

    pub(crate) fn remove_on_demand(&self, name: &str) {
        self.lock().on_demand.remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, Reports> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A status of tens of thousands of names would take the admin socket and its reader too long.
const MAX_ON_DEMAND: usize = 1000;
