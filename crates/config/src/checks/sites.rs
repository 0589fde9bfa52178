//! Sites and their routes.

use serow_document::{Place, Problem, Problems};

use super::{application, folder, program};
use crate::{
    SettingError,
    options::FolderOptions,
    tables::{
        applications::{AppKind, AppTable},
        handlers::{FilesSettings, FilesTable, HandlerTable, MissingChoice},
        sites::{SiteContent, SiteTable},
    },
};

/// Checks sites and their routes.
pub(super) fn check(sites: &[SiteTable], problems: &Problems) {
    for site in sites {
        match &site.content {
            SiteContent::Files(table) => files(table, "/*", &site.place, problems),
            SiteContent::App(table) => app(table, &site.place, problems),
            SiteContent::Cgi(_) | SiteContent::Php(_) | SiteContent::Proxy(_) => {}
            SiteContent::Routes(routes) => {
                for route in routes {
                    match &route.handler {
                        HandlerTable::Files(table) => {
                            files(table, route.settings.only_path().unwrap_or_default(), &route.place, problems);
                        }
                        HandlerTable::App(table) => app(table, &route.place, problems),
                        _ => {}
                    }
                }
            }
        }
    }
}

fn files(table: &FilesTable, path: &str, place: &Place, problems: &Problems) {
    let place = place.key("files");
    let checked = served_folder(&table.settings, &table.folder, path, &place);
    if let Err(problem) = checked.and_then(|()| folder(&table.folder).map_err(|found| found.problem(&place))) {
        problems.add(problem);
    }
}

/// Refuses keys of a folder that mean nothing together, in a route for this path.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn served_folder(
    settings: &FilesSettings,
    folder: &FolderOptions,
    path: &str,
    place: &Place,
) -> Result<(), Problem> {
    let content = &folder.content;
    if settings.root.as_os_str().is_empty() {
        let text = "the path is empty: name a folder; \".\" is that of this file";
        return Err(Problem::of_value(place.key("root"), text));
    }
    let is_next = settings.missing == MissingChoice::Next;
    let instead = [("spa", content.spa.is_some()), ("not-found", content.not_found.is_some())];
    if let Some((key, _)) = instead.into_iter().find(|(_, is_given)| is_next && *is_given) {
        let text = format!("`{key}` is never sent, since missing = \"next\" leaves missing files to the next route");
        return Err(Problem::of_key(place.key(key), text));
    }
    if is_next && content.write.is_on() {
        let text = "with missing = \"next\", the folder answers GET and HEAD only: make a route with `write` below another \
                    path, or with `methods`";
        return Err(Problem::of_key(place.key("write"), text));
    }
    if !settings.strip_prefix {
        return Ok(());
    }
    let prefix = path.strip_suffix("/*").filter(|prefix| prefix.starts_with('/') && !prefix.contains('*'));
    let text = if prefix.is_none() {
        "`strip-prefix` needs a route whose path is a prefix and a star, as in path = \"/docs/*\""
    } else if !content.rewrite.is_empty() {
        "`strip-prefix` and `rewrite` cannot be combined: write the prefix into the rules of `rewrite`"
    } else {
        return Ok(());
    };
    Err(Problem::of_key(place.key("strip-prefix"), text))
}

fn app(table: &AppTable, place: &Place, problems: &Problems) {
    let place = place.key("app");
    let checked = match table.kind() {
        Ok(AppKind::Called(name)) => application(Some(name), &table.arguments),
        Ok(AppKind::Program(command)) => program(command.first().map(AsRef::as_ref), &table.arguments),
        Err(found) => return problems.add(app_problem(found, &place)),
    };
    if let Err(found) = checked {
        problems.add(found.problem(&place));
    }
}

/// The problem of an application at this place. Where a key is missing, no key is wrong.
#[must_use]
pub fn app_problem(found: SettingError, place: &Place) -> Problem {
    if found.key.is_empty() { Problem::of_key(place.clone(), found.text) } else { found.problem(place) }
}
