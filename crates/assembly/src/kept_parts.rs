//! The parts of a server that go on when it adopts other settings.

use std::{collections::BTreeMap, sync::Arc};

use serow_fleet::Fleet;
use serow_limits::Bans;
use serow_proxy::Upstream;
use serow_site::{CacheStore, RateLimit, RefusedAddresses};

/// The parts of a configuration that serves, for one that takes its place in the same process: there, what is written alike is
/// the same part, with its connections, contents and counts.
#[derive(Clone, Default)]
pub struct KeptParts {
    pub(crate) upstreams: Vec<(WrittenUpstream, Upstream)>,
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

/// An upstream as it is written: those that are written alike are the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WrittenUpstream(pub(crate) String);

impl KeptLimits {
    /// Those with keys of the same meaning.
    pub(crate) fn with_maps(&self, maps: &str) -> BTreeMap<String, KeptLimit> {
        if self.maps == maps { self.limits.clone() } else { BTreeMap::new() }
    }
}
