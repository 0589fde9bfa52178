//! What sites and routes mean.

use std::{collections::BTreeMap, fmt::Display, path::Path, str::FromStr};

use serow_files::{Files, Listing, Rewrite};
use serow_router::{
    Action, FixedResponse, HeaderChanges, HostPattern, InvalidChange, InvalidRedirect, InvalidResponse, Methods,
    Redirect, Route, Router, RouterError, Site,
};
use serow_site::RouteHandler;
use serow_webdav::Dav;

use crate::{
    descriptor_shares::Shares,
    diagnostics::problem::{Problem, Problems},
    meaning::{
        applications::{AppTable, Applications},
        paths::resolved,
        proxying::Proxying,
    },
    options::FolderOptions,
    place::Place,
    settings::{SettingError, folder_settings},
    tables::{
        handlers::{FilesTable, HandlerTable, MissingChoice, RedirectTable, RespondTable},
        sites::{RouteTable, SiteContent, SiteTable},
        upstreams::ProxyTable,
    },
};

/// Finds out what sites mean, and notes what means nothing.
pub(crate) struct Routing<'a> {
    /// The folder of the settings file.
    pub(crate) folder: &'a Path,
    /// How many files all folders together want to keep open, and may.
    pub(crate) wanted_files: usize,
    pub(crate) shares: Shares,
    pub(crate) proxying: &'a Proxying<'a>,
    pub(crate) applications: &'a Applications<'a>,
    pub(crate) problems: &'a Problems,
}

impl Routing<'_> {
    /// The router; nothing where something is wrong.
    pub(crate) fn router(&self, table: Vec<SiteTable>) -> Option<Router<RouteHandler>> {
        let places: Vec<_> = table.iter().map(SitePlaces::new).collect();
        // All of them, so that all that is wrong is found.
        let sites: Vec<_> = table.into_iter().map(|site| self.site(site)).collect();
        let sites = sites.into_iter().collect::<Option<Vec<_>>>()?;
        self.noted(Router::new(sites).map_err(|error| of_router(&error, &places)))
    }

    fn site(&self, table: SiteTable) -> Option<Site<RouteHandler>> {
        let SiteTable { settings, content, place } = table;
        let hosts = self.hosts(settings.hosts, &place.key("hosts"));
        let headers = self.headers(&settings.headers, &place.key("headers"));
        let routes = match content {
            SiteContent::App(app) => self.everything(self.app(*app, &place.key("app")), &place),
            SiteContent::Files(files) => self.everything(self.files(*files, "/*", &place.key("files")), &place),
            SiteContent::Proxy(proxy) => self.everything(self.proxy(*proxy, &place.key("proxy")), &place),
            SiteContent::Routes(routes) => {
                let routes: Vec<_> = routes.into_iter().map(|route| self.route(route)).collect();
                routes.into_iter().collect()
            }
        };
        Some(Site { hosts: hosts?, headers: headers?, routes: routes? })
    }

    /// One route for all.
    fn everything(&self, action: Option<Action<RouteHandler>>, place: &Place) -> Option<Vec<Route<RouteHandler>>> {
        Some(vec![Route::new(self.text("/*", place)?, action?)])
    }

    fn hosts(&self, table: Option<Vec<String>>, place: &Place) -> Option<Vec<HostPattern>> {
        let Some(table) = table else { return Some(Vec::new()) };
        if table.is_empty() {
            let text = "there is no host: name one, or leave the key out for all hosts that no other site has";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        let hosts = table.iter().enumerate();
        let hosts: Vec<_> = hosts.map(|(number, host)| self.text(host, &place.element(number))).collect();
        hosts.into_iter().collect()
    }

    fn route(&self, table: RouteTable) -> Option<Route<RouteHandler>> {
        let RouteTable { settings, handler, place } = table;
        let path = self.text(&settings.path, &place.key("path"));
        let methods = self.methods(settings.methods, &place.key("methods"));
        let headers = self.headers(&settings.headers, &place.key("headers"));
        let action = match handler {
            HandlerTable::App(app) => self.app(*app, &place.key("app")),
            HandlerTable::Files(files) => self.files(*files, &settings.path, &place.key("files")),
            HandlerTable::Proxy(proxy) => self.proxy(*proxy, &place.key("proxy")),
            HandlerTable::Redirect(redirect) => self.redirect(&redirect, &place.key("redirect")),
            HandlerTable::Respond(response) => self.respond(response, &place.key("respond")),
            HandlerTable::Rewrite(table) => self.text(&table.rewrite, &place.key("rewrite")).map(Action::Rewrite),
        };
        Some(Route { path: path?, methods: methods?, headers: headers?, action: action? })
    }

    fn methods(&self, table: Option<Vec<String>>, place: &Place) -> Option<Methods> {
        let Some(table) = table else { return Some(Methods::default()) };
        if table.is_empty() {
            let text = "there is no method: name one, or leave the key out for all";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        self.noted(Methods::new(table).map_err(|error| Problem::of_value(place.clone(), error.to_string())))
    }

    fn headers(&self, table: &BTreeMap<String, String>, place: &Place) -> Option<HeaderChanges> {
        let problem = |error: InvalidChange| Problem::of_value(place.key(error.name), error.problem.to_string());
        // Each alone first, so that all that is wrong is found.
        let wrong = table.iter().filter_map(|field| HeaderChanges::new([field]).err().map(problem));
        match wrong.map(|problem| self.problems.add(problem)).count() {
            0 => self.noted(HeaderChanges::new(table).map_err(problem)),
            _ => None,
        }
    }

    fn redirect(&self, table: &RedirectTable, place: &Place) -> Option<Action<RouteHandler>> {
        let redirect = Redirect::new(&table.to, table.status.0).map_err(|error| match error {
            InvalidRedirect::Status => Problem::of_value(place.key("status"), error.to_string()),
            _ => Problem::of_value(place.key("to"), format!("{:?}: {error}", table.to)),
        });
        self.noted(redirect).map(Action::Redirect)
    }

    fn respond(&self, table: RespondTable, place: &Place) -> Option<Action<RouteHandler>> {
        let RespondTable { status, body, media_type } = table;
        let response = FixedResponse::new(status.get() as u16).and_then(|response| match body {
            Some(body) => response.with_body(body, &media_type),
            None => Ok(response),
        });
        let problem = |error: InvalidResponse| {
            let key = match error {
                InvalidResponse::Status => "status",
                InvalidResponse::Body => "body",
                InvalidResponse::MediaType(_) => "type",
            };
            Problem::of_value(place.key(key), error.to_string())
        };
        self.noted(response.map_err(problem)).map(Action::Respond)
    }

    fn files(&self, table: FilesTable, path: &str, place: &Place) -> Option<Action<RouteHandler>> {
        let FilesTable { settings, folder } = table;
        if settings.root.as_os_str().is_empty() {
            let text = "the path is empty: name a folder; \".\" is that of this file";
            return self.noted(Err(Problem::of_value(place.key("root"), text)));
        }
        let is_next = settings.missing == MissingChoice::Next;
        let instead = [("spa", folder.content.spa.is_some()), ("not-found", folder.content.not_found.is_some())];
        if let Some((key, _)) = instead.into_iter().find(|(_, is_given)| is_next && *is_given) {
            let text =
                format!("`{key}` is never sent, since missing = \"next\" leaves missing files to the next route");
            return self.noted(Err(Problem::of_key(place.key(key), text)));
        }
        let mode = folder.content.write.mode();
        if is_next && mode.is_some() {
            let text = "with missing = \"next\", the folder answers GET and HEAD only: make a route with `write` below another \
                        path, or with `methods`";
            return self.noted(Err(Problem::of_key(place.key("write"), text)));
        }
        let stripped = self.stripped(settings.strip_prefix, path, &folder, place)?;
        let root = resolved(&settings.root, self.folder);
        // Each folder gets its part of what may be kept open.
        let wanted = folder.caching.cache_files.in_memory();
        let cached_files = wanted.saturating_mul(self.shares.cached_files).checked_div(self.wanted_files).unwrap_or(0);
        let of_setting_error = |found: SettingError| Problem::of_setting_error(place, found);
        let mut settings = self.noted(folder_settings(folder, cached_files).map_err(of_setting_error))?;
        let prefix = if stripped.is_some() { path.trim_end_matches("/*") } else { "" };
        settings.rewrite.extend(stripped);
        if is_next {
            // The listing of a folder would hide a page of the application.
            settings.listing = Listing::Off;
        }
        let files = Files::with_settings(&root, settings).map_err(|error| match SettingError::of_folder(&error) {
            Some(error) => of_setting_error(error),
            None => Problem::of_value(place.key("root"), error.to_string()),
        });
        let files = self.noted(files)?;
        let files = match mode {
            Some(mode) => RouteHandler::Dav(Box::new(Dav::new(files, mode, prefix.as_bytes()))),
            None => RouteHandler::Files(files),
        };
        Some(if is_next { Action::Try(files) } else { Action::Handle(files) })
    }

    /// The rule that leaves the path of a route out of the path of a file, if there is to be one.
    fn stripped(&self, is_wanted: bool, path: &str, folder: &FolderOptions, place: &Place) -> Option<Option<Rewrite>> {
        if !is_wanted {
            return Some(None);
        }
        let refuse = |text: &str| self.noted(Err(Problem::of_key(place.key("strip-prefix"), text)));
        let prefix = path.strip_suffix("/*").filter(|prefix| prefix.starts_with('/') && !prefix.contains('*'));
        let Some(prefix) = prefix else {
            return refuse("`strip-prefix` needs a route whose path is a prefix and a star, as in path = \"/docs/*\"");
        };
        if !folder.content.rewrite.is_empty() {
            return refuse(
                "`strip-prefix` and `rewrite` cannot be combined: write the prefix into the rules of `rewrite`",
            );
        }
        Some(Some(Rewrite::new(&format!("{prefix}/*"), "/*")))
    }

    fn proxy(&self, table: ProxyTable, place: &Place) -> Option<Action<RouteHandler>> {
        self.proxying.proxy(table, place).map(|proxy| Action::Handle(RouteHandler::Proxy(proxy)))
    }

    fn app(&self, table: AppTable, place: &Place) -> Option<Action<RouteHandler>> {
        let application = self.applications.application(table, place)?;
        Some(Action::Handle(application.handler()))
    }

    /// A text that says what is wrong with it.
    fn text<T: FromStr<Err: Display>>(&self, text: &str, place: &Place) -> Option<T> {
        self.noted(text.parse().map_err(|error| Problem::of_value(place.clone(), format!("{text:?}: {error}"))))
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
    }
}

/// Where a site and its routes stand.
struct SitePlaces {
    site: Place,
    routes: Vec<Place>,
}

impl SitePlaces {
    fn new(site: &SiteTable) -> Self {
        let routes = match &site.content {
            SiteContent::App(_) | SiteContent::Files(_) | SiteContent::Proxy(_) => Vec::new(),
            SiteContent::Routes(routes) => routes.iter().map(|route| route.place.clone()).collect(),
        };
        Self { site: site.place.clone(), routes }
    }
}

/// What the router says of sites that contradict each other, where they stand.
fn of_router(error: &RouterError, places: &[SitePlaces]) -> Problem {
    let Some(places) = places.get(error.site()) else { return Problem::of_key(Place::default(), error.to_string()) };
    let route = error.route().and_then(|route| places.routes.get(route));
    match error {
        RouterError::HostTwice { .. } => Problem::of_key(places.site.key("hosts"), error.to_string()),
        _ => Problem::of_key(route.unwrap_or(&places.site).clone(), error.to_string()),
    }
}
