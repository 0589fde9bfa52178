//! Sites that stay while others are exchanged: their text is the same, and they depend on nothing that may have changed.
//!
//! Settings that differ from those of a server in the texts of sites only are read without the sites that stay. All else is read
//! again: the root, and the sites that share something with others.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use serow_config::site_texts::SiteTexts;
use serow_document::Sources;
use serow_router::{HostPattern, HostTable, HostsElsewhere};
use serow_site::{SiteOfHosts, Sites, SitesByHost};

/// The sites of settings that stay while others are exchanged, and the texts by which they are known.
#[derive(Clone, Default)]
pub(crate) struct IndependentSites {
    /// Nothing where the texts of sites cannot be told from one another.
    texts: Option<Arc<SiteTexts>>,
    by_text: HashMap<Arc<str>, Arc<IndependentSite>>,
    by_host: Arc<HostTable<Arc<SiteOfHosts>>>,
    /// What they add to properties of all sites together.
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
        Self { texts: SiteTexts::of(sources, &SiteTexts::default()).map(Arc::new), ..Self::default() }
    }

    /// The sites that stay in these settings, with the others to read, and the upstreams of those that do not; nothing if all have
    /// to be read, since more than sites has changed.
    pub(crate) fn staying(&self, sources: &Sources) -> Option<(Self, Sources, Vec<Arc<str>>)> {
        let before = self.texts.as_deref().filter(|_| !self.by_text.is_empty())?;
        let texts = SiteTexts::of(sources, before)?;
        let present: HashSet<&Arc<str>> = texts.sites().collect();
        // Of two sites with the same text, the second has the hosts of the first.
        if !texts.differ_in_sites_only(before) || present.len() != texts.sites().count() {
            return None;
        }
        let mut staying = self.clone();
        let mut gone: Vec<_> = self.by_text.keys().filter(|text| !present.contains(text)).collect();
        // Settings without any site are wrong: where all of them stay, one is read again.
        if texts.sites().all(|text| self.by_text.contains_key(text)) {
            gone.extend(texts.sites().next());
        }
        let mut released = Vec::new();
        for site in gone.into_iter().filter_map(|text| staying.by_text.remove(text)) {
            let by_host = Arc::make_mut(&mut staying.by_host);
            site.site.hosts().iter().for_each(|host| drop(by_host.remove(host)));
            staying.total.remove(site.facts);
            released.extend(site.upstreams.iter().cloned());
        }
        let read = texts.with_sites(|text| !staying.by_text.contains_key(text));
        staying.texts = Some(Arc::new(texts));
        Some((staying, read, released))
    }

    /// The texts of the sites that do not stay, in their order; nothing where they cannot be told from one another.
    pub(crate) fn texts_to_read(&self) -> Option<Vec<Arc<str>>> {
        let texts = self.texts.as_deref()?.sites();
        Some(texts.filter(|text| !self.by_text.contains_key(*text)).cloned().collect())
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

    /// What they add to properties of all sites together.
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
