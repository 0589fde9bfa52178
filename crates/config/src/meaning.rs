//! What a settings file means as a whole.

pub(crate) mod account;
pub(crate) mod applications;
pub(crate) mod internal;
pub(crate) mod matching;
pub(crate) mod paths;
pub(crate) mod policies;
pub(crate) mod proxying;
pub(crate) mod route_numbers;
pub(crate) mod routing;

use std::{cell::RefCell, path::Path, time::Duration};

use serow_variables::Scope;

use crate::{
    Configuration,
    diagnostics::problem::{Problem, Problems},
    meaning::{
        account::{Account, AccountFiles},
        applications::Applications,
        proxying::Proxying,
        route_numbers::RouteNumbers,
        routing::Routing,
    },
    options::{AcmeOptions, GeneralOptions, ListingChoice, WriteChoice},
    place::Place,
    served_folder::ServedFolder,
    settings::{ApplicationHost, ServerSettings, SettingError, reads_attempts, renewed_files, shares, unusable_files},
    tables::{
        handlers::{FilesTable, HandlerTable, MissingChoice},
        root::{AccountTable, MetricsTable, RootTable},
        sites::{SiteContent, SiteTable, SiteTlsChoice},
    },
    values::CertificateNames,
};

/// What a settings file in this folder means; where it means nothing, why is noted.
pub(crate) fn of(
    table: RootTable,
    folder: &Path,
    host: &ApplicationHost,
    problems: &Problems,
) -> Option<Configuration> {
    let RootTable { account, sandbox, reload, metrics, mut general, maps, upstreams, sites } = table;
    paths::resolve(&mut general, folder);
    for site in &sites {
        add_names(&mut general.acme, site, problems);
    }
    let wanted_files = sites.iter().flat_map(SiteTable::files);
    let wanted_files = wanted_files.map(|files| files.folder.caching.cache_files.in_memory());
    let wanted_files = wanted_files.fold(0, usize::saturating_add);
    let folders = sites.iter().flat_map(SiteTable::files).map(|files| files.served_folder(folder)).collect();
    let hands_over = sites.iter().any(SiteTable::has_proxy);
    let shares = shares(&general.listening, wanted_files);
    let shares = if hands_over { shares.with_upstreams() } else { shares };
    let mut renewed_files = renewed_files(&general.tls);
    let note_attempts = reads_attempts(&general.logging);
    check_metrics(&metrics, &general, problems);
    let numbers = RouteNumbers::new(metrics.route_metrics, &sites);
    let trust = general.listening.trust.clone();
    let note = |found: SettingError| problems.add(Problem::of_setting_error(&Place::default(), found));
    unusable_files(&general.tls).into_iter().for_each(note);
    let mut server = ServerSettings::new(general, shares).map_err(note).ok();
    let account = self::account(&account).map_err(note).ok();
    if sites.is_empty() {
        problems.add(Problem::of_file(NOTHING_SERVED));
    }
    let (site_count, route_count) = (sites.len(), sites.iter().map(SiteTable::routes).sum());
    let scope = Scope::new(matching::maps(maps, problems));
    let proxying = Proxying::new(upstreams, &scope, folder, &trust, note_attempts, problems);
    let threads = server.as_ref().map_or(1, |server| server.workers);
    let grace = server.as_ref().map_or(Duration::ZERO, |server| server.grace);
    let applications = Applications::new(folder, threads, grace, &trust, host, problems);
    renewed_files.extend(proxying.renewed_files());
    let mirrors = RefCell::default();
    let routing = Routing {
        scope: &scope,
        folder,
        wanted_files,
        shares,
        proxying: &proxying,
        applications: &applications,
        numbers: &numbers,
        mirrors: &mirrors,
        trust: &trust,
        problems,
    };
    let (router, policies) = routing.router(sites)?;
    if let Some(server) = &mut server {
        server.clients.of_routes = numbers.trusted();
    }
    Some(Configuration {
        server: server?,
        router,
        policies,
        counted_routes: metrics.route_metrics.then(|| numbers.counted()),
        upstreams: proxying.into_upstreams(),
        applications: applications.into_applications(),
        mirrors: mirrors.into_inner(),
        sites: site_count,
        routes: route_count,
        account: account?,
        folders,
        renewed_files,
        sandbox: sandbox.sandbox,
        reload_grace: reload.reload_grace.0,
    })
}

/// Metrics of routes are of no use where nobody can read them.
fn check_metrics(metrics: &MetricsTable, general: &GeneralOptions, problems: &Problems) {
    if metrics.route_metrics && general.admin.admin.is_none() {
        let text =
            "`route-metrics` needs `admin`, where metrics are read: write admin = \"unix:/run/serow/admin.sock\"";
        problems.add(Problem::of_key(Place::default().key("route-metrics"), text));
    }
}

/// Has a certificate ordered for each host of a site that wants one.
fn add_names(acme: &mut AcmeOptions, site: &SiteTable, problems: &Problems) {
    if site.settings.tls != Some(SiteTlsChoice::Acme) {
        return;
    }
    let hosts = site.settings.hosts.as_deref().unwrap_or_default();
    if hosts.is_empty() {
        let text = "\"acme\" needs `hosts`: name those that need a certificate";
        problems.add(Problem::of_value(site.place.key("tls"), text));
    }
    for (number, host) in hosts.iter().enumerate() {
        match host.parse::<CertificateNames>() {
            // Another list may have it already.
            Ok(names) if acme.names.iter().flat_map(|names| &names.0).any(|name| names.0.contains(name)) => {}
            Ok(names) => acme.names.push(names),
            Err(error) => {
                let place = site.place.key("hosts").element(number);
                problems.add(Problem::of_value(place, format!("`tls` is \"acme\": {error}")));
            }
        }
    }
}

fn account(table: &AccountTable) -> Result<Option<Account>, SettingError> {
    let AccountTable { user, group } = table;
    if user.is_none() && group.is_none() {
        return Ok(None);
    }
    let files = AccountFiles::of_system();
    let files = files.map_err(|error| SettingError::new("user", format!("`user` cannot be looked up: {error}")))?;
    files.find(user.as_ref(), group.as_ref())
}

impl FilesTable {
    /// What it serves, where the settings file is in this folder.
    fn served_folder(&self, folder: &Path) -> ServedFolder {
        let is_next = self.settings.missing == MissingChoice::Next;
        let is_listed = !is_next && self.folder.content.listing != ListingChoice::Off;
        let is_written = self.folder.content.write != WriteChoice::Off;
        ServedFolder { path: paths::resolved(&self.settings.root, folder), is_listed, is_written }
    }
}

impl SiteTable {
    /// How many routes it has; its own folder is one.
    fn routes(&self) -> usize {
        match &self.content {
            SiteContent::App(_) | SiteContent::Files(_) | SiteContent::Proxy(_) => 1,
            SiteContent::Routes(routes) => routes.len(),
        }
    }

    /// Whether it hands requests to other processes.
    fn has_proxy(&self) -> bool {
        self.policy.mirror.is_some() || self.has_proxying_content()
    }

    fn has_proxying_content(&self) -> bool {
        match &self.content {
            SiteContent::Files(_) => false,
            SiteContent::App(_) | SiteContent::Proxy(_) => true,
            SiteContent::Routes(routes) => {
                let is_proxy = |route: &HandlerTable| matches!(route, HandlerTable::App(_) | HandlerTable::Proxy(_));
                routes.iter().any(|route| is_proxy(&route.handler) || route.policy.mirror.is_some())
            }
        }
    }

    /// The served folders.
    fn files(&self) -> Vec<&FilesTable> {
        match &self.content {
            SiteContent::Files(files) => vec![files],
            SiteContent::App(_) | SiteContent::Proxy(_) => Vec::new(),
            SiteContent::Routes(routes) => {
                let files = routes.iter().filter_map(|route| match &route.handler {
                    HandlerTable::Files(files) => Some(&**files),
                    _ => None,
                });
                files.collect()
            }
        }
    }
}

const NOTHING_SERVED: &str =
    r#"there is no site, so nothing is served: write one, as in [[site]] and below it files = { root = "public" }"#;
