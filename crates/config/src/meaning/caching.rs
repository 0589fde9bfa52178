//! What is cached, and how.

use std::sync::Arc;

use serow_cache::CacheRules;
use serow_document::{Place, Problem, Problems};
use serow_gateway::TrustedProxies;
use serow_router::Action;
use serow_site::{CacheBypass, CacheSettings, CacheStore, IgnoredQuery, ResponseCache, RouteHandler};

use crate::{
    tables::cache::{CacheSetting, CacheTable, IgnoredNames, RouteCacheTable},
    values::{Size, Statuses},
};

/// Where responses are stored, for all routes that cache theirs.
pub(crate) struct Caching<'a> {
    store: Option<CacheStore>,
    /// The proxies that the root trusts.
    trust: Arc<TrustedProxies>,
    problems: &'a Problems,
}

impl<'a> Caching<'a> {
    /// The store that this table describes.
    pub(crate) fn new(table: Option<&CacheTable>, trust: TrustedProxies, problems: &'a Problems) -> Self {
        let store = table.and_then(|table| {
            let default = CacheStore::default_max_object(table.memory.0);
            let max_object = table.max_object.map_or(default, Size::in_memory);
            if max_object as u64 > table.memory.0 / 2 {
                let place = Place::default().key("cache").key("max-object");
                let text = "this is more than half of `memory`: such a response would displace all others";
                problems.add(Problem::of_value(place, text));
                return None;
            }
            Some(CacheStore::in_memory(table.memory.0, max_object))
        });
        Self { store, trust: Arc::new(trust), problems }
    }

    /// An action whose responses are cached as its route says, or its site.
    pub(crate) fn cached(
        &self,
        action: Action<RouteHandler>,
        (own, own_place): (Option<&CacheSetting>, &Place),
        (of_site, place_of_site): (Option<&CacheSetting>, &Place),
    ) -> Option<Action<RouteHandler>> {
        let (setting, place) = match (own, of_site) {
            (Some(setting), _) => (setting, own_place.key("cache")),
            (None, Some(setting)) => (setting, place_of_site.key("cache")),
            (None, None) => return Some(action),
        };
        let CacheSetting::On(table) = setting else { return Some(action) };
        let Action::Handle(handler) = action else { return Some(action) };
        if handler.is_folder() {
            // Files have a cache of their own.
            return match own {
                Some(_) => {
                    let text = "`cache` has no effect in a route with `files`, which has a cache of its own: write it in a \
                                route with `app` or `proxy`";
                    self.refused(Problem::of_key(place, text))
                }
                None => Some(Action::Handle(handler)),
            };
        }
        let Some(store) = &self.store else {
            let text = "`cache` needs `[cache]`: write [cache] and below it memory = \"256M\"";
            return self.refused(Problem::of_key(place, text));
        };
        let settings = self.settings(table, &place)?;
        Some(Action::Handle(handler.cached(ResponseCache::new(store.clone(), settings))))
    }

    fn settings(&self, table: &RouteCacheTable, place: &Place) -> Option<CacheSettings> {
        let rules = CacheRules {
            default_lifetimes: self.default_lifetimes(table, place)?,
            stale_while_revalidate: table.stale_while_revalidate.map(|span| span.0),
            stale_if_error: table.stale_if_error.map(|span| span.0),
        };
        let (key_fields, key_cookies) = self.parts(&table.key, &place.key("key"))?;
        let (fields, cookies) = self.parts(&table.bypass, &place.key("bypass"))?;
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
            bypass: CacheBypass { fields, cookies },
            trust: Arc::clone(&self.trust),
            ..CacheSettings::default()
        })
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

    /// Names of header fields, and of cookies.
    fn parts(&self, texts: &[String], place: &Place) -> Option<(Vec<String>, Vec<String>)> {
        let (mut fields, mut cookies) = (Vec::new(), Vec::new());
        for (number, text) in texts.iter().enumerate() {
            let is_name = |name: &str| !name.is_empty() && name.bytes().all(serow::is_token_byte);
            match text.split_once(':') {
                Some(("header", name)) if is_name(name) => fields.push(name.to_ascii_lowercase()),
                Some(("cookie", name)) if is_name(name) => cookies.push(name.to_owned()),
                _ => {
                    let text = format!("{text:?} is not one of header:NAME and cookie:NAME");
                    return self.refused(Problem::of_value(place.element(number), text));
                }
            }
        }
        Some((fields, cookies))
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
