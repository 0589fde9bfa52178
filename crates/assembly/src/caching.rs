//! Caching: the store of responses, and the cache settings of each route.

use std::{collections::HashMap, path::Path, sync::Arc};

use serow_cache::CacheRules;
use serow_config::{
    paths::resolved,
    tables::{
        cache::{CacheSetting, CacheTable, IgnoredNames, RouteCacheTable, StatusFieldChoice},
        sites::SiteTable,
    },
    values::{Size, Statuses},
};
use serow_document::{Place, Problem, Problems};
use serow_gateway::TrustedProxies;
use serow_message::KnownHeader;
use serow_router::Action;
use serow_site::{
    CacheBypass, CacheFolder, CacheSettings, CacheStore, Content, IgnoredQuery, PurgingClients, RouteCache, StatusField,
};

/// Where responses are stored, for all routes that cache theirs.
pub(crate) struct Caching<'a> {
    /// Nothing in it if its settings have errors.
    store: Option<Option<CacheStore>>,
    /// The clients that may purge.
    purge_from: Option<PurgingClients>,
    /// By which requests each site is reached, by its place.
    sites: HashMap<Place, String>,
    problems: &'a Problems,
}

/// By which requests a site is reached: by its hosts and addresses, in any order.
fn reached(site: &SiteTable) -> String {
    let sorted = |mut texts: Vec<String>| {
        texts.sort_unstable();
        texts
    };
    let hosts = site.settings.hosts.iter().flatten().map(|host| host.to_ascii_lowercase()).collect();
    let addresses = site.settings.listen.iter().flatten().map(|rule| format!("{rule:?}")).collect();
    format!("{:?} {:?}", sorted(hosts), sorted(addresses))
}

/// The store that a table describes.
fn store(table: &CacheTable, folder: &Path, place: &Place) -> Result<CacheStore, Problem> {
    let CacheTable { memory, dir, dir_size, max_object, .. } = table;
    let chosen = max_object.map(Size::in_memory);
    let max_object = chosen.unwrap_or(CacheStore::default_max_object(memory.0));
    if max_object as u64 > memory.0 / 2 {
        let text = "this is more than half of `memory`: such a response would displace all others";
        return Err(Problem::of_value(place.key("max-object"), text));
    }
    let store = CacheStore::in_memory(memory.0, max_object);
    match (dir, dir_size) {
        (None, None) => Ok(store),
        (None, Some(_)) => {
            let text = "`dir-size` is for `dir`, which is missing: write dir = \"/var/cache/serow\", or leave it out";
            Err(Problem::of_key(place.key("dir-size"), text))
        }
        (Some(_), Some(size)) if size.0 < memory.0 => {
            let text =
                "this is less than `memory`, which has the most requested responses already: write a larger size";
            Err(Problem::of_value(place.key("dir-size"), text))
        }
        (Some(dir), size) => {
            let size = size.map_or(DIR_SIZE, |size| size.0);
            let max_object = chosen.unwrap_or(CacheFolder::MAX_OBJECT);
            Ok(store.with_folder(CacheFolder { path: resolved(dir, folder), size, max_object }))
        }
    }
}

impl<'a> Caching<'a> {
    /// The store that this table describes, for these sites. Paths are relative to this folder.
    ///
    /// A server that goes on with other settings has its store already.
    pub(crate) fn new(
        table: Option<&CacheTable>,
        kept: Option<&CacheStore>,
        folder: &Path,
        (trust, sites): (TrustedProxies, &[SiteTable]),
        problems: &'a Problems,
    ) -> Self {
        let place = Place::default().key("cache");
        let new = |table| store(table, folder, &place).map_err(|problem| problems.add(problem)).ok();
        let store = table.map(|table| kept.cloned().or_else(|| new(table)));
        let purge_from = table.and_then(|table| table.purge_from.as_ref());
        let purge_from = purge_from.map(|networks| PurgingClients {
            addresses: Arc::new(networks.iter().map(|network| network.0).collect()),
            trust: Arc::new(trust),
        });
        let sites = sites.iter().filter(|_| table.is_some()).map(|site| (site.place.clone(), reached(site))).collect();
        Self { store, purge_from, sites, problems }
    }

    /// The store, for what is done with it while the server runs.
    pub(crate) fn into_store(self) -> Option<CacheStore> {
        self.store.flatten()
    }

    /// The cache in front of this action, as its route says, or its site.
    pub(crate) fn cache(
        &self,
        action: &Action<Content>,
        (own, own_place): (Option<&CacheSetting>, &Place),
        (of_site, place_of_site): (Option<&CacheSetting>, &Place),
        matched: &str,
    ) -> Option<Option<RouteCache>> {
        let (setting, place) = match (own, of_site) {
            (Some(setting), _) => (setting, own_place.key("cache")),
            (None, Some(setting)) => (setting, place_of_site.key("cache")),
            (None, None) => return Some(None),
        };
        let CacheSetting::On(table) = setting else { return Some(None) };
        match action {
            Action::Handle(Content::App(_) | Content::Cgi(_) | Content::Php(_) | Content::Proxy(_)) => {}
            Action::Handle(_) | Action::Try(_) if own.is_some() => {
                let text = "`cache` has no effect in a route with `files`, which has a cache of its own: write it in a \
                            route with `app`, `cgi`, `php` or `proxy`";
                return self.refused(Problem::of_key(place, text));
            }
            _ => return Some(None),
        }
        let Some(store) = &self.store else {
            let text = "`cache` needs `[cache]`: write [cache] and below it memory = \"256M\"";
            return self.refused(Problem::of_key(place, text));
        };
        let store = store.as_ref()?;
        let settings = self.settings(table, &place)?;
        let site = self.sites.get(place_of_site).map(String::as_str).unwrap_or_default();
        // Others would have stored less, and told more requests apart.
        let ignored = match &table.ignore_fields[..] {
            [] => String::new(),
            fields => format!(" {fields:?}"),
        };
        let name = format!("{site:?} {matched:?}{ignored}");
        Some(Some(RouteCache::new(store.clone(), settings, name)))
    }

    fn settings(&self, table: &RouteCacheTable, place: &Place) -> Option<CacheSettings> {
        let (ignored_fields, ignores_accel_expires) =
            self.ignored_fields(&table.ignore_fields, &place.key("ignore-fields"))?;
        let rules = CacheRules {
            ignored_fields,
            default_lifetimes: self.default_lifetimes(table, place)?,
            stale_while_revalidate: table.stale_while_revalidate.map(|span| span.0),
            stale_if_error: table.stale_if_error.map(|span| span.0),
        };
        let [key_fields, key_cookies, _] = self.parts(&table.key, KEY_PARTS, &place.key("key"))?;
        let [fields, cookies, parameters] = self.parts(&table.bypass, BYPASS_PARTS, &place.key("bypass"))?;
        let ignored_query = match &table.ignore_query {
            None | Some(IgnoredNames::All(false)) => IgnoredQuery::Nothing,
            Some(IgnoredNames::All(true)) => IgnoredQuery::Everything,
            Some(IgnoredNames::Names(names)) => IgnoredQuery::Names(names.clone()),
        };
        Some(CacheSettings {
            rules,
            ignored_query,
            key_fields,
            key_cookies,
            answers_head: self.answers_head(table, place)?,
            bypass: CacheBypass { fields, cookies, parameters },
            purge_from: self.purge_from.clone(),
            status_field: match table.cache_status {
                None | Some(StatusFieldChoice::On) => StatusField::On,
                Some(StatusFieldChoice::Off) => StatusField::Off,
                Some(StatusFieldChoice::Debug) => StatusField::Debug,
            },
            ignores_accel_expires,
            ..CacheSettings::default()
        })
    }

    /// Fields of responses that decide nothing, and whether X-Accel-Expires is one of them.
    fn ignored_fields(&self, names: &[String], place: &Place) -> Option<(Vec<KnownHeader>, bool)> {
        let mut known = Vec::new();
        for (number, name) in names.iter().enumerate() {
            match KnownHeader::recognise(name.as_bytes()) {
                Some(field) if IGNORABLE.contains(&field) => known.push(field),
                None if name.eq_ignore_ascii_case(ACCEL_EXPIRES) => {}
                _ => {
                    let text =
                        format!("{name:?} is not one of Set-Cookie, Cache-Control, Expires, Vary and X-Accel-Expires");
                    return self.refused(Problem::of_value(place.element(number), text));
                }
            }
        }
        Some((known, names.iter().any(|name| name.eq_ignore_ascii_case(ACCEL_EXPIRES))))
    }

    fn default_lifetimes(
        &self,
        table: &RouteCacheTable,
        place: &Place,
    ) -> Option<Vec<(std::ops::RangeInclusive<u16>, std::time::Duration)>> {
        let mut lifetimes = Vec::new();
        for (statuses, span) in &table.default_ttl {
            let ranges = statuses.parse::<Statuses>().map_err(|error| error.to_string());
            match ranges {
                Ok(ranges) => lifetimes.extend(ranges.0.into_iter().map(|range| (range.0, span.0))),
                Err(text) => {
                    return self.refused(Problem::of_key(place.key("default-ttl").key(statuses.as_str()), text));
                }
            }
        }
        // A single status counts before a range that contains it.
        lifetimes.sort_by_key(|(range, _)| range.end() - range.start());
        Some(lifetimes)
    }

    /// Names of header fields, of cookies and of parameters.
    fn parts(&self, texts: &[String], allowed: AllowedParts, place: &Place) -> Option<[Vec<String>; 3]> {
        let [mut fields, mut cookies, mut parameters] = [const { Vec::new() }; 3];
        for (number, text) in texts.iter().enumerate() {
            let is_name = |name: &str| !name.is_empty() && name.bytes().all(serow::is_token_byte);
            let is_pattern = |name: &str| match name.strip_suffix('*') {
                Some(start) if allowed.patterns => !start.contains('*') && start.bytes().all(serow::is_token_byte),
                _ => is_name(name) && !(allowed.patterns && name.contains('*')),
            };
            match text.split_once(':') {
                Some(("header", name)) if is_pattern(name) => fields.push(name.to_ascii_lowercase()),
                Some(("cookie", name)) if is_pattern(name) => cookies.push(name.to_owned()),
                // Unlike others, these may have any characters.
                Some(("query", name)) if allowed.patterns && !name.is_empty() => parameters.push(name.to_owned()),
                _ => {
                    let text = format!("{text:?} is not one of {}", allowed.text);
                    return self.refused(Problem::of_value(place.element(number), text));
                }
            }
        }
        Some([fields, cookies, parameters])
    }

    /// Whether HEAD is answered from the cache.
    fn answers_head(&self, table: &RouteCacheTable, place: &Place) -> Option<bool> {
        let Some(methods) = &table.methods else { return Some(true) };
        let place = place.key("methods");
        if let Some(number) = methods.iter().position(|method| !matches!(method.as_str(), "GET" | "HEAD")) {
            let text = format!("{:?} is not cached: write \"GET\", or \"GET\" and \"HEAD\"", methods[number]);
            return self.refused(Problem::of_value(place.element(number), text));
        }
        if !methods.iter().any(|method| method == "GET") {
            let text = "`methods` needs \"GET\": responses to HEAD have no content to store";
            return self.refused(Problem::of_key(place, text));
        }
        Some(methods.iter().any(|method| method == "HEAD"))
    }

    fn refused<T>(&self, problem: Problem) -> Option<T> {
        self.problems.add(problem);
        None
    }
}

/// Disk space of a folder whose size the settings do not say: as much as most disks have to spare.
const DIR_SIZE: u64 = 10 << 30;

/// The parts of requests that a list may name.
#[derive(Clone, Copy)]
struct AllowedParts {
    /// Whether they may be parameters, and names may end with a star.
    patterns: bool,
    /// All of them, for messages.
    text: &'static str,
}

const KEY_PARTS: AllowedParts = AllowedParts { patterns: false, text: "header:NAME and cookie:NAME" };

const BYPASS_PARTS: AllowedParts =
    AllowedParts { patterns: true, text: "header:NAME, cookie:NAME and query:NAME, where NAME may end with *" };

/// The fields about storing that an origin may send, and settings ignore.
const IGNORABLE: [KnownHeader; 4] =
    [KnownHeader::SetCookie, KnownHeader::CacheControl, KnownHeader::Expires, KnownHeader::Vary];

const ACCEL_EXPIRES: &str = "X-Accel-Expires";
