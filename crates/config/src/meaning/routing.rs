//! What sites and routes mean.

use std::{cell::RefCell, collections::BTreeSet, fmt::Display, path::Path, rc::Rc, str::FromStr, sync::Arc};

use serow_document::{Place, Problem, Problems};
use serow_files::{Files, Listing, Rewrite};
use serow_router::{
    Action, FixedResponse, HostPattern, InvalidRedirect, InvalidResponse, Methods, Redirect, RewriteTarget, Route,
    Router, Site,
};
use serow_site::{
    Content, InternalRoutes, Mirror, MirrorSettings, PhaseSettings, RouteHandler, RoutePolicy, Scripts,
    Site as SiteHandler, SitePolicies,
};
use serow_variables::{Expression, Scope, Text};
use serow_webdav::{Dav, DavSite, PathScope};

use crate::{
    meaning::{
        access::Access,
        applications::{AppTable, Applications},
        body_limits::{BodyLimits, BodyReader},
        caching::Caching,
        dav_scopes::{DavScope, DavScopes},
        header_rules::{HeaderMeaning, HeaderReading},
        internal,
        logs::{Logs, PlacedLogs},
        matching::Matching,
        own_settings::OwnSettings,
        paths::resolved,
        policies::Policies,
        proxying::{ProxyScopes, Proxying},
        route_numbers::{NumberedRoute, RouteNumbers, trusted},
        route_paths::{self, of_route, shown},
        scripting::Scripting,
        site_listeners::SiteListeners,
        site_places::{SitePlaces, of_router},
    },
    tables::{
        access::AccessSettings,
        compression::CompressionSetting,
        handlers::{FilesTable, HandlerTable, MissingChoice, RedirectTable, RespondTable},
        mirror::MirrorTable,
        or_off::OrOff,
        policies::PolicySettings,
        sites::{RouteSettings, RouteTable, SiteContent, SiteTable},
        upstreams::ProxyTable,
    },
    values::{Count, NetworkRule, Size},
};
use serow_settings::{SettingError, descriptor_shares::Shares, folder_settings, options::FolderOptions};

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
    pub(crate) bodies: BodyLimits,
    pub(crate) logs: &'a Logs<'a>,
    /// The access logs of the root.
    pub(crate) root_logs: &'a Rc<PlacedLogs>,
    pub(crate) access: &'a Access<'a>,
    pub(crate) numbers: &'a RouteNumbers,
    pub(crate) listeners: &'a SiteListeners,
    /// What copies requests.
    pub(crate) mirrors: &'a RefCell<Vec<Mirror>>,
    /// Where responses are stored.
    pub(crate) caching: &'a Caching<'a>,
    pub(crate) scripting: &'a Scripting<'a>,
    /// The proxies that the root trusts.
    pub(crate) trust: &'a [NetworkRule],
    pub(crate) problems: &'a Problems,
}

impl Routing<'_> {
    /// The handler of all sites; nothing where something is wrong.
    pub(crate) fn handler(&self, table: Vec<SiteTable>) -> Option<SiteHandler> {
        let places: Vec<_> = table.iter().map(SitePlaces::new).collect();
        // All of them, so that all that is wrong is found.
        let scripts: Vec<Option<Scripts>> =
            table.iter().map(|site| self.scripting.before_routes(site.settings.script.as_ref(), &site.place)).collect();
        let numbered = table.into_iter().zip(&places).enumerate();
        let sites: Vec<_> = numbered.map(|(number, (site, places))| self.site(site, (number, places))).collect();
        let sites = sites.into_iter().collect::<Option<Vec<_>>>()?;
        let scripts = scripts.into_iter().collect::<Option<Vec<_>>>()?;
        let (sites, policies): (Vec<_>, Vec<_>) = sites.into_iter().unzip();
        let handler = self.listeners.site(sites, &SitePolicies::new(policies), &scripts, &trusted(self.trust));
        self.noted(handler.map_err(|error| of_router(error, &places)))
    }

    fn site(
        &self,
        table: SiteTable,
        (number, places): (usize, &SitePlaces),
    ) -> Option<(Site<RouteHandler>, Arc<RoutePolicy>)> {
        let names = table.capture_names();
        let SiteTable { settings, header_rules, log, policy, access, content, place } = table;
        let host = settings.hosts.iter().flatten().next();
        let name = host.map_or("*", String::as_str).to_owned();
        let scope = host.map_or(self.scope.clone(), |host| self.scope.of_site(host));
        let logs = self.logs.inside(self.root_logs, log.access_log.as_ref(), &scope, names, &place);
        let trusted = content.trust().map(trusted);
        let hosts = self.hosts(settings.hosts, &place.key("hosts"));
        let headers = self.headers(&scope).changes(&settings.headers, &header_rules, &place);
        let surroundings = self.policies().policy(&RoutePolicy::default(), &policy, &place);
        let guard = self.access.guard(None, &access, &name, &place);
        let surroundings = surroundings.zip(guard).map(|(policy, guard)| Arc::new(RoutePolicy { guard, ..policy }));
        internal::problems(&content, &place).into_iter().for_each(|problem| self.problems.add(problem));
        let (compression, is_written) = (policy.compress.as_ref(), content.is_written());
        let action = match content {
            SiteContent::App(app) => self.app(*app, false, &place.key("app")),
            SiteContent::Files(files) => self.only_files(*files, compression, &name, &place.key("files")),
            SiteContent::Proxy(proxy) => {
                self.proxy(*proxy, ProxyScopes { site: &scope, route: &scope }, &place.key("proxy"))
            }
            SiteContent::Routes(routes) => {
                // Where the policy of the site is wrong, the routes are checked without it.
                let outer = surroundings.clone().unwrap_or_default();
                let outside = SiteOfRoute {
                    name: &name,
                    scope: &scope,
                    logs: &logs,
                    settings: &policy,
                    place: &place,
                    policy: &outer,
                    internal: None,
                    dav: None,
                };
                let (inside, routes): (Vec<_>, Vec<_>) = routes.into_iter().partition(|route| route.settings.internal);
                let internal = self.internal_routes(inside, headers.as_ref(), outside, (number, places))?;
                let outside = SiteOfRoute { internal: internal.as_ref(), ..outside };
                let scopes = DavScopes::of(&routes);
                let routes = routes.into_iter().zip(scopes.iter());
                let routes: Vec<_> =
                    routes.map(|(route, dav)| self.route(route, SiteOfRoute { dav, ..outside })).collect();
                let routes = routes.into_iter().collect::<Option<Vec<_>>>();
                scopes.settle(routes.as_deref(), self.problems);
                let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
                let number = self.numbers.site(logs);
                let site = Site { hosts: hosts?, headers, request_headers, routes: routes?, number };
                return Some((site, surroundings?));
            }
        };
        let (action, surroundings) = (action?, surroundings?);
        let reader = BodyReader { limit: policy.max_body, is_written };
        let inner = self.bodies.enforced(reader, Arc::clone(&surroundings));
        let numbered = NumberedRoute { site: name, path: EVERYTHING.to_owned(), trusted, logs: Rc::clone(&logs) };
        let cache = self.caching.cache(&action, (policy.cache.as_ref(), &place), (None, &place), EVERYTHING)?;
        let mirror = self.mirror(policy.mirror.as_ref(), (&numbered.site, EVERYTHING), &place)?;
        let phases = PhaseSettings { policy: inner, cache, mirror, ..PhaseSettings::default() };
        let (action, answering) = in_phases(action, phases, EVERYTHING);
        let mark = self.numbers.mark(numbered, &action);
        let routes = vec![Route { mark, answering, ..Route::new(self.text(EVERYTHING, &place)?, action) }];
        let number = self.numbers.site(logs);
        let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
        Some((Site { hosts: hosts?, headers, request_headers, routes, number }, surroundings))
    }

    /// The internal routes of a site with these headers, which these responses lead to.
    fn internal_routes(
        &self,
        tables: Vec<RouteTable>,
        headers: Option<&HeaderMeaning>,
        site: SiteOfRoute<'_>,
        (number, places): (usize, &SitePlaces),
    ) -> Option<Option<InternalRoutes>> {
        if tables.is_empty() {
            return Some(None);
        }
        let roots = internal::roots(&tables, self.folder);
        let routes: Vec<_> = tables.into_iter().map(|route| self.route(route, site)).collect();
        let routes = routes.into_iter().collect::<Option<_>>()?;
        let HeaderMeaning { responses: headers, requests: request_headers } = HeaderMeaning::clone(headers?);
        let router = Router::new(vec![Site { hosts: Vec::new(), headers, request_headers, routes, number: None }]);
        let router = self.noted(router.map_err(|error| places.of_internal(error, number)))?;
        Some(Some(InternalRoutes::new(router.with_trusted(trusted(self.trust)), roots, Arc::clone(site.policy))))
    }

    fn policies(&self) -> Policies<'_> {
        Policies { folder: self.folder, problems: self.problems }
    }

    fn headers<'s>(&'s self, scope: &'s Scope) -> HeaderReading<'s> {
        HeaderReading { scope, problems: self.problems }
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
        let RouteTable { settings, header_rules, log, policy, access, when, handler, place } = table;
        let compression = policy.compress.as_ref().or(site.settings.compress.as_ref());
        let (written, name) = (settings.only_path().unwrap_or_default().to_owned(), settings.paths());
        let trusted = handler.trust().map(trusted);
        let path = self.noted(route_paths::pattern(settings.path.as_ref(), &place.key("path")));
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
        let logs = self.logs.inside(site.logs, log.access_log.as_ref(), &scope, BTreeSet::new(), &place);
        let matching = Matching { scope: &scope, problems: self.problems };
        let RouteSettings { path: own_path, path_regex, methods: own_methods, name: own_name, .. } = &settings;
        let matched = format!("{own_path:?} {path_regex:?} {own_methods:?} {when:?} {own_name:?}");
        let conditions = matching.conditions(expression, when.unwrap_or_default(), &place.key("when"));
        let methods = self.methods(settings.methods.as_deref(), &place.key("methods"));
        let headers = self.headers(&scope).changes(&settings.headers, &header_rules, &place);
        let reads_body = handler.is_written();
        let (follows, has_internal) = (handler.follows(), settings.internal || site.internal.is_some());
        let shown = shown(site.name, Some(&place), &name);
        let action = match handler {
            HandlerTable::App(app) => self.app(*app, has_internal, &place.key("app")),
            HandlerTable::Files(files) => {
                self.files(*files, (&written, site.dav), compression, (&shown, &place.key("files")))
            }
            HandlerTable::Proxy(proxy) => {
                self.proxy(*proxy, ProxyScopes { site: site.scope, route: &scope }, &place.key("proxy"))
            }
            HandlerTable::Redirect(redirect) => self.redirect(&redirect, &scope, &place.key("redirect")),
            HandlerTable::Respond(response) => self.respond(response, &scope, &place.key("respond")),
            HandlerTable::Rewrite(table) => self.rewrite(&table.rewrite, &scope, &place.key("rewrite")),
        };
        let own = OwnSettings::new(&settings, &header_rules, &log, (&policy, &access));
        let action = action.and_then(|action| self.noted(own.have_effect(action, &place)));
        let surroundings = self.surroundings(&policy, &access, (settings.internal, reads_body), site, &place);
        let (action, surroundings) = (action?, surroundings?);
        let phases = PhaseSettings {
            policy: surroundings,
            scripts: self.scripting.of_route(settings.script.as_ref(), &place)?,
            ..self.around_content(&action, &policy, (&name, &matched), (settings.internal, follows), site, &place)?
        };
        let (action, answering) = in_phases(action, phases, &of_route(Some(&place), &name));
        let numbered = NumberedRoute { site: site.name.to_owned(), path: name, trusted, logs };
        // What leads to an internal route has noted its own number.
        let mark = if settings.internal { None } else { self.numbers.mark(numbered, &action) };
        let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
        let (path, methods, conditions) = (path?, methods?, conditions?);
        let name = settings.name.map(String::into_boxed_str);
        Some(Route { path, methods, conditions, headers, request_headers, name, mark, action, answering })
    }

    /// What surrounds a route with these settings.
    fn surroundings(
        &self,
        policy: &PolicySettings,
        access: &AccessSettings,
        (is_internal, reads_body): (bool, Option<bool>),
        site: SiteOfRoute<'_>,
        place: &Place,
    ) -> Option<Arc<RoutePolicy>> {
        if let Some(OrOff::On(_)) = access.login {
            let text = "a login belongs into the [[site]], to whose host browsers return: here, write login = false or nothing";
            return self.noted(Err(Problem::of_key(place.key("login"), text)));
        }
        let surroundings = match (&policy.given()[..], &access.given()[..]) {
            ([], []) => Some(Arc::clone(site.policy)),
            _ => {
                let surroundings = self.policies().policy(site.policy, policy, place);
                let guard = self.access.guard(site.policy.guard.as_ref(), access, site.name, place);
                surroundings.zip(guard).map(|(policy, guard)| Arc::new(RoutePolicy { guard, ..policy }))
            }
        }?;
        let surroundings = if is_internal { unguarded(surroundings) } else { surroundings };
        let limit = policy.max_body.or(site.settings.max_body);
        Some(match reads_body {
            Some(is_written) => self.bodies.enforced(BodyReader { limit, is_written }, surroundings),
            None => surroundings,
        })
    }

    /// The phases between the scripts of a route and its content: cache, mirror, and what responses may lead to. Clients do
    /// not reach internal routes, so these have none of them.
    fn around_content(
        &self,
        action: &Action<Content>,
        policy: &PolicySettings,
        (path, matched): (&str, &str),
        (is_internal, follows): (bool, bool),
        site: SiteOfRoute<'_>,
        place: &Place,
    ) -> Option<PhaseSettings> {
        if is_internal || matches!(action, Action::Rewrite(_)) {
            return Some(PhaseSettings::default());
        }
        let of_site = (site.settings.cache.as_ref(), site.place);
        let cache = self.caching.cache(action, (policy.cache.as_ref(), place), of_site, matched)?;
        let mirror = match (&policy.mirror, &site.settings.mirror) {
            (Some(mirror), _) => self.mirror(Some(mirror), (site.name, path), place)?,
            (None, mirror) => self.mirror(mirror.as_ref(), (site.name, path), site.place)?,
        };
        let internal = site.internal.filter(|_| follows).cloned();
        Some(PhaseSettings { cache, mirror, internal, ..PhaseSettings::default() })
    }

    fn expression(&self, text: &str, place: &Place) -> Option<Expression> {
        self.noted(text.parse().map_err(|error| Problem::of_value(place.clone(), format!("{text:?} {error}"))))
    }

    fn rewrite(&self, text: &str, scope: &Scope, place: &Place) -> Option<Action<Content>> {
        let target = RewriteTarget::with_variables(text, scope);
        let target = target.map_err(|error| Problem::of_value(place.clone(), format!("{text:?}: {error}")));
        self.noted(target).map(Action::Rewrite)
    }

    fn methods(&self, table: Option<&[String]>, place: &Place) -> Option<Methods> {
        let Some(table) = table else { return Some(Methods::default()) };
        if table.is_empty() {
            let text = "there is no method: name one, or leave the key out for all";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        self.noted(Methods::new(table).map_err(|error| Problem::of_value(place.clone(), error.to_string())))
    }

    fn redirect(&self, table: &RedirectTable, scope: &Scope, place: &Place) -> Option<Action<Content>> {
        let redirect = Redirect::with_variables(&table.to, table.status.0, scope).map_err(|error| match error {
            InvalidRedirect::Status => Problem::of_value(place.key("status"), error.to_string()),
            _ => Problem::of_value(place.key("to"), format!("{:?}: {error}", table.to)),
        });
        self.noted(redirect).map(Action::Redirect)
    }

    fn respond(&self, table: RespondTable, scope: &Scope, place: &Place) -> Option<Action<Content>> {
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

    /// The only folder of the site with this name.
    fn only_files(
        &self,
        table: FilesTable,
        compression: Option<&CompressionSetting>,
        site: &str,
        place: &Place,
    ) -> Option<Action<Content>> {
        self.files(table, (EVERYTHING, None), compression, (&shown(site, None, EVERYTHING), place))
    }

    fn files(
        &self,
        table: FilesTable,
        (path, scope): (&str, Option<&Arc<DavScope>>),
        compression: Option<&CompressionSetting>,
        (shown, place): (&str, &Place),
    ) -> Option<Action<Content>> {
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
        let write = folder.content.write_settings();
        if is_next && write.is_some() {
            let text = "with missing = \"next\", the folder answers GET and HEAD only: make a route with `write` below another \
                        path, or with `methods`";
            return self.noted(Err(Problem::of_key(place.key("write"), text)));
        }
        let stripped = self.stripped(settings.strip_prefix, path, &folder, place)?;
        let root = resolved(&settings.root, self.folder);
        // Each folder gets its part of what may be kept open.
        let wanted = folder.caching.cache_files.in_memory();
        let cached_files = wanted.saturating_mul(self.shares.cached_files).checked_div(self.wanted_files).unwrap_or(0);
        let of_setting_error = |found: SettingError| found.problem(place);
        let codings = folder.content.compress.clone();
        let mut settings = self.noted(folder_settings(folder, cached_files).map_err(of_setting_error))?;
        Policies::compress_folder(compression, &codings, &mut settings);
        shown.clone_into(&mut settings.place);
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
        let files = match write {
            Some(write) => {
                let scope = scope.cloned().map(|scope| scope as Arc<dyn PathScope>);
                let site = DavSite { scope, trusted: trusted(self.trust) };
                Content::Dav(Box::new(Dav::in_site(files, write, prefix.as_bytes(), site)))
            }
            None => Content::Files(files),
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

    /// Where copies of requests go, as it is written at this place.
    fn mirror(&self, table: Option<&MirrorTable>, (site, path): (&str, &str), place: &Place) -> Option<Option<Mirror>> {
        let Some(table) = table else { return Some(None) };
        let proxy = self.proxying.mirror(table, &place.key("mirror"))?;
        let settings = MirrorSettings {
            name: format!("{site} {path}"),
            share: table.share.map_or(100, Count::get),
            max_body: table.max_body.map_or(MAX_MIRRORED, Size::in_memory),
        };
        let mirror = Mirror::new(settings, proxy);
        self.mirrors.borrow_mut().push(mirror.clone());
        Some(Some(mirror))
    }

    fn proxy(&self, table: ProxyTable, scopes: ProxyScopes<'_>, place: &Place) -> Option<Action<Content>> {
        self.proxying.proxy(table, scopes, place).map(|proxy| Action::Handle(Content::Proxy(proxy)))
    }

    fn app(&self, table: AppTable, has_internal: bool, place: &Place) -> Option<Action<Content>> {
        let application = self.applications.application(table, has_internal, place)?;
        Some(Action::Handle(application.content()))
    }

    /// A text that says what is wrong with it.
    fn text<T: FromStr<Err: Display>>(&self, text: &str, place: &Place) -> Option<T> {
        self.noted(text.parse().map_err(|error| Problem::of_value(place.clone(), format!("{text:?}: {error}"))))
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
    }
}

/// An action whose content is behind these phases, and the handler that passes on what the action itself answers.
fn in_phases(
    action: Action<Content>,
    phases: PhaseSettings,
    shown: &str,
) -> (Action<RouteHandler>, Option<RouteHandler>) {
    let answering = |phases| Some(RouteHandler::new(Content::Answer, phases).at(shown));
    match action {
        Action::Handle(content) => (Action::Handle(RouteHandler::new(content, phases).at(shown)), None),
        Action::Try(content) => (Action::Try(RouteHandler::new(content, phases).at(shown)), None),
        Action::Redirect(redirect) => (Action::Redirect(redirect), answering(phases)),
        Action::Respond(response) => (Action::Respond(response), answering(phases)),
        Action::Rewrite(target) => (Action::Rewrite(target), None),
    }
}

/// A policy of an internal route: what leads there has passed the guard of its own route.
fn unguarded(policy: Arc<RoutePolicy>) -> Arc<RoutePolicy> {
    if policy.guard.is_none() { policy } else { Arc::new(RoutePolicy { guard: None, ..RoutePolicy::clone(&policy) }) }
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
    logs: &'a Rc<PlacedLogs>,
    settings: &'a PolicySettings,
    /// Where its settings stand.
    place: &'a Place,
    policy: &'a Arc<RoutePolicy>,
    /// Where responses of its handlers may lead.
    internal: Option<&'a InternalRoutes>,
    /// Which paths are the route's, if it is a folder that clients may change.
    dav: Option<&'a Arc<DavScope>>,
}
