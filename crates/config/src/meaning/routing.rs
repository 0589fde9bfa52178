//! What sites and routes mean.

use std::{cell::RefCell, collections::BTreeMap, fmt::Display, path::Path, str::FromStr, sync::Arc};

use serow_files::{Files, Listing, Rewrite};
use serow_router::{
    Action, FixedResponse, HeaderChanges, HostPattern, InvalidChange, InvalidRedirect, InvalidResponse, Methods,
    PathPattern, Redirect, RewriteTarget, Route, Router, RouterError, Site,
};
use serow_site::{InternalRoutes, Mirror, MirrorSettings, RouteHandler, RoutePolicy, SitePolicies};
use serow_variables::{Expression, Scope, Text};
use serow_webdav::Dav;

use crate::{
    descriptor_shares::Shares,
    diagnostics::problem::{Problem, Problems},
    meaning::{
        applications::{AppTable, Applications},
        internal,
        matching::Matching,
        paths::resolved,
        policies::Policies,
        proxying::Proxying,
        route_numbers::{NumberedRoute, RouteNumbers, trusted},
    },
    options::FolderOptions,
    place::Place,
    settings::{SettingError, folder_settings},
    tables::{
        compression::CompressionSetting,
        handlers::{FilesTable, HandlerTable, MissingChoice, RedirectTable, RespondTable},
        mirror::MirrorTable,
        policies::PolicySettings,
        sites::{RouteTable, SiteContent, SiteTable},
        upstreams::ProxyTable,
    },
    values::{Count, NetworkRule, Size},
};

/// Finds out what sites mean, and notes what means nothing.
pub(crate) struct Routing<'a> {
    /// Which variables texts may name.
    pub(crate) scope: &'a Scope,
    /// The folder of the settings file.
    pub(crate) folder: &'a Path,
    /// How many files all folders together want to keep open, and may.
    pub(crate) wanted_files: usize,
    pub(crate) shares: Shares,
    pub(crate) proxying: &'a Proxying<'a>,
    pub(crate) applications: &'a Applications<'a>,
    pub(crate) numbers: &'a RouteNumbers,
    /// What copies requests.
    pub(crate) mirrors: &'a RefCell<Vec<Mirror>>,
    /// The proxies that the root trusts.
    pub(crate) trust: &'a [NetworkRule],
    pub(crate) problems: &'a Problems,
}

impl Routing<'_> {
    /// The router and the policies of its sites; nothing where something is wrong.
    pub(crate) fn router(&self, table: Vec<SiteTable>) -> Option<(Router<RouteHandler>, SitePolicies)> {
        let places: Vec<_> = table.iter().map(SitePlaces::new).collect();
        // All of them, so that all that is wrong is found.
        let numbered = table.into_iter().zip(&places).enumerate();
        let sites: Vec<_> = numbered.map(|(number, (site, places))| self.site(site, (number, places))).collect();
        let sites = sites.into_iter().collect::<Option<Vec<_>>>()?;
        let (sites, policies): (Vec<_>, Vec<_>) = sites.into_iter().unzip();
        let router = self.noted(Router::new(sites).map_err(|error| of_router(error, &places)))?;
        let router = router.with_trusted(trusted(self.trust));
        Some((router, SitePolicies::new(policies)))
    }

    fn site(
        &self,
        table: SiteTable,
        (number, places): (usize, &SitePlaces),
    ) -> Option<(Site<RouteHandler>, Arc<RoutePolicy>)> {
        let SiteTable { settings, policy, content, place } = table;
        let host = settings.hosts.iter().flatten().next();
        let name = host.map_or("*", String::as_str).to_owned();
        let scope = host.map_or(self.scope.clone(), |host| self.scope.of_site(host));
        let numbered =
            NumberedRoute { site: name.clone(), path: EVERYTHING.to_owned(), trusted: content.trust().map(trusted) };
        let hosts = self.hosts(settings.hosts, &place.key("hosts"));
        let headers = self.headers(&settings.headers, &scope, &place.key("headers"));
        let surroundings = self.policies().policy(&RoutePolicy::default(), &policy, &place).map(Arc::new);
        for problem in internal::problems(&content, &place) {
            self.problems.add(problem);
        }
        let compression = policy.compress.as_ref();
        let action = match content {
            SiteContent::App(app) => self.app(*app, false, &place.key("app")),
            SiteContent::Files(files) => self.files(*files, EVERYTHING, compression, &place.key("files")),
            SiteContent::Proxy(proxy) => self.proxy(*proxy, &place.key("proxy")),
            SiteContent::Routes(routes) => {
                // Where the policy of the site is wrong, the routes are checked without it.
                let outer = surroundings.clone().unwrap_or_default();
                let outside = SiteOfRoute {
                    name: &name,
                    scope: &scope,
                    settings: &policy,
                    place: &place,
                    policy: &outer,
                    internal: None,
                };
                let (inside, routes): (Vec<_>, Vec<_>) = routes.into_iter().partition(|route| route.settings.internal);
                let internal = self.internal_routes(inside, headers.as_ref(), outside, (number, places))?;
                let outside = SiteOfRoute { internal: internal.as_ref(), ..outside };
                let routes: Vec<_> = routes.into_iter().map(|route| self.route(route, outside)).collect();
                let routes = routes.into_iter().collect::<Option<_>>();
                return Some((Site { hosts: hosts?, headers: headers?, routes: routes? }, surroundings?));
            }
        };
        let surroundings = surroundings?;
        let action = surrounded(action?, &surroundings);
        let action = self.mirrored(action, policy.mirror.as_ref(), (&name, EVERYTHING), &place)?;
        let action = self.numbers.number(numbered, action);
        let everything = Route::new(self.text(EVERYTHING, &place)?, action);
        Some((Site { hosts: hosts?, headers: headers?, routes: vec![everything] }, surroundings))
    }

    /// The internal routes of a site with these headers, which these responses lead to.
    fn internal_routes(
        &self,
        tables: Vec<RouteTable>,
        headers: Option<&HeaderChanges>,
        site: SiteOfRoute<'_>,
        (number, places): (usize, &SitePlaces),
    ) -> Option<Option<InternalRoutes>> {
        if tables.is_empty() {
            return Some(None);
        }
        let roots = internal::roots(&tables, self.folder);
        let routes: Vec<_> = tables.into_iter().map(|route| self.route(route, site)).collect();
        let routes = routes.into_iter().collect::<Option<_>>()?;
        let router = Router::new(vec![Site { hosts: Vec::new(), headers: headers?.clone(), routes }]);
        let router = self.noted(router.map_err(|error| places.of_internal(error, number)))?;
        Some(Some(InternalRoutes::new(router.with_trusted(trusted(self.trust)), roots, Arc::clone(site.policy))))
    }

    fn policies(&self) -> Policies<'_> {
        Policies { folder: self.folder, problems: self.problems }
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

    /// A route of this site.
    fn route(&self, table: RouteTable, site: SiteOfRoute<'_>) -> Option<Route<RouteHandler>> {
        let RouteTable { settings, policy, when, handler, place } = table;
        let compression = policy.compress.as_ref().or(site.settings.compress.as_ref());
        let written = settings.path.as_deref();
        let name = written.or(settings.path_regex.as_deref()).unwrap_or_default();
        let trusted = handler.trust().map(trusted);
        let numbered = NumberedRoute { site: site.name.to_owned(), path: name.to_owned(), trusted };
        let path = written.map_or_else(|| Some(PathPattern::any()), |path| self.text(path, &place.key("path")));
        let expression = settings.path_regex.as_deref();
        let expression = match expression.map(|text| self.expression(text, &place.key("path-regex"))) {
            None => None,
            Some(expression) => Some(expression?),
        };
        let scope = match (&expression, &path) {
            (Some(expression), _) => site.scope.of_expression(expression),
            (None, Some(path)) => site.scope.of_stars(path.stars()),
            (None, None) => return None,
        };
        let matching = Matching { scope: &scope, problems: self.problems };
        let conditions = matching.conditions(expression, when.unwrap_or_default(), &place.key("when"));
        let methods = self.methods(settings.methods, &place.key("methods"));
        let headers = self.headers(&settings.headers, &scope, &place.key("headers"));
        let (follows, has_internal) = (handler.follows(), settings.internal || site.internal.is_some());
        let action = match handler {
            HandlerTable::App(app) => self.app(*app, has_internal, &place.key("app")),
            HandlerTable::Files(files) => {
                self.files(*files, written.unwrap_or_default(), compression, &place.key("files"))
            }
            HandlerTable::Proxy(proxy) => self.proxy(*proxy, &place.key("proxy")),
            HandlerTable::Redirect(redirect) => self.redirect(&redirect, &scope, &place.key("redirect")),
            HandlerTable::Respond(response) => self.respond(response, &scope, &place.key("respond")),
            HandlerTable::Rewrite(table) => self.rewrite(&table.rewrite, &scope, &place.key("rewrite")),
        };
        let surroundings = match policy.given()[..] {
            [] => Some(Arc::clone(site.policy)),
            _ => self.policies().policy(site.policy, &policy, &place).map(Arc::new),
        };
        let action = self.with_own_policy(action, &policy, &place);
        let action = surrounded(action?, &surroundings?);
        let action = match (&policy.mirror, &site.settings.mirror) {
            _ if settings.internal => action,
            (Some(mirror), _) => self.mirrored(action, Some(mirror), (site.name, name), &place)?,
            (None, mirror) => self.mirrored(action, mirror.as_ref(), (site.name, name), site.place)?,
        };
        let action = match (site.internal, settings.internal) {
            // What leads here has noted its own number.
            (_, true) => action,
            (Some(internal), false) if follows => self.numbers.number(numbered, following(action, internal)),
            _ => self.numbers.number(numbered, action),
        };
        Some(Route { path: path?, methods: methods?, conditions: conditions?, headers: headers?, action })
    }

    /// An action, unless it has a policy that has no effect: the router's own responses have the policy of the site.
    fn with_own_policy(
        &self,
        action: Option<Action<RouteHandler>>,
        policy: &PolicySettings,
        place: &Place,
    ) -> Option<Action<RouteHandler>> {
        let (name, Some(key)) = (name_of(action.as_ref()?), policy.given().first().copied()) else { return action };
        let Some(name) = name else { return action };
        let text = format!("`{key}` has no effect in a route with `{name}`: write it in the [[site]]");
        self.noted(Err(Problem::of_key(place.key(key), text)))
    }

    fn expression(&self, text: &str, place: &Place) -> Option<Expression> {
        self.noted(text.parse().map_err(|error| Problem::of_value(place.clone(), format!("{text:?} {error}"))))
    }

    fn rewrite(&self, text: &str, scope: &Scope, place: &Place) -> Option<Action<RouteHandler>> {
        let target = RewriteTarget::with_variables(text, scope);
        let target = target.map_err(|error| Problem::of_value(place.clone(), format!("{text:?}: {error}")));
        self.noted(target).map(Action::Rewrite)
    }

    fn methods(&self, table: Option<Vec<String>>, place: &Place) -> Option<Methods> {
        let Some(table) = table else { return Some(Methods::default()) };
        if table.is_empty() {
            let text = "there is no method: name one, or leave the key out for all";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        self.noted(Methods::new(table).map_err(|error| Problem::of_value(place.clone(), error.to_string())))
    }

    fn headers(&self, table: &BTreeMap<String, String>, scope: &Scope, place: &Place) -> Option<HeaderChanges> {
        let problem = |error: InvalidChange| Problem::of_value(place.key(error.name), error.problem.to_string());
        // Each alone first, so that all that is wrong is found.
        let wrong = table.iter().filter_map(|field| HeaderChanges::with_variables([field], scope).err().map(problem));
        match wrong.map(|problem| self.problems.add(problem)).count() {
            0 => self.noted(HeaderChanges::with_variables(table, scope).map_err(problem)),
            _ => None,
        }
    }

    fn redirect(&self, table: &RedirectTable, scope: &Scope, place: &Place) -> Option<Action<RouteHandler>> {
        let redirect = Redirect::with_variables(&table.to, table.status.0, scope).map_err(|error| match error {
            InvalidRedirect::Status => Problem::of_value(place.key("status"), error.to_string()),
            _ => Problem::of_value(place.key("to"), format!("{:?}: {error}", table.to)),
        });
        self.noted(redirect).map(Action::Redirect)
    }

    fn respond(&self, table: RespondTable, scope: &Scope, place: &Place) -> Option<Action<RouteHandler>> {
        let RespondTable { status, body, media_type } = table;
        let body = match body.map(|body| Text::parse(&body, scope)).transpose() {
            Ok(body) => body,
            Err(error) => return self.noted(Err(Problem::of_value(place.key("body"), error.to_string()))),
        };
        let response = FixedResponse::new(status.get() as u16).and_then(|response| match body {
            Some(body) => response.with_text(body, &media_type),
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

    fn files(
        &self,
        table: FilesTable,
        path: &str,
        compression: Option<&CompressionSetting>,
        place: &Place,
    ) -> Option<Action<RouteHandler>> {
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
        let codings = folder.content.compress.clone();
        let mut settings = self.noted(folder_settings(folder, cached_files).map_err(of_setting_error))?;
        Policies::compress_folder(compression, &codings, &mut settings);
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

    /// An action whose requests are copied as it is written at this place.
    fn mirrored(
        &self,
        action: Action<RouteHandler>,
        table: Option<&MirrorTable>,
        (site, path): (&str, &str),
        place: &Place,
    ) -> Option<Action<RouteHandler>> {
        let Some(table) = table else { return Some(action) };
        if name_of(&action).is_some() {
            return Some(action);
        }
        let proxy = self.proxying.mirror(table, &place.key("mirror"))?;
        let settings = MirrorSettings {
            name: format!("{site} {path}"),
            share: table.share.map_or(100, Count::get),
            max_body: table.max_body.map_or(MAX_MIRRORED, Size::in_memory),
        };
        let mirror = Mirror::new(settings, proxy);
        self.mirrors.borrow_mut().push(mirror.clone());
        Some(match action {
            Action::Handle(handler) => Action::Handle(handler.mirrored(mirror)),
            Action::Try(handler) => Action::Try(handler.mirrored(mirror)),
            other => other,
        })
    }

    fn proxy(&self, table: ProxyTable, place: &Place) -> Option<Action<RouteHandler>> {
        self.proxying.proxy(table, place).map(|proxy| Action::Handle(RouteHandler::Proxy(proxy)))
    }

    fn app(&self, table: AppTable, has_internal: bool, place: &Place) -> Option<Action<RouteHandler>> {
        let application = self.applications.application(table, has_internal, place)?;
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

/// An action whose handler has this policy around it.
fn surrounded(action: Action<RouteHandler>, policy: &Arc<RoutePolicy>) -> Action<RouteHandler> {
    match action {
        Action::Handle(handler) => Action::Handle(handler.with_policy(Arc::clone(policy))),
        Action::Try(handler) => Action::Try(handler.with_policy(Arc::clone(policy))),
        Action::Redirect(_) | Action::Respond(_) | Action::Rewrite(_) => action,
    }
}

/// An action whose handler's responses lead to these routes.
fn following(action: Action<RouteHandler>, internal: &InternalRoutes) -> Action<RouteHandler> {
    match action {
        Action::Handle(handler) => Action::Handle(handler.following(internal.clone())),
        other => other,
    }
}

/// The name of what the router itself does.
fn name_of(action: &Action<RouteHandler>) -> Option<&'static str> {
    match action {
        Action::Handle(_) | Action::Try(_) => None,
        Action::Redirect(_) => Some("redirect"),
        Action::Respond(_) => Some("respond"),
        Action::Rewrite(_) => Some("rewrite"),
    }
}

/// Bytes of the longest body that is copied, unless something else is written: requests of most interfaces are shorter.
const MAX_MIRRORED: usize = 1 << 20;

/// The path of the only route of a site that has one handler.
const EVERYTHING: &str = "/*";

/// What a route has of its site.
#[derive(Clone, Copy)]
struct SiteOfRoute<'a> {
    /// The name in metrics.
    name: &'a str,
    /// The variables of its texts.
    scope: &'a Scope,
    settings: &'a PolicySettings,
    /// Where its settings stand.
    place: &'a Place,
    policy: &'a Arc<RoutePolicy>,
    /// Where responses of its handlers may lead.
    internal: Option<&'a InternalRoutes>,
}

/// Where a site and its routes stand.
struct SitePlaces {
    site: Place,
    /// The routes, and whether they are internal.
    routes: Vec<(Place, bool)>,
}

impl SitePlaces {
    fn new(site: &SiteTable) -> Self {
        let routes = match &site.content {
            SiteContent::App(_) | SiteContent::Files(_) | SiteContent::Proxy(_) => Vec::new(),
            SiteContent::Routes(routes) => {
                routes.iter().map(|route| (route.place.clone(), route.settings.internal)).collect()
            }
        };
        Self { site: site.place.clone(), routes }
    }

    /// The number of a route among all, by its number among the internal ones or the others.
    fn number(&self, route: usize, is_internal: bool) -> usize {
        let numbers = self.routes.iter().enumerate().filter(|(_, (_, internal))| *internal == is_internal);
        numbers.map(|(number, _)| number).nth(route).unwrap_or(route)
    }

    /// What the router of the internal routes says, where they stand.
    fn of_internal(&self, error: RouterError, site: usize) -> Problem {
        self.problem(&error.renumbered(site, |route| self.number(route, true)))
    }

    fn problem(&self, error: &RouterError) -> Problem {
        let route = error.route().and_then(|route| self.routes.get(route)).map(|(place, _)| place);
        match error {
            RouterError::HostTwice { .. } => Problem::of_key(self.site.key("hosts"), error.to_string()),
            _ => Problem::of_key(route.unwrap_or(&self.site).clone(), error.to_string()),
        }
    }
}

/// What the router says of sites that contradict each other, where they stand.
fn of_router(error: RouterError, places: &[SitePlaces]) -> Problem {
    let site = error.site();
    match places.get(site) {
        Some(places) => places.problem(&error.renumbered(site, |route| places.number(route, false))),
        None => Problem::of_key(Place::default(), error.to_string()),
    }
}
