//! The sites of settings that are independent of the others.

use std::{path::Path, sync::Arc};

use serow_config::tables::sites::SiteTable;
use serow_document::Problems;
use serow_router::HostsElsewhere;

use crate::{
    configuration::fields_read_attempts,
    independent_sites::{IndependentSites, SiteFacts},
    notes,
    served_folder::ServedFolder,
};

/// Which of the sites that are read are independent of the others.
pub(crate) struct Independence<'s> {
    /// For each site, its text and what it adds to properties of all together; nothing for one that is not.
    sites: Vec<Option<(Arc<str>, SiteFacts)>>,
    hosts: Vec<String>,
    staying: &'s IndependentSites,
}

impl<'s> Independence<'s> {
    /// Those of settings in this folder, where other sites stay.
    pub(crate) fn of_sites(sites: &[SiteTable], folder: &Path, staying: &'s IndependentSites) -> Self {
        let texts = staying.texts_to_read().filter(|texts| texts.len() == sites.len());
        let routes: usize = sites.iter().map(SiteTable::routes).sum();
        let is_worthwhile = routes + staying.total().routes >= LEAST_ROUTES;
        let Some(texts) = texts.filter(|_| is_worthwhile) else { return Self::none(sites.len(), staying) };
        let of_site = |(site, text): (&SiteTable, &Arc<str>)| {
            is_independent(site, folder).then(|| (Arc::clone(text), facts(site)))
        };
        let found: Vec<_> = sites.iter().zip(texts).map(of_site).collect();
        let independent = sites.iter().zip(&found).filter(|(_, found)| found.is_some());
        let hosts = independent.flat_map(|(site, _)| site.settings.hosts.iter().flatten().cloned()).collect();
        Self { sites: found, hosts, staying }
    }

    /// None of so many sites.
    pub(crate) fn none(count: usize, staying: &'s IndependentSites) -> Self {
        Self { sites: vec![None; count], hosts: Vec::new(), staying }
    }

    /// The text of the site with this number, if it is one, and what it adds to properties of all together.
    pub(crate) fn of(&self, number: usize) -> Option<(Arc<str>, SiteFacts)> {
        self.sites.get(number).cloned().flatten()
    }

    /// The hosts of all of them, and of those that stay.
    pub(crate) fn hosts_elsewhere(&self) -> HostsElsewhere {
        self.staying.hosts_with(&self.hosts)
    }
}

/// Whether nothing has to be known of a site, later, but its handler: also no folder, and no note about it.
fn is_independent(site: &SiteTable, folder: &Path) -> bool {
    let notes = Problems::default();
    notes::of_sites(std::slice::from_ref(site), folder, &notes);
    site.is_independent() && notes.is_empty() && ServedFolder::of_site(site, folder).is_empty()
}

fn facts(site: &SiteTable) -> SiteFacts {
    SiteFacts {
        sites: 1,
        routes: site.routes(),
        proxying: site.has_proxy().into(),
        reading_attempts: fields_read_attempts(std::slice::from_ref(site)).into(),
    }
}

/// Fewer are read again within a few milliseconds, and requests are spared a look into a table.
pub(crate) const LEAST_ROUTES: usize = 250;
