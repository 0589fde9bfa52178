//! Where a server's numbers come from.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Value, json};
use serow::Status;
use serow_access_log::LineCounter;
use serow_acme::CertificateControl;
use serow_containers::SharedReport;
use serow_fleet::Fleet;
use serow_limits::Bans;
use serow_proxy::Upstream;
use serow_site::{Application, CacheStore, MaintenanceSwitch, Mirror};

use super::{
    AccessCounts, CountedRoutes, bans, cache, containers, document, fleet, mirrors,
    total::{FORMER, add_ended},
};

/// Where the numbers of one server come from.
#[derive(Clone)]
pub struct Sources {
    /// The server's counters.
    pub status: Status,
    /// The counters of its access log.
    pub log: LineCounter,
    /// The routes whose requests are counted.
    pub routes: CountedRoutes,
    /// Its upstreams.
    pub upstreams: Vec<Upstream>,
    /// Its applications.
    pub applications: Vec<Application>,
    /// The mirrors, to which it copies requests.
    pub mirrors: Vec<Mirror>,
    /// Where it caches responses, if it does.
    pub cache: Option<CacheStore>,
    /// The fleet, with which it shares limits.
    pub fleet: Option<Arc<Fleet>>,
    /// The containers that are routed.
    pub containers: Option<SharedReport>,
    /// Its automatic certificates.
    pub certificates: CertificateControl,
    /// The clients that it refuses.
    pub bans: Bans,
    /// The decisions of its limits and other rules of access.
    pub access: AccessCounts,
    /// Whether it is in maintenance.
    pub maintenance: MaintenanceSwitch,
    /// Whether the sandbox restricts it to the files that it needs, as the status shows it.
    pub sandbox: Arc<str>,
    /// The numbers of parts that others have replaced, see [`Self::replace`]; null at first.
    pub former: Value,
}

impl Sources {
    /// Exchanges parts, and remembers what those that go have counted. Requests that they still have are not counted any more.
    pub fn replace(&mut self, upstreams: Vec<Upstream>, mirrors: Vec<Mirror>, access: AccessCounts) {
        let kept: HashSet<_> = upstreams.iter().map(Upstream::identity).collect();
        let gone = self.upstreams.iter().filter(|upstream| !kept.contains(&upstream.identity()));
        let mut numbers = json!({
            "upstreams": document::upstreams(&gone.map(Upstream::report).collect::<Vec<_>>()),
            "mirrors": mirrors::document(&self.mirrors.iter().map(Mirror::report).collect::<Vec<_>>()),
        });
        self.access.without(&access).add_to(&mut numbers);
        add_ended(&mut self.former, &numbers);
        (self.upstreams, self.mirrors, self.access) = (upstreams, mirrors, access);
    }

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
        let containers = self.containers.as_ref().map(SharedReport::get);
        document["containers"] = containers::document(containers.as_ref());
        document["mirrors"] = mirrors::document(&self.mirrors.iter().map(Mirror::report).collect::<Vec<_>>());
        if !self.former.is_null() {
            document[FORMER] = self.former.clone();
        }
        document["cache"] = cache::document(self.cache.as_ref().map(CacheStore::report).as_ref());
        document
    }
}
