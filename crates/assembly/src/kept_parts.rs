//! The parts of a server that go on when it adopts other settings.

use std::{collections::BTreeMap, sync::Arc};

use serow_document::Sources;
use serow_fleet::Fleet;
use serow_guards::{RateLimit, RefusedAddresses};
use serow_limits::Bans;
use serow_site::CacheStore;

use crate::{applications::KeptApplications, independent_sites::IndependentSites, kept_upstreams::KeptUpstreams};

/// The parts of a configuration that serves, for one that takes its place in the same process: there, what is written alike is
/// the same part, with its connections, contents and counts.
#[derive(Clone, Default)]
pub struct KeptParts {
    pub(crate) upstreams: KeptUpstreams,
    pub(crate) sites: IndependentSites,
    pub(crate) applications: KeptApplications,
    /// The limits by their names, and the maps that their keys may name.
    pub(crate) limits: KeptLimits,
    pub(crate) cache: Option<CacheStore>,
    pub(crate) fleet: Option<Arc<Fleet>>,
    pub(crate) bans: Option<Bans>,
    /// Bytes that bodies of requests may have.
    pub(crate) largest_body: Option<u64>,
    pub(crate) refused_addresses: Arc<RefusedAddresses>,
}

/// The limits by their names, and the maps that their keys may name.
#[derive(Clone, Default)]
pub(crate) struct KeptLimits {
    pub(crate) maps: String,
    pub(crate) limits: BTreeMap<String, KeptLimit>,
}

/// A limit, and how it is written: one that is written alike is the same one.
#[derive(Clone, Debug)]
pub(crate) struct KeptLimit {
    pub(crate) written: String,
    pub(crate) limit: Arc<RateLimit>,
}

/// The sites that stay when other settings are read, and are not read for that, and their upstreams.
#[derive(Default)]
pub(crate) struct Staying {
    pub(crate) sites: IndependentSites,
    pub(crate) upstreams: KeptUpstreams,
}

impl Staying {
    /// No site stays in these settings.
    pub(crate) fn none_of(sources: &Sources) -> Self {
        Self { sites: IndependentSites::none_of(sources), upstreams: KeptUpstreams::default() }
    }
}

impl KeptParts {
    /// The same without the applications, which start again.
    #[must_use]
    pub fn without_applications(&self) -> Self {
        Self { applications: KeptApplications::default(), ..self.clone() }
    }

    /// The sites that stay in these settings, and the rest of the settings, which is to be read; nothing if all of them are.
    pub(crate) fn staying(&self, sources: &Sources) -> Option<(Staying, Sources)> {
        let (sites, read, released) = self.sites.staying(sources)?;
        Some((Staying { sites, upstreams: self.upstreams.of_staying(&released) }, read))
    }
}

impl KeptLimits {
    /// Those with keys of the same meaning.
    pub(crate) fn with_maps(&self, maps: &str) -> BTreeMap<String, KeptLimit> {
        if self.maps == maps { self.limits.clone() } else { BTreeMap::new() }
    }
}
