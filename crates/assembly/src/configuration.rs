//! The meaning of a settings file as a whole.

use std::{cell::RefCell, collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use serow_access_log::LogRules;
use serow_config::{
    SettingError,
    checks::CheckedTables,
    options::GeneralOptions,
    routing::conditions,
    tables::{
        header_rules::HeaderRuleSettings,
        root::{AccountTable, RootTable},
        sites::{SiteContent, SiteTable},
    },
};
use serow_document::{Document, Place, Problems};
use serow_limits::Bans;
use serow_proxy::Upstream;
use serow_variables::Scope;

use crate::{
    ApplicationHost, Configuration, ServerSettings,
    access::{Access, AccessParts},
    account::{Account, AccountFiles},
    applications::Applications,
    body_limits::BodyLimits,
    caching::Caching,
    descriptor_shares::Shares,
    docker,
    fixed_parts::{self, FixedParts},
    fleet,
    independence::Independence,
    kept_parts::{KeptLimits, KeptParts, Staying},
    logs::{self, Logs},
    notes,
    proxying::{Proxying, ReadUpstreams, UpstreamsBefore},
    route_numbers::{RouteNumbers, trusted},
    routing::{RoutedSites, Routing},
    scripting::Scripting,
    served_folder::ServedFolder,
    shares,
    tls::{renewed_files, unusable_files},
};

/// The meaning of a settings file in this folder; where it means nothing, why is noted, and elsewhere what is
/// valid and probably not meant.
#[expect(clippy::too_many_lines, reason = "a list: each part is made once, in the order in which they need each other")]
pub(crate) fn of(
    tables: CheckedTables,
    (document, folder): (&Document<'_>, &Path),
    (host, kept, staying): (&ApplicationHost, &KeptParts, Staying),
    problems: &Problems,
    notes: &Problems,
) -> Option<Configuration> {
    let RootTable {
        account,
        sandbox,
        reload,
        metrics,
        scripts,
        mut general,
        cache,
        maps,
        redis,
        docker,
        limits,
        upstreams,
        sites,
    } = tables.root;
    let listeners = tables.addresses;
    unusable_files(&general.tls).into_iter().for_each(|found| problems.add(found.problem(&Place::default())));
    notes::of_root(&general.limits, notes);
    notes::of_sites(&sites, folder, notes);

    let written_maps = format!("{maps:?}");
    let has_proxy = docker.is_some() || sites.iter().any(SiteTable::has_proxy);
    let (wanted_files, shares) = descriptors(&general, &sites, has_proxy);
    let folders = sites.iter().flat_map(|site| ServedFolder::of_site(site, folder)).collect();
    let total = staying.sites.total();
    let read_attempts = logs::read_attempts(&general.logging, &sites) || fields_read_attempts(&sites);
    let note_attempts = read_attempts || total.reading_attempts > 0;
    let (bodies, trust) =
        (BodyLimits::set(&mut general.limits, &sites, kept.largest_body), general.listening.trust.clone());
    let mut fixed = FixedParts {
        root: fixed_parts::root_values(document),
        addresses: fixed_parts::addresses(&listeners),
        largest_body: bodies.largest(),
        general: fixed_parts::general(&general),
        scarce: (shares.cached_files < wanted_files).then_some(shares),
        has_proxy: total.proxying > 0 || has_proxy,
        has_cgi: sites.iter().any(SiteTable::has_cgi),
        files: fixed_parts::files(redis.as_ref(), &general, folder),
        notes_attempts: note_attempts,
        shared_limits: if redis.is_some() { format!("{limits:?} {written_maps}") } else { String::new() },
        ..FixedParts::default()
    };
    let note = |found: SettingError| problems.add(found.problem(&Place::default()));
    let (scope, logs) = (Scope::new(conditions::maps(maps, problems)), Logs::new(folder, problems));
    let root_logs = logs.root(&general.logging, &scope, &sites);
    let (certificate_files, has_client_authorities) =
        (renewed_files(&general.tls), general.tls.tls_client_ca.is_some());
    let mut server = ServerSettings::for_sites(general, shares).map_err(note).ok();
    let account = self::account(&account).map_err(note).ok();
    let has_cgi = sites.iter().any(SiteTable::has_cgi);
    let (site_count, route_count) = (sites.len(), sites.iter().map(SiteTable::routes).sum::<usize>());
    let hosts = docker.iter().flat_map(|_| docker::hosts(&sites).chain(staying.sites.hosts())).collect();
    let docker = docker.map(|docker| docker::of(docker, problems));
    let numbers = RouteNumbers::new(metrics.route_metrics || root_logs.has_names(), &sites);
    let before = UpstreamsBefore { kept: &kept.upstreams, staying: &staying.upstreams };
    let proxying = Proxying::new(upstreams, folder, (&trust, note_attempts), before, problems);
    let may_stay = listeners.own.is_empty() && scripts.script.is_none() && !numbers.are_needed();
    let independence = match may_stay {
        true => Independence::of_sites(&sites, folder, &staying.sites),
        false => Independence::none(sites.len(), &staying.sites),
    };
    let (threads, grace, bans) = for_handlers(server.as_mut(), kept);
    let fleet = redis.map(|redis| kept.fleet.clone().or_else(|| fleet::of(redis, folder, problems)));
    let parts = AccessParts::new(fleet.as_ref(), &proxying, trusted(&trust), bans, has_client_authorities);
    let parts = parts.kept(kept.limits.with_maps(&written_maps), &kept.refused_addresses);
    let access = Access::new(limits, &scope, folder, parts, problems);
    let host = ApplicationHost { note_attempts, ..host.clone() };
    let applications = Applications::new(folder, threads, grace, &trust, (&host, &kept.applications), problems);
    let (mirrors, caching) = (
        RefCell::default(),
        Caching::new(cache.as_ref(), kept.cache.as_ref(), folder, (trusted(&trust), &sites), problems),
    );
    let scripting = Scripting::new(scripts, folder, trusted(&trust), (&proxying, fleet.clone().flatten()), problems);
    let routing = Routing {
        scope: &scope,
        folder,
        wanted_files,
        shares,
        proxying: &proxying,
        applications: &applications,
        bodies,
        logs: &logs,
        root_logs: &root_logs,
        access: &access,
        numbers: &numbers,
        listeners: &listeners,
        mirrors: &mirrors,
        caching: &caching,
        scripting: &scripting,
        trust: &trust,
        problems,
    };
    let RoutedSites { together, independent } = routing.sites(sites, &independence)?;
    let uses: Vec<_> = independent.iter().map(|site| site.upstreams.clone()).collect();
    let mut stay = staying.sites;
    // Those that stay would not have the hosts, or the upstreams.
    let is_kept = |(name, upstream): (&str, &Upstream)| {
        kept.upstreams.named.get(name).is_some_and(|kept| kept.upstream.identity() == upstream.identity())
    };
    let can_stay = may_stay && proxying.named().all(is_kept);
    if !stay.is_empty() && !can_stay {
        return None;
    }
    for site in independent {
        stay.add(site).ok()?;
    }
    stay.finish();
    let site = scripting.around(stay.around(together))?;
    note_clients(server.as_mut(), &numbers, &access);
    let server = server?;
    let logs = LogRules { otherwise: Arc::clone(&root_logs.rules), of_routes: numbers.logs(&root_logs.rules) };
    let counted_routes = metrics.route_metrics.then(|| numbers.counted());
    let renewed_files = [certificate_files, proxying.renewed_files(), access.files()].concat();
    let kept_limits = KeptLimits { maps: written_maps, limits: access.kept_limits() };
    // Before the upstreams, which it refers to.
    let access = access.into_control();
    let (caching, ReadUpstreams { named, nameless, used, made }) = (caching.into_store(), proxying.into_upstreams());
    let mut upstreams = staying.upstreams;
    upstreams.add_nameless(&nameless, &uses, used);
    upstreams.named = named;
    let applications = applications.into_applications();
    let all_upstreams = upstreams.all();
    fixed.applications = applications.clone();
    fixed.logs = logs.clone();
    fixed.counted_routes.clone_from(&counted_routes);
    let has_logs = !logs.otherwise.is_empty() || !logs.of_routes.is_empty();
    fixed.clients = if has_logs { format!("{:?}", server.clients) } else { String::new() };
    fixed.asks_providers = !access.logins.is_empty() || !access.remote_keys.is_empty();
    let kept = KeptParts {
        upstreams,
        applications: applications.clone(),
        sites: stay,
        limits: kept_limits,
        cache: caching.clone(),
        fleet: access.fleet.clone(),
        bans: Some(server.bans.clone()),
        largest_body: Some(bodies.largest()),
        refused_addresses: Arc::clone(&access.refused_addresses),
    };
    Some(Configuration {
        server,
        logs,
        site,
        renewed_files,
        counted_routes,
        access,
        upstreams: all_upstreams,
        made_upstreams: made,
        applications: applications.all(),
        has_cgi,
        mirrors: mirrors.into_inner(),
        cache: caching,
        docker: docker.flatten(),
        hosts,
        sites: site_count + total.sites,
        routes: route_count + total.routes,
        account: account?,
        folders,
        sandbox: sandbox.sandbox,
        reload_grace: reload.reload_grace.0,
        notes: Vec::new(),
        fixed,
        kept,
    })
}

/// The properties of the server that handlers need: its number of threads, the time that it has to stop, and its bans.
///
/// A server that goes on with other settings has its bans already.
fn for_handlers(server: Option<&mut ServerSettings>, kept: &KeptParts) -> (usize, Duration, Bans) {
    let Some(server) = server else { return (1, Duration::ZERO, Bans::default()) };
    if let Some(bans) = &kept.bans {
        server.bans = bans.clone();
    }
    (server.workers, server.grace, server.bans.clone())
}

/// Tells the server what routes say of clients.
fn note_clients(server: Option<&mut ServerSettings>, numbers: &RouteNumbers, access: &Access<'_>) {
    if let Some(server) = server {
        server.clients.of_routes = numbers.trusted();
        access.describe_requests(&mut server.clients);
    }
}

/// How many files the folders of these sites want to keep open, and how the descriptors of the process are divided.
fn descriptors(general: &GeneralOptions, sites: &[SiteTable], hands_over: bool) -> (usize, Shares) {
    let wanted_files = sites.iter().flat_map(SiteTable::caching);
    let wanted_files = wanted_files.map(|caching| caching.cache_files.in_memory());
    let wanted_files = wanted_files.fold(0, usize::saturating_add);
    let shares = shares(&general.listening, wanted_files);
    (wanted_files, if hands_over { shares.with_upstreams() } else { shares })
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

/// Whether fields of responses may name the attempts on upstream servers. Where a text only looks like it, they are noted in
/// vain.
pub(crate) fn fields_read_attempts(sites: &[SiteTable]) -> bool {
    let reads = |headers: &BTreeMap<String, String>, rules: &HeaderRuleSettings| {
        let values = rules.response_headers.iter().filter_map(|rule| rule.value.as_ref());
        headers.values().chain(values).any(|text| text.to_ascii_lowercase().contains("upstream_"))
    };
    sites.iter().any(|site| {
        let routes = match &site.content {
            SiteContent::Routes(routes) => &routes[..],
            _ => &[],
        };
        reads(&site.settings.headers, &site.header_rules)
            || routes.iter().any(|route| reads(&route.settings.headers, &route.header_rules))
    })
}
