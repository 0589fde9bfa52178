//! Sites and their routes.

use serow_document::{Place, Problem, Problems};

use super::{application, folder, program};
use crate::{
    SettingError,
    tables::{
        applications::{AppKind, AppTable},
        handlers::{FilesTable, HandlerTable},
        sites::{SiteContent, SiteTable},
    },
};

/// Checks sites and their routes.
pub(super) fn check(sites: &[SiteTable], problems: &Problems) {
    for site in sites {
        match &site.content {
            SiteContent::Files(table) => files(table, &site.place, problems),
            SiteContent::App(table) => app(table, &site.place, problems),
            SiteContent::Cgi(_) | SiteContent::Php(_) | SiteContent::Proxy(_) => {}
            SiteContent::Routes(routes) => {
                for route in routes {
                    match &route.handler {
                        HandlerTable::Files(table) => files(table, &route.place, problems),
                        HandlerTable::App(table) => app(table, &route.place, problems),
                        _ => {}
                    }
                }
            }
        }
    }
}

fn files(table: &FilesTable, place: &Place, problems: &Problems) {
    if let Err(found) = folder(&table.folder) {
        problems.add(found.problem(&place.key("files")));
    }
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
