//! Where a server's numbers come from.

use std::sync::Arc;

use serde_json::Value;
use serow::Status;
use serow_access_log::LineCounter;
use serow_acme::CertificateControl;
use serow_bans::Bans;
use serow_fleet::Fleet;
use serow_proxy::Upstream;
use serow_settings::Application;
use serow_site::{CacheStore, MaintenanceSwitch, Mirror};

use super::{AccessCounts, CountedRoutes, bans, cache, document, fleet, mirrors};

/// Where the numbers of one server come from.
#[derive(Clone)]
pub struct Sources {
    /// What the server counts.
    pub status: Status,
    /// What its access log counts.
    pub log: LineCounter,
    /// The routes whose requests are counted.
    pub routes: CountedRoutes,
    /// The servers that it asks.
    pub upstreams: Vec<Upstream>,
    /// Its applications.
    pub applications: Vec<Application>,
    /// What copies requests.
    pub mirrors: Vec<Mirror>,
    /// Where it caches responses, if it does.
    pub cache: Option<CacheStore>,
    /// What shares limits with other servers.
    pub fleet: Option<Arc<Fleet>>,
    /// Its automatic certificates.
    pub certificates: CertificateControl,
    /// The clients that it refuses.
    pub bans: Bans,
    /// What its limits have decided.
    pub access: AccessCounts,
    /// Whether it is in maintenance.
    pub maintenance: MaintenanceSwitch,
    /// Whether the sandbox restricts it to the files that it needs, as the status shows it.
    pub sandbox: Arc<str>,
}

impl Sources {
    /// The numbers as they are now, in JSON.
    pub fn document(&self) -> Value {
        let upstreams: Vec<_> = self.upstreams.iter().map(Upstream::report).collect();
        let applications: Vec<_> = self.applications.iter().filter_map(Application::report).collect();
        let certificates = self.certificates.reports();
        let status = self.status.report();
        let mut document = document::value(
            &status,
            self.log.counts(),
            &self.sandbox,
            self.maintenance.get().is_some(),
            &applications,
            &upstreams,
            &certificates,
        );
        document["bans"] = bans::document(&self.bans);
        self.access.add_to(&mut document);
        document["routes"] = self.routes.document();
        document["fleet"] = fleet::document(self.fleet.as_deref().map(Fleet::report).as_ref());
        document["mirrors"] = mirrors::document(&self.mirrors.iter().map(Mirror::report).collect::<Vec<_>>());
        document["cache"] = cache::document(self.cache.as_ref().map(CacheStore::report).as_ref());
        document
    }
}
