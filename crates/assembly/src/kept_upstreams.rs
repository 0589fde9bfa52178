//! The upstreams of settings, for others that take their place: those that are written alike are the same ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serow_proxy::Upstream;

/// The upstreams of settings.
#[derive(Clone, Default)]
pub(crate) struct KeptUpstreams {
    /// Those with a name, by it.
    pub(crate) named: BTreeMap<Arc<str>, WrittenUpstream>,
    /// Those that sites define themselves, by their servers.
    nameless: BTreeMap<Arc<str>, NamelessUpstream>,
    /// Those of the latter that are used by others than independent sites.
    used: BTreeSet<Arc<str>>,
}

/// An upstream, and how it is written.
#[derive(Clone)]
pub(crate) struct WrittenUpstream {
    pub(crate) written: Arc<str>,
    pub(crate) upstream: Upstream,
}

#[derive(Clone)]
struct NamelessUpstream {
    is: WrittenUpstream,
    /// How many independent sites use it, and the other sites together as one.
    users: usize,
}

impl KeptUpstreams {
    /// An upstream with a name, if it is written so.
    pub(crate) fn named(&self, name: &str, written: &str) -> Option<&Upstream> {
        self.named.get(name).filter(|kept| *kept.written == *written).map(|kept| &kept.upstream)
    }

    /// The upstream of these servers.
    pub(crate) fn nameless(&self, servers: &str) -> Option<&WrittenUpstream> {
        self.nameless.get(servers).map(|kept| &kept.is)
    }

    /// Those that are used by sites which stay: without these, which other sites used.
    pub(crate) fn of_staying(&self, released: &[Arc<str>]) -> Self {
        let mut staying = Self { nameless: self.nameless.clone(), ..Self::default() };
        for servers in self.used.iter().chain(released) {
            if let Some(kept) = staying.nameless.get_mut(servers) {
                kept.users -= 1;
                if kept.users == 0 {
                    staying.nameless.remove(servers);
                }
            }
        }
        staying
    }

    /// Adds the upstreams that other sites use, each of these independent ones and all others together.
    pub(crate) fn add_nameless(
        &mut self,
        upstreams: &BTreeMap<Arc<str>, WrittenUpstream>,
        independent: &[BTreeSet<Arc<str>>],
        used: BTreeSet<Arc<str>>,
    ) {
        for servers in independent.iter().flatten().chain(&used) {
            let Some(is) = upstreams.get(servers) else { continue };
            let kept = NamelessUpstream { is: is.clone(), users: 0 };
            self.nameless.entry(Arc::clone(servers)).or_insert(kept).users += 1;
        }
        self.used = used;
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Upstream> {
        let nameless = self.nameless.values().map(|kept| &kept.is);
        self.named.values().chain(nameless).map(|kept| kept.upstream.clone()).collect()
    }
}
