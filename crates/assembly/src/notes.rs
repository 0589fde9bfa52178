//! Notes about settings that are valid, and that people write who mean something else.

use std::path::Path;

use serow_config::{
    options::LimitOptions,
    paths::resolved,
    tables::{
        handlers::{FilesTable, HandlerTable},
        sites::{RouteTable, SiteContent, SiteTable},
    },
    values::SizeLimit,
};
use serow_document::{Place, Problem, Problems};
use serow_router::PathPattern;

/// Notes what the root says.
pub(crate) fn of_root(limits: &LimitOptions, notes: &Problems) {
    note_no_body(limits.max_body, &Place::default(), notes);
}

/// Notes that no body is taken, where all of them may have been meant.
fn note_no_body(max_body: Option<SizeLimit>, place: &Place, notes: &Problems) {
    if max_body.is_some_and(|limit| limit.0 == 0) {
        let text = "max-body = 0 refuses every body; for no limit, write max-body = \"unlimited\"";
        notes.add(Problem::of_key(place.key("max-body"), text));
    }
}

/// Notes what these sites say, where the settings file is in this folder.
pub(crate) fn of_sites(sites: &[SiteTable], folder: &Path, notes: &Problems) {
    for site in sites {
        note_no_body(site.policy.max_body, &site.place, notes);
        let SiteContent::Routes(routes) = &site.content else { continue };
        for route in routes {
            note_no_body(route.policy.max_body, &route.place, notes);
            let exact = exact_path(route, routes, folder).map(|text| Problem::of_key(route.place.key("path"), text));
            let bare = bare_path(route, routes).map(|text| Problem::of_key(route.place.key("path"), text));
            let expression = expression(route).map(|text| Problem::of_key(route.place.key("path"), text));
            let prefix = kept_prefix(route, folder).map(|text| Problem::of_key(route.place.key("files"), text));
            exact.into_iter().chain(bare).chain(expression).chain(prefix).for_each(|note| notes.add(note));
        }
    }
}

/// A route for a single path of something that has more paths, while nobody takes those below: in other servers, such a
/// path is a prefix.
fn exact_path(route: &RouteTable, routes: &[RouteTable], folder: &Path) -> Option<String> {
    let has_paths_below = |path: &str| match &route.handler {
        HandlerTable::App(_) | HandlerTable::Php(_) | HandlerTable::Proxy(_) => true,
        // In a folder, the path names the program.
        HandlerTable::Cgi(cgi) => cgi.program.is_some(),
        HandlerTable::Files(files) => !is_file(files, path, folder),
        HandlerTable::Redirect(_) | HandlerTable::Respond(_) | HandlerTable::Rewrite(_) => false,
    };
    let paths = paths(route).filter(|path| path.starts_with('/') && !path.contains('*'));
    let mut alone = paths.filter(|path| has_paths_below(path) && !is_prefix_of_other(path, routes));
    let path = alone.next()?;
    let below = below(path);
    let written = if path.ends_with('/') { format!("{below:?}") } else { format!("[{path:?}, {below:?}]") };
    Some(format!("path {path:?} matches only that path; for everything below write {written}"))
}

/// A route for all paths below one that no route takes: in other servers, `/docs/*` has `/docs` in it.
fn bare_path(route: &RouteTable, routes: &[RouteTable]) -> Option<String> {
    let is_handled = matches!(route.handler, HandlerTable::App(_) | HandlerTable::Proxy(_) | HandlerTable::Files(_));
    // An expression may match anything.
    if !is_handled || route.settings.internal || routes.iter().any(|route| route.settings.path_regex.is_some()) {
        return None;
    }
    let bare = |path: &str| {
        let bare = path.strip_suffix("/*").filter(|bare| bare.starts_with('/') && !bare.contains('*'))?;
        let pattern = bare.parse::<PathPattern>().ok()?;
        let covers = |other: &str| other.parse::<PathPattern>().is_ok_and(|other| other.covers(&pattern));
        (!routes.iter().flat_map(paths).any(covers)).then(|| bare.to_owned())
    };
    let (path, bare) = paths(route).find_map(|path| Some((path, bare(path)?)))?;
    Some(format!("path {path:?} does not match {bare}, which gets 404; for both, write [{bare:?}, {path:?}]"))
}

/// Whether a route takes the paths below this one. Behind `/api/`, a route for all paths is for other ones.
fn is_prefix_of_other(path: &str, routes: &[RouteTable]) -> bool {
    let Ok(below) = below(path).parse::<PathPattern>() else { return true };
    let is_folder = path.ends_with('/');
    routes.iter().any(|route| match &route.settings.path_regex {
        Some(_) => !is_folder,
        None => paths(route).any(|other| {
            let takes = other.parse::<PathPattern>().is_ok_and(|other| other.covers(&below));
            takes && (!is_folder || other.starts_with(path))
        }),
    })
}

/// The pattern of the paths below a path.
fn below(path: &str) -> String {
    format!("{}/*", path.trim_end_matches('/'))
}

/// Whether a path of a folder is that of a file.
fn is_file(files: &FilesTable, path: &str, folder: &Path) -> bool {
    let has_ending = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    has_ending || resolved(&files.settings.root, folder).join(path.trim_start_matches('/')).is_file()
}

/// A path with what stands in regular expressions and not in paths.
fn expression(route: &RouteTable) -> Option<String> {
    let path = paths(route).find(|path| SIGNS.iter().any(|sign| path.contains(sign)) || path.ends_with('$'))?;
    Some(format!(
        "path {path:?} is compared as it is, but for the stars; if it is a regular expression, write path-regex = {:?}",
        format!("^{}$", path.trim_end_matches('$'))
    ))
}

/// A folder in which the prefix of the route is looked for once more, as with `root` in nginx where `alias` was meant.
fn kept_prefix(route: &RouteTable, folder: &Path) -> Option<String> {
    let HandlerTable::Files(files) = &route.handler else { return None };
    let FilesTable { settings, folder: options } = &**files;
    let content = &options.content;
    if settings.strip_prefix
        || route.rewrite.is_some()
        || content.spa.is_some()
        || !content.rewrite.is_empty()
        || files.is_written()
    {
        return None;
    }
    let path = paths(route).find(|path| {
        let prefix = path.strip_suffix("/*").filter(|prefix| prefix.starts_with('/') && !prefix.contains('*'));
        let place = |prefix: &str| resolved(&settings.root, folder).join(prefix.trim_start_matches('/'));
        prefix.is_some_and(|prefix| place(prefix).try_exists().is_ok_and(|exists| !exists))
    })?;
    let looked_for = settings.root.join(path.trim_start_matches('/').trim_end_matches("/*"));
    let looked_for = looked_for.display();
    Some(format!(
        "{looked_for} does not exist, and the files for {path:?} are looked for there; did you mean strip-prefix = true?"
    ))
}

fn paths(route: &RouteTable) -> impl Iterator<Item = &str> {
    route.settings.path.iter().flat_map(|paths| &paths.0).map(String::as_str)
}

/// Signs of a regular expression: most expressions have one of them, and paths have none.
const SIGNS: [&str; 6] = [".*", ".+", "(?", "[0-9]", "[a-z", "\\"];
