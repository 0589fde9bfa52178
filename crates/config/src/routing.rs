//! Sites and routes as the router needs them. The running server has handlers behind its routes; [`check`] finds what is wrong
//! without them.
//!
//! | subject | file |
//! | --- | --- |
//! | hosts, methods, expressions; redirects, fixed responses, rewrites | `route_reading.rs` |
//! | paths of a route, and how messages name it by them | `route_paths.rs` |
//! | maps of variables, and conditions of routes | `conditions.rs` |
//! | rules about header fields | `header_rules.rs` |
//! | settings that have no effect in a route | `own_settings.rs` |
//! | internal routes; error pages that routes make | `internal.rs`, `error_routes.rs` |
//! | routes that are never reached, at their places | `site_places.rs` |

pub mod conditions;
pub mod error_routes;
pub mod header_rules;
pub mod internal;
pub mod own_settings;
pub mod route_paths;
pub mod route_reading;
pub mod site_places;

use std::path::Path;

use serow_document::{Place, Problems};
use serow_router::{Action, Route, Router, Site};
use serow_variables::Scope;

use self::{
    conditions::Matching,
    header_rules::{HeaderMeaning, HeaderReading},
    own_settings::OwnSettings,
    route_reading::RouteReading,
    site_places::{SitePlaces, of_router},
};
use crate::{
    checks::CheckedTables,
    tables::{
        handlers::{FilesTable, HandlerTable, MissingChoice},
        sites::{RouteTable, SiteContent, SiteTable},
    },
};

/// Finds what is wrong with the sites and routes of a settings file, without their handlers.
pub fn check(tables: &CheckedTables, folder: &Path, problems: &Problems) {
    let scope = Scope::new(conditions::maps(tables.root.maps.clone(), problems));
    let reading = SiteReading { scope: &scope, folder, problems };
    let sites = &tables.root.sites;
    let places: Vec<_> = sites.iter().map(SitePlaces::new).collect();
    let read: Vec<_> = sites.iter().zip(&places).enumerate().map(|(number, site)| reading.site(number, site)).collect();
    let Some(read) = read.into_iter().collect::<Option<Vec<_>>>() else { return };
    // Routes that something else is wrong with may seem to contradict others.
    if problems.is_empty()
        && let Err(error) = tables.addresses.routers(read).map(drop)
    {
        problems.add(of_router(error, &places));
    }
}

struct SiteReading<'a> {
    scope: &'a Scope,
    folder: &'a Path,
    problems: &'a Problems,
}

impl SiteReading<'_> {
    /// A site, with nothing behind its routes.
    fn site(&self, number: usize, (table, places): (&SiteTable, &SitePlaces)) -> Option<Site<()>> {
        let SiteTable { settings, header_rules, content, place, .. } = table;
        let reading = RouteReading { problems: self.problems };
        let host = settings.hosts.iter().flatten().next();
        let scope = host.map_or(self.scope.clone(), |host| self.scope.of_site(host));
        let hosts = reading.hosts(settings.hosts.clone(), &place.key("hosts"));
        let headers = HeaderReading { scope: &scope, problems: self.problems };
        let headers = headers.changes(&settings.headers, header_rules, place);
        let found = internal::problems(table).into_iter().chain(error_routes::problems(table));
        found.for_each(|problem| self.problems.add(problem));
        let tables = match content {
            SiteContent::Routes(routes) => &routes[..],
            _ => &[],
        };
        let routes: Vec<_> = tables.iter().map(|table| self.route(table, &scope)).collect();
        let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
        let site = Site {
            hosts: hosts?,
            headers,
            request_headers,
            routes: routes.into_iter().collect::<Option<_>>()?,
            number: None,
        };
        let inside = site.routes.iter().filter(|route| route.internal);
        let inside = inside.map(|route| Route { internal: false, ..route.clone() }).collect();
        let inside = Site { hosts: Vec::new(), routes: inside, ..site.clone() };
        if !inside.routes.is_empty()
            && let Err(error) = Router::of_internal(vec![inside])
        {
            self.problems.add(places.of_internal(error, number));
        }
        match content {
            SiteContent::Routes(_) => Some(site),
            SiteContent::Files(files) => {
                Some(Site { routes: vec![Route::new(reading.text("/*", place)?, folder_action(files))], ..site })
            }
            _ => Some(Site { routes: vec![Route::new(reading.text("/*", place)?, Action::Handle(()))], ..site }),
        }
    }

    fn route(&self, table: &RouteTable, site: &Scope) -> Option<Route<()>> {
        let RouteTable { settings, header_rules, log, policy, access, when, handler, rewrite, place } = table;
        let reading = RouteReading { problems: self.problems };
        let path = route_paths::pattern(settings.path.as_ref(), &place.key("path"));
        let path = path.map_err(|problem| self.problems.add(problem)).ok();
        let expression = settings.path_regex.as_ref().map(|text| reading.expression(text, &place.key("path-regex")));
        let expression = match expression {
            None => None,
            Some(expression) => Some(expression?),
        };
        let scope = match (&expression, &path) {
            (Some(expression), _) => site.of_expression(expression),
            (None, Some(path)) => site.of_stars(path.stars()),
            (None, None) => return None,
        };
        let matching = Matching { scope: &scope, folder: self.folder, problems: self.problems };
        let conditions = matching.conditions(expression, when.clone().unwrap_or_default(), &place.key("when"));
        let methods = reading.methods(settings.methods.as_deref(), &place.key("methods"));
        let headers = HeaderReading { scope: &scope, problems: self.problems };
        let headers = headers.changes(&settings.headers, header_rules, place);
        let rewrite = reading.own_rewrite(rewrite.as_ref(), &scope, place);
        let action = self.action(handler, &scope, place);
        let own = OwnSettings::new(settings, header_rules, log, (policy, access));
        let action =
            action.and_then(|action| own.have_effect(action, place).map_err(|problem| self.problems.add(problem)).ok());
        let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
        let name = settings.name.clone().map(String::into_boxed_str);
        let route = Route::new(path?, action?);
        Some(Route {
            internal: settings.internal,
            rewrite: rewrite?,
            methods: methods?,
            conditions: conditions?,
            headers,
            request_headers,
            name,
            ..route
        })
    }

    fn action(&self, handler: &HandlerTable, scope: &Scope, place: &Place) -> Option<Action<()>> {
        let reading = RouteReading { problems: self.problems };
        match handler {
            HandlerTable::App(_) | HandlerTable::Cgi(_) | HandlerTable::Php(_) | HandlerTable::Proxy(_) => {
                Some(Action::Handle(()))
            }
            HandlerTable::Files(files) => Some(folder_action(files)),
            HandlerTable::Redirect(redirect) => reading.redirect(redirect, scope, &place.key("redirect")),
            HandlerTable::Respond(response) => reading.respond(response.clone(), scope, &place.key("respond")),
            HandlerTable::Rewrite(table) => reading.rewriting(table, scope, place),
        }
    }
}

fn folder_action(table: &FilesTable) -> Action<()> {
    if table.settings.missing == MissingChoice::Next { Action::Try(()) } else { Action::Handle(()) }
}
