//! The sites of a server, which others can replace while it serves.

use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serow::Request;

use crate::{Sites, per_thread::drop_stale_clones, site_response::SiteResponse};

/// The sites of a server, which others can replace while it serves. Clones are handles to the same sites.
///
/// Each thread that serves has a clone of the sites, and takes one of their successors with the first request that comes after the
/// change. A request stays with the sites with which it began, until its response has ended.
#[derive(Clone)]
pub struct LiveSites {
    shared: Arc<Shared>,
}

struct Shared {
    /// How often the sites have been replaced.
    version: AtomicU64,
    current: Mutex<Sites>,
}

/// The sites as one thread has them.
pub(crate) struct SitesOfThread {
    live: LiveSites,
    version: Cell<u64>,
    sites: RefCell<Sites>,
}

impl LiveSites {
    /// These, for the time being.
    #[must_use]
    pub fn new(sites: Sites) -> Self {
        Self { shared: Arc::new(Shared { version: AtomicU64::new(0), current: Mutex::new(sites) }) }
    }

    /// Serves these from now on.
    pub fn replace(&self, sites: Sites) {
        let mut current = self.shared.current.lock().unwrap_or_else(PoisonError::into_inner);
        let former = std::mem::replace(&mut *current, sites);
        self.shared.version.fetch_add(1, Ordering::Release);
        drop(current);
        drop(former);
    }

    /// The present ones for a thread.
    pub(crate) fn for_thread(&self) -> SitesOfThread {
        let (version, sites) = self.current();
        SitesOfThread { live: self.clone(), version: Cell::new(version), sites: RefCell::new(sites) }
    }

    fn current(&self) -> (u64, Sites) {
        let current = self.shared.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that the number is that of these sites.
        (self.shared.version.load(Ordering::Relaxed), current.clone())
    }
}

impl SitesOfThread {
    #[inline]
    pub(crate) fn respond(&self, request: Request) -> SiteResponse {
        self.look_for_changes();
        self.sites.borrow().respond(request)
    }

    /// As [`Sites::note_route`].
    pub(crate) fn note_route(&self, request: &mut Request) {
        self.look_for_changes();
        self.sites.borrow().note_route(request);
    }

    #[inline]
    fn look_for_changes(&self) {
        if self.live.shared.version.load(Ordering::Acquire) != self.version.get() {
            self.follow();
        }
    }

    #[cold]
    fn follow(&self) {
        let (version, sites) = self.live.current();
        self.version.set(version);
        let former = self.sites.replace(sites);
        drop(former);
        drop_stale_clones();
        serow_scripts::drop_stale_states();
    }
}

/// One for another thread.
impl Clone for SitesOfThread {
    fn clone(&self) -> Self {
        self.live.for_thread()
    }
}
