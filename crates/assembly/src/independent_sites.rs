//! Sites that stay while others are exchanged: their text is the same, and they depend on nothing that may have changed.
//!
//! Settings that differ from those of a server in the texts of sites only are read without the sites that stay. All else is read
//! again: the root, and the sites that share something with others.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use serow_config::site_texts::{ChangedSites, SiteTexts};
use serow_document::Sources;
use serow_router::{HostPattern, HostTable, HostsElsewhere};
use serow_site::{SiteOfHosts, Sites, SitesByHost};

/// The sites of settings that stay while others are exchanged, and the texts by which they are known.
#[derive(Clone, Default)]
pub(crate) struct IndependentSites {
    /// Nothing where the texts of sites cannot be distinguished.
    texts: Option<Arc<SiteTexts>>,
    by_text: HashMap<Arc<str>, Arc<IndependentSite>>,
    /// The texts of the other sites.
    dependent: HashSet<Arc<str>>,
    /// The texts of the sites that are being read, in their order.
    to_read: Vec<Arc<str>>,
    by_host: Arc<HostTable<Arc<SiteOfHosts>>>,
    /// Their part in properties of all sites together.
    total: SiteFacts,
    /// How many there have been.
    count: u64,
}

/// A site that stays while its text does.
struct IndependentSite {
    site: Arc<SiteOfHosts>,
    facts: SiteFacts,
    /// The upstreams without a name that it uses, by their servers.
    upstreams: BTreeSet<Arc<str>>,
}

/// The part of some sites in properties of all sites together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SiteFacts {
    pub(crate) sites: usize,
    pub(crate) routes: usize,
    /// How many hand requests to other processes.
    pub(crate) proxying: usize,
    /// How many have texts that name the attempts on upstream servers.
    pub(crate) reading_attempts: usize,
}

/// A site that was read, and stays from now on.
pub(crate) struct ReadSite {
    pub(crate) text: Arc<str>,
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) site: Sites,
    pub(crate) facts: SiteFacts,
    pub(crate) upstreams: BTreeSet<Arc<str>>,
}

/// Two sites have the same host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SameHost;

impl IndependentSites {
    /// No site stays in these settings.
    pub(crate) fn none_of(sources: &Sources) -> Self {
        let texts = SiteTexts::of(sources, &SiteTexts::default()).map(Arc::new);
        let to_read = texts.as_deref().map(|texts| texts.sites().cloned().collect()).unwrap_or_default();
        Self { texts, to_read, ..Self::default() }
    }

    /// The sites that stay in these settings, with the others to read, and the upstreams of those that do not; nothing if all have
    /// to be read, since more than sites has changed.
    pub(crate) fn staying(&self, sources: &Sources) -> Option<(Self, Sources, Vec<Arc<str>>)> {
        let before = self.texts.as_deref().filter(|_| !self.by_text.is_empty())?;
        let texts = SiteTexts::of(sources, before)?;
        let ChangedSites { gone, new } = texts.changes_since(before)?;
        let is_known = |text: &Arc<str>| self.by_text.contains_key(text) || self.dependent.contains(text);
        // The second of two sites with the same text has the hosts of the first.
        if new.iter().any(is_known) {
            return None;
        }
        let mut staying = self.clone();
        let mut wanted: HashSet<Arc<str>> = std::mem::take(&mut staying.dependent).into_iter().chain(new).collect();
        let mut released = Vec::new();
        for text in gone {
            wanted.remove(&text);
            released.extend(staying.remove(&text));
        }
        if wanted.is_empty() {
            // Settings without any site are wrong: one is read again.
            let text = texts.sites().next()?;
            released.extend(staying.remove(text));
            wanted.insert(Arc::clone(text));
        }
        let (read, to_read) = texts.with_sites(&wanted);
        (staying.texts, staying.to_read) = (Some(Arc::new(texts)), to_read);
        Some((staying, read, released))
    }

    /// The texts of the sites that do not stay, in their order; nothing where they cannot be distinguished.
    pub(crate) fn texts_to_read(&self) -> Option<&[Arc<str>]> {
        self.texts.as_ref().map(|_| &self.to_read[..])
    }

    /// A site does not stay; the upstreams that it used.
    fn remove(&mut self, text: &Arc<str>) -> BTreeSet<Arc<str>> {
        let Some(site) = self.by_text.remove(text) else { return BTreeSet::new() };
        let by_host = Arc::make_mut(&mut self.by_host);
        site.site.hosts().iter().for_each(|host| drop(by_host.remove(host)));
        self.total.remove(site.facts);
        site.upstreams.clone()
    }

    /// Notes that those which were read and not added depend on others.
    pub(crate) fn finish(&mut self) {
        let read = std::mem::take(&mut self.to_read).into_iter();
        self.dependent = read.filter(|text| !self.by_text.contains_key(text)).collect();
    }

    /// Has another site stay.
    pub(crate) fn add(&mut self, read: ReadSite) -> Result<(), SameHost> {
        let ReadSite { text, hosts, site, facts, upstreams } = read;
        let site = Arc::new(SiteOfHosts::new(hosts, self.count, site));
        self.count += 1;
        let by_host = Arc::make_mut(&mut self.by_host);
        for host in site.hosts() {
            if by_host.insert(host, Arc::clone(&site)).is_some() {
                return Err(SameHost);
            }
        }
        self.total.add(facts);
        self.by_text.insert(text, Arc::new(IndependentSite { site, facts, upstreams }));
        Ok(())
    }

    /// Their hosts.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = String> {
        self.by_text.values().flat_map(|site| site.site.hosts()).map(ToString::to_string)
    }

    /// Their part in properties of all sites together.
    pub(crate) fn total(&self) -> SiteFacts {
        self.total
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// How many of them are sites of others.
    #[cfg(test)]
    pub(crate) fn sites_in(&self, others: &Self) -> usize {
        let is_same = |(text, site): (&Arc<str>, &Arc<IndependentSite>)| {
            others.by_text.get(text).is_some_and(|other| Arc::ptr_eq(other, site))
        };
        self.by_text.iter().filter(|entry| is_same(*entry)).count()
    }

    /// Their hosts and these, for messages of the other sites.
    pub(crate) fn hosts_with(&self, more: &[String]) -> HostsElsewhere {
        let mut first: Vec<_> = self.by_text.values().map(|site| &site.site).collect();
        if let Some(end) = first.len().checked_sub(1).map(|last| last.min(MAX_LISTED)) {
            first.select_nth_unstable_by_key(end, |site| site.number());
            first.truncate(MAX_LISTED);
            first.sort_unstable_by_key(|site| site.number());
        }
        let hosts = first.iter().flat_map(|site| site.hosts()).map(ToString::to_string);
        let some = hosts.chain(more.iter().cloned()).take(MAX_LISTED).collect();
        HostsElsewhere { some, count: self.by_host.len() + more.len() }
    }

    /// These sites, and others for all other hosts.
    pub(crate) fn around(&self, others: Sites) -> Sites {
        if self.is_empty() { others } else { Sites::ByHost(SitesByHost::new(Arc::clone(&self.by_host), others)) }
    }
}

impl SiteFacts {
    fn add(&mut self, others: Self) {
        self.sites += others.sites;
        self.routes += others.routes;
        self.proxying += others.proxying;
        self.reading_attempts += others.reading_attempts;
    }

    fn remove(&mut self, others: Self) {
        self.sites -= others.sites;
        self.routes -= others.routes;
        self.proxying -= others.proxying;
        self.reading_attempts -= others.reading_attempts;
    }
}

/// As many hosts as a message has room for.
const MAX_LISTED: usize = 10;
