//! Settings as a person would write them: keys that all routes share stand in the site, those of all sites at the root.

use super::{
    file::{SettingsFile, SiteTable},
    route::highest_group,
    table::Table,
    value::Value,
};

/// Keys that a site can have for all its routes, in place of each.
const OF_SITES: &[&str] = &[
    "headers",
    "response-headers",
    "max-body",
    "access-log",
    "compress",
    "error-pages",
    "intercept",
    "rate",
    "rate-after",
    "allow",
    "deny",
    "basic",
    "forward-auth",
    "satisfy",
    "limits",
    "max-requests-per-client",
    "body-timeout",
    "cache",
];

/// Keys that do nothing in a redirect or a fixed response, so that those of the site do not change it. Access control does:
/// nginx's `return` acts before it.
const OF_CONTENT: &[&str] = &["max-body", "compress", "intercept", "rate", "rate-after", "body-timeout", "cache"];

/// Moves settings to where a person would write them.
pub fn tidy(file: &mut SettingsFile) {
    for site in &mut file.sites {
        match_names(&mut site.routes);
        prune(&mut site.routes);
        // Those that named some may be gone.
        match_names(&mut site.routes);
        while site.routes.last().is_some_and(|route| is_rewrite(route) && leaves_some(route)) {
            site.routes.pop();
        }
        lead_to_internal(&mut site.routes);
        share(site);
        shorten(site);
    }
    lift(file, "max-body", Some(Value::from("10M")));
    lift(file, "access-log", None);
    split_log(&mut file.root);
}

/// Whether a text names a variable.
#[must_use]
pub fn names_variable(text: &str, name: &str) -> bool {
    let ends = |behind: &str| !behind.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    let is_named = |(position, _): (usize, &str)| ends(&text[position + name.len() + 1..]);
    text.match_indices(&format!("${name}")).any(is_named)
        || text.contains(&format!("${{{name}}}"))
        || text.contains(&format!("{{ {name} = "))
        || text.contains(&format!(", {name} = "))
        || text.contains(&format!("\n{name} = "))
}

/// Whether the response of a route can be an error.
fn has_errors(route: &Table) -> bool {
    match (route.get("redirect"), route.get("respond")) {
        (Some(_), _) => false,
        (_, Some(Value::Table(entries))) => {
            entries.iter().any(|(key, value)| key == "status" && matches!(value, Value::Number(400..)))
        }
        _ => true,
    }
}

fn is_content(route: &Table) -> bool {
    !["respond", "redirect"].iter().any(|key| route.get(key).is_some()) && !is_rewrite(route)
}

fn is_rewrite(route: &Table) -> bool {
    route.get("rewrite").is_some() && !["files", "proxy", "php"].iter().any(|key| route.get(key).is_some())
}

/// Leaves out error pages whose route has no translation, and named routes to which no error page leads.
fn match_names(routes: &mut Vec<Table>) {
    let names: Vec<Value> = routes.iter().filter_map(|route| route.get("name").cloned()).collect();
    let mut used = Vec::new();
    for route in routes.iter_mut() {
        let Some(Value::Table(pages)) = route.get("error-pages").cloned() else { continue };
        let name = |page: &Value| match page {
            Value::Table(entries) => entries.iter().find(|(key, _)| key == "route").map(|(_, name)| name.clone()),
            _ => None,
        };
        let exists = |(_, page): &(String, Value)| name(page).is_none_or(|name| names.contains(&name));
        let pages: Vec<_> = pages.into_iter().filter(exists).collect();
        used.extend(pages.iter().filter_map(|(_, page)| name(page)));
        if pages.is_empty() {
            route.remove("error-pages");
            route.remove("intercept");
        } else {
            route.set("error-pages", Value::Table(pages));
        }
    }
    routes.retain(|route| route.get("name").is_none_or(|name| used.contains(name)));
}

/// Lets responses lead to internal routes, as nginx does for all servers, and removes those that nothing leads to.
fn lead_to_internal(routes: &mut Vec<Table>) {
    // They act on the route whose response leads there.
    for route in routes.iter_mut().filter(|route| route.get("internal").is_some()) {
        for key in ["body-timeout", "max-body", "cache"] {
            route.remove(key);
        }
    }
    let is_internal = |route: &Table| route.get("internal").is_some() && route.get("name").is_none();
    if !routes.iter().any(is_internal) {
        return;
    }
    let mut leads = false;
    for route in routes.iter_mut().filter(|route| !is_internal(route)) {
        for (key, value) in &mut route.entries {
            match (key.as_str(), value) {
                ("proxy" | "php", Value::Table(entries)) => {
                    entries.push(("accel-redirect".to_owned(), Value::Bool(true)));
                    leads = true;
                }
                ("rewrite", Value::Table(_)) | ("error-pages", _) => leads = true,
                _ => {}
            }
        }
    }
    if !leads {
        routes.retain(|route| !is_internal(route));
    }
}

/// Removes routes that no request gets to, since one before them takes all of theirs: `serow check` refuses such routes.
fn prune(routes: &mut Vec<Table>) {
    // Paths that are taken under conditions; without conditions, those of all requests.
    let mut taken: Vec<([Option<Value>; 4], String)> = Vec::new();
    routes.retain_mut(|route| {
        let paths = paths(route);
        // Requests of clients do not get to internal routes, and those of responses only to them, or to those of a name.
        let conditions = ["internal", "name", "when", "methods"].map(|key| route.get(key).cloned());
        let is_taken = |path: &String| {
            taken.iter().any(|(others, cover)| {
                // Fewer conditions take more requests.
                let is_for_all = others[..2] == conditions[..2]
                    && (others[2].is_none() || others[2] == conditions[2])
                    && (others[3].is_none() || others[3] == conditions[3]);
                is_for_all && covers(cover, path)
            })
        };
        if !paths.is_empty() && paths.iter().all(is_taken) {
            return false;
        }
        if let Some(Value::List(_)) = route.get("path") {
            let left = paths.iter().filter(|path| !is_taken(path)).cloned();
            let left = Value::texts(left.collect::<Vec<_>>());
            route.set("path", left);
        }
        if !leaves_some(route) {
            taken.extend(paths.into_iter().map(|path| (conditions.clone(), path)));
        }
        true
    });
}

/// Whether all paths that a pattern matches also match another one.
fn covers(cover: &str, path: &str) -> bool {
    match cover.split_once('*') {
        _ if path == cover || cover == "/*" => true,
        Some((start, end)) if !end.contains('*') && !path.starts_with("/ ") => {
            path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end)
        }
        _ => false,
    }
}

/// The paths of a route; its expression stands for itself.
fn paths(route: &Table) -> Vec<String> {
    match (route.get("path"), route.get("path-regex")) {
        (Some(Value::Text(path)), _) => vec![path.clone()],
        (Some(Value::List(paths)), _) => paths
            .iter()
            .filter_map(|path| match path {
                Value::Text(path) => Some(path.clone()),
                _ => None,
            })
            .collect(),
        // All paths begin with a slash.
        (_, Some(Value::Text(expression))) => vec![format!("/ {expression}")],
        _ => Vec::new(),
    }
}

/// Whether requests that the route matches may get to the next routes.
fn leaves_some(route: &Table) -> bool {
    let leaves = |key: &str| match route.get(key) {
        Some(Value::Table(entries)) => entries.iter().any(|(name, _)| name == "missing"),
        _ => false,
    };
    let only_rewrites = is_rewrite(route) && !matches!(route.get("rewrite"), Some(Value::Table(_)));
    leaves("files") || only_rewrites
}

/// Moves keys that all routes have with the same value into the site.
fn share(site: &mut SiteTable) {
    for key in OF_SITES {
        let applies = |route: &&Table| match *key {
            "error-pages" => !is_rewrite(route) && has_errors(route),
            key if OF_CONTENT.contains(&key) => is_content(route),
            _ => !is_rewrite(route),
        };
        let mut values = site.routes.iter().filter(applies).map(|route| route.get(key));
        let Some(Some(first)) = values.next() else { continue };
        let first = first.clone();
        // With a single route, all keys are better beside its handler, unless the site is that route.
        if !values.all(|value| value == Some(&first)) || highest_group(&first) > 0 {
            continue;
        }
        site.table.set(key, first);
        site.routes.iter_mut().for_each(|route| {
            route.remove(key);
        });
    }
}

/// A site with a single route for all paths is its handler.
fn shorten(site: &mut SiteTable) {
    let [route] = site.routes.as_mut_slice() else { return };
    let is_all = route.get("path") == Some(&Value::from("/*"));
    let handlers = ["files", "proxy", "php"];
    let others = route.entries.iter().filter(|(key, _)| key != "path" && !handlers.contains(&key.as_str())).count();
    if is_all && others == 0 && is_content(route) && route.comments.is_empty() {
        route.remove("path");
        let mut entries = std::mem::take(&mut route.entries);
        site.table.entries.append(&mut entries);
        site.routes.clear();
    }
}

/// Moves a key that all sites have with the same value to the root.
fn lift(file: &mut SettingsFile, key: &str, default: Option<Value>) {
    let mut counts: Vec<(Value, usize)> = Vec::new();
    let applies =
        |site: &SiteTable| key == "access-log" || site.routes.is_empty() || site.routes.iter().any(is_content);
    let concerned: Vec<usize> = (0..file.sites.len()).filter(|index| applies(&file.sites[*index])).collect();
    for index in &concerned {
        if let Some(value) = file.sites[*index].table.get(key) {
            match counts.iter_mut().find(|(other, _)| other == value) {
                Some((_, count)) => *count += 1,
                None => counts.push((value.clone(), 1)),
            }
        }
    }
    let is_everywhere = concerned.iter().all(|index| {
        let site = &file.sites[*index];
        site.table.get(key).is_some() || site.routes.iter().all(|route| route.get(key).is_some() || !is_content(route))
    });
    let Some((most, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { return };
    if !is_everywhere || key == "access-log" && matches!(most, Value::List(_)) {
        return;
    }
    for index in concerned {
        let table = &mut file.sites[index].table;
        if table.get(key) == Some(&most) {
            table.remove(key);
        }
    }
    if Some(&most) != default.as_ref() && most != Value::from("off") {
        file.root.set(key, most);
    }
}

/// The log of the root has its format in a key of its own.
fn split_log(root: &mut Table) {
    let Some(Value::Table(entries)) = root.get("access-log").cloned() else { return };
    let plain = |key: &str| entries.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    if let (2, Some(file), Some(format)) = (entries.len(), plain("file"), plain("format")) {
        root.set("access-log", file);
        root.set("access-log-format", format);
    }
}
