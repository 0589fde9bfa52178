//! Sites that are found by their hosts, and exchanged one by one while the others stay.

use std::sync::Arc;

use serow::Request;
use serow_router::{HostPattern, HostTable};

use crate::{Sites, per_thread::PerThread};

/// Sites that are found by their hosts, and others.
#[derive(Clone)]
pub struct SitesByHost {
    table: Arc<HostTable<Arc<SiteOfHosts>>>,
    others: Box<Sites>,
}

/// A site that is found by its hosts. Each thread has a clone of it, which it makes with the first request for the site.
pub struct SiteOfHosts {
    sites: PerThread<Sites>,
    hosts: Vec<HostPattern>,
    /// Its place among all.
    number: u64,
}

impl SiteOfHosts {
    /// The site of these hosts, which has this place among all.
    #[must_use]
    pub fn new(hosts: Vec<HostPattern>, number: u64, site: Sites) -> Self {
        Self { sites: PerThread::new(site), hosts, number }
    }

    /// Its hosts.
    #[must_use]
    pub fn hosts(&self) -> &[HostPattern] {
        &self.hosts
    }

    /// Its place among all.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl SitesByHost {
    /// The sites of this table; others for all other hosts.
    #[must_use]
    pub fn new(table: Arc<HostTable<Arc<SiteOfHosts>>>, others: Sites) -> Self {
        Self { table, others: Box::new(others) }
    }

    /// Does something with the sites of a request, which are those of this thread.
    #[inline]
    pub(crate) fn with_sites_of<T>(&self, request: Request, act: impl FnOnce(&Sites, Request) -> T) -> T {
        match self.table.find(&request) {
            Some(site) => act(&site.sites.of_thread(), request),
            None => act(&self.others, request),
        }
    }

    /// The same with a request that stays where it is.
    pub(crate) fn note_route(&self, request: &mut Request) {
        match self.table.find(request) {
            Some(site) => site.sites.of_thread().note_route(request),
            None => self.others.note_route(request),
        }
    }

    /// Whether a site is found by this host.
    pub(crate) fn has_host(&self, host: &str) -> bool {
        self.table.find_host(host).is_some()
    }

    pub(crate) fn others(&self) -> &Sites {
        &self.others
    }
}
