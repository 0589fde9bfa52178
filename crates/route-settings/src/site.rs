//! A `[[site]]` of an added file: its hosts, and its routes in their order.

use serow_router::{HostPattern, PathPattern};
use toml_edit::{Array, ArrayOfTables, Item, Table, TableLike, Value};

use super::{address::RouteAddress, target::RouteTarget};

/// The hosts of a site, as they are compared; none if it is for all that no other site has.
pub(super) fn hosts(site: &Table) -> Vec<String> {
    let written = site.get("hosts").and_then(texts).unwrap_or_default();
    let normal = |host: String| host.parse::<HostPattern>().map_or(host, |host| host.to_string());
    written.into_iter().map(normal).collect()
}

/// The patterns of the paths of a route.
pub(super) fn patterns(route: &Table) -> Vec<String> {
    route.get("path").and_then(texts).unwrap_or_else(|| vec!["/*".to_owned()])
}

/// A text, or several in an array.
pub(super) fn texts(item: &Item) -> Option<Vec<String>> {
    match item.as_value()? {
        Value::String(text) => Some(vec![text.value().clone()]),
        Value::Array(array) => array.iter().map(|value| value.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// The place of the route with this path, and without other conditions.
pub(super) fn place_of(routes: &ArrayOfTables, address: &RouteAddress) -> Option<usize> {
    routes.iter().position(|route| has_only_path(route) && address.is_for(&patterns(route)))
}

/// A new route.
pub(super) fn route(address: &RouteAddress, target: &RouteTarget) -> Table {
    let mut route = Table::new();
    set(&mut route, "path", path_value(&address.patterns(target)));
    lead(&mut route, address, target);
    route
}

fn path_value(patterns: &[String]) -> Value {
    match patterns {
        [pattern] => pattern.into(),
        patterns => patterns.iter().map(String::as_str).collect::<Array>().into(),
    }
}

/// The place at which a new route with these patterns is reached, and lets the others be reached.
///
/// It is behind the routes whose requests it would take, and before those that are more general: they take all its
/// requests, or the text before their star is shorter. Routes with other conditions stay where they are.
pub(super) fn place_for(routes: &ArrayOfTables, new: &[String]) -> usize {
    let Some(pattern) = path_pattern(new) else { return routes.len() };
    let others = routes.iter().enumerate().filter(|(_, route)| has_only_path(route));
    let others = others.map(|(place, route)| (place, patterns(route)));
    let (mut behind, mut before) = (0, routes.len());
    for (place, other) in others {
        let Some(other_pattern) = path_pattern(&other) else { continue };
        let is_general = other_pattern.covers(&pattern) || literal_length(&other) < literal_length(new);
        if pattern.covers(&other_pattern) {
            behind = place + 1;
        } else if is_general {
            before = before.min(place);
        }
    }
    before.max(behind)
}

fn path_pattern(patterns: &[String]) -> Option<PathPattern> {
    PathPattern::any_of(patterns.iter().map(|pattern| pattern.parse()).collect::<Result<_, _>>().ok()?)
}

/// The length of the text before the star, of the longest pattern.
fn literal_length(patterns: &[String]) -> usize {
    patterns.iter().map(|pattern| pattern.find('*').unwrap_or(pattern.len())).max().unwrap_or_default()
}

/// Whether a route takes all requests with its paths.
fn has_only_path(route: &Table) -> bool {
    !CONDITIONS.iter().any(|key| route.contains_key(key))
}

/// Leads a route somewhere else; keys of the same kind of target stay, such as a `set-header` of a proxy.
pub(super) fn lead(route: &mut Table, address: &RouteAddress, target: &RouteTarget) {
    let own = target.key();
    // A folder needs another path than the rest.
    if route.contains_key("files") != (own == "files") {
        set(route, "path", path_value(&address.patterns(target)));
    }
    let kept = route.get_mut(own).and_then(Item::as_table_like_mut).filter(|table| !table.contains_key("upstream"));
    let is_kept = match kept {
        Some(table) => {
            let (key, value) = target.destination();
            set(table, key, value);
            true
        }
        None => {
            set(route, own, target.table(address.has_prefix()).into());
            false
        }
    };
    let others = HANDLERS.iter().filter(|&&key| key != own && !(is_kept && key == "rewrite"));
    others.for_each(|key| drop(route.remove(key)));
}

/// Sets a value, and keeps the comment behind it.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => drop(table.insert(key, Item::Value(value))),
    }
}

/// Keys that make a route one for some of the requests with its paths.
const CONDITIONS: [&str; 4] = ["internal", "methods", "path-regex", "when"];

/// Keys that say where a route leads.
pub(super) const HANDLERS: [&str; 8] = ["app", "cgi", "files", "php", "proxy", "redirect", "respond", "rewrite"];
