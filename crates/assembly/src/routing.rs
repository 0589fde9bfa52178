//! The meaning of sites and routes.

mod answers;
mod cgi;
mod folder;
mod php;
mod route;

use std::{cell::RefCell, collections::BTreeSet, path::Path, rc::Rc, sync::Arc};

use serow_config::{
    routing::{
        error_routes,
        header_rules::{HeaderMeaning, HeaderReading},
        internal,
        route_reading::RouteReading,
        site_places::{SitePlaces, of_router},
    },
    site_addresses::SiteAddresses,
    tables::sites::{RouteTable, SiteContent, SiteTable},
    values::NetworkRule,
};
use serow_document::{Problem, Problems};
use serow_router::{Action, Route, Router, Site, check_hosts};
use serow_site::{Content, InternalRoutes, Mirror, PhaseSettings, RouteHandler, RoutePolicy, Scripts, Sites};
use serow_variables::Scope;

use self::route::SiteOfRoute;
use crate::{
    access::Access,
    applications::Applications,
    body_limits::{BodyLimits, BodyReader},
    caching::Caching,
    dav_scopes::DavScopes,
    descriptor_shares::Shares,
    independence::Independence,
    independent_sites::ReadSite,
    internal_roots,
    logs::{Logs, PlacedLogs, capture_names},
    policies::Policies,
    proxying::{ProxyScopes, Proxying},
    route_numbers::{NumberedRoute, RouteNumbers, trusted},
    scripting::Scripting,
    site_listeners::{SiteParts, site_by_address, site_of_found_host},
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
    pub(crate) bodies: BodyLimits,
    pub(crate) logs: &'a Logs<'a>,
    /// The access logs of the root.
    pub(crate) root_logs: &'a Rc<PlacedLogs>,
    pub(crate) access: &'a Access<'a>,
    pub(crate) numbers: &'a RouteNumbers,
    pub(crate) listeners: &'a SiteAddresses,
    /// The mirrors, which copy requests.
    pub(crate) mirrors: &'a RefCell<Vec<Mirror>>,
    /// Where responses are stored.
    pub(crate) caching: &'a Caching<'a>,
    pub(crate) scripting: &'a Scripting<'a>,
    /// The proxies that the root trusts.
    pub(crate) trust: &'a [NetworkRule],
    pub(crate) problems: &'a Problems,
}

/// A site, and the policy around it.
type SiteAndPolicy = (Site<RouteHandler>, Arc<RoutePolicy>);

/// The handlers of sites.
pub(crate) struct RoutedSites {
    /// That of all sites that are not independent.
    pub(crate) together: Sites,
    pub(crate) independent: Vec<ReadSite>,
}

impl Routing<'_> {
    /// The handlers of all sites, where some are independent of the others; nothing where something is wrong.
    pub(crate) fn sites(&self, table: Vec<SiteTable>, independence: &Independence<'_>) -> Option<RoutedSites> {
        let places: Vec<_> = table.iter().map(SitePlaces::new).collect();
        // All of them, so that all that is wrong is found.
        let scripts: Vec<Option<Scripts>> =
            table.iter().map(|site| self.scripting.before_routes(site.settings.script.as_ref(), &site.place)).collect();
        let have_pages: Vec<bool> = table.iter().map(error_routes::has_any).collect();
        let numbered = table.into_iter().zip(&places).enumerate();
        let read: Vec<_> = numbered.map(|(number, (site, places))| self.read(site, (number, places))).collect();
        let read = read.into_iter().collect::<Option<Vec<_>>>()?;
        let scripts = scripts.into_iter().collect::<Option<Vec<_>>>()?;
        let (sites, others): (Vec<_>, Vec<_>) =
            read.into_iter().map(|((site, policy), upstreams)| (site, (policy, upstreams))).unzip();
        // With addresses of their own, sites may have the same hosts.
        if self.listeners.own.is_empty() {
            self.noted(check_hosts(&sites).map_err(|error| of_router(error, &places)))?;
        }
        let (mut independent, mut together, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let properties = scripts.into_iter().zip(have_pages).zip(others);
        for (number, (site, ((scripts, has_pages), (policy, upstreams)))) in
            sites.into_iter().zip(properties).enumerate()
        {
            let hosts = site.hosts.clone();
            let parts = SiteParts { site, policy, scripts, has_pages };
            let Some((text, facts)) = independence.of(number) else {
                self.proxying.add_used(upstreams);
                together.push(parts);
                numbers.push(number);
                continue;
            };
            let site = site_of_found_host(parts, &trusted(self.trust));
            let site = self.noted(site.map_err(|error| of_router(error.of_some(&[number]), &places)))?;
            independent.push(ReadSite { text, hosts, site, facts, upstreams });
        }
        let elsewhere = independence.hosts_elsewhere();
        let handler = site_by_address(self.listeners, together, &elsewhere, &trusted(self.trust));
        let handler = handler.map_err(|error| of_router(error.of_some(&numbers), &places));
        Some(RoutedSites { together: self.noted(handler)?, independent })
    }

    /// A site, and the upstreams without a name that it uses.
    fn read(&self, site: SiteTable, numbered: (usize, &SitePlaces)) -> Option<(SiteAndPolicy, BTreeSet<Arc<str>>)> {
        let of_others = self.proxying.take_used();
        let read = self.site(site, numbered);
        let upstreams = self.proxying.take_used();
        self.proxying.add_used(of_others);
        read.map(|site| (site, upstreams))
    }

    fn site(&self, table: SiteTable, (number, places): (usize, &SitePlaces)) -> Option<SiteAndPolicy> {
        let names = capture_names(&table);
        let found = internal::problems(&table).into_iter().chain(error_routes::problems(&table));
        found.for_each(|problem| self.problems.add(problem));
        let SiteTable { settings, header_rules, log, policy, access, content, place } = table;
        let host = settings.hosts.iter().flatten().next();
        let name = host.map_or("*", String::as_str).to_owned();
        let scope = host.map_or(self.scope.clone(), |host| self.scope.of_site(host));
        let logs = self.logs.inside(self.root_logs, log.access_log.as_ref(), &scope, names, &place);
        let trusted = content.trust().map(trusted);
        let hosts = self.reading().hosts(settings.hosts, &place.key("hosts"));
        let headers = self.headers(&scope).changes(&settings.headers, &header_rules, &place);
        let surroundings = self.policies(&scope).policy(&RoutePolicy::default(), &policy, &place);
        let guard = self.access.guard(None, &access, &name, &place);
        let surroundings = surroundings.zip(guard).map(|(policy, guard)| Arc::new(RoutePolicy { guard, ..policy }));
        let (compression, is_written) = (policy.compress.as_ref(), content.is_written());
        let rewriting = self.rewriting(content.proxy(), content.trust(), &scope, &place);
        let action = match content {
            SiteContent::App(app) => self.app(*app, false, &place.key("app")),
            SiteContent::Cgi(cgi) => self.cgi(*cgi, std::iter::once(EVERYTHING), &place.key("cgi")),
            SiteContent::Files(files) => self.only_files(*files, compression, &name, &place.key("files")),
            SiteContent::Proxy(proxy) => self.proxy(*proxy, ProxyScopes::of_site(&scope), &place.key("proxy")),
            SiteContent::Php(php) => self.only_php(*php, ProxyScopes::of_site(&scope), &name, &place.key("php")),
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
                let routes = self.routes(routes, headers.as_ref(), outside, (number, places));
                let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
                let number = self.numbers.site(logs);
                let site = Site { hosts: hosts?, headers, request_headers, routes: routes?, number };
                return Some((site, surroundings?));
            }
        };
        let (action, surroundings) = (action?, surroundings?);
        let inner = self.bodies.enforced(BodyReader { limit: policy.max_body, is_written }, Arc::clone(&surroundings));
        let numbered = NumberedRoute { site: name, path: EVERYTHING.to_owned(), trusted, logs: Rc::clone(&logs) };
        let cache = self.caching.cache(&action, (policy.cache.as_ref(), &place), (None, &place), EVERYTHING)?;
        let mirror = self.mirror(policy.mirror.as_ref(), (&numbered.site, EVERYTHING), &place)?;
        let phases = PhaseSettings { policy: inner, cache, mirror, rewriting: rewriting?, ..PhaseSettings::default() };
        let (action, answering) = in_phases(action, phases, EVERYTHING);
        let mark = self.numbers.mark(numbered, &action);
        let routes = vec![Route { mark, answering, ..Route::new(self.reading().text(EVERYTHING, &place)?, action) }];
        let number = self.numbers.site(logs);
        let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
        Some((Site { hosts: hosts?, headers, request_headers, routes, number }, surroundings))
    }

    /// The routes of a site with these headers, in their order.
    fn routes(
        &self,
        tables: Vec<RouteTable>,
        headers: Option<&HeaderMeaning>,
        site: SiteOfRoute<'_>,
        numbered: (usize, &SitePlaces),
    ) -> Option<Vec<Route<RouteHandler>>> {
        let are_internal: Vec<_> = tables.iter().map(|route| route.settings.internal).collect();
        let (inside, outside): (Vec<_>, Vec<_>) = tables.into_iter().partition(|route| route.settings.internal);
        let (internal, inside) = self.internal_routes(inside, headers, site, numbered)?;
        let site = SiteOfRoute { internal: internal.as_ref(), ..site };
        let scopes = DavScopes::of(&outside);
        let outside = outside.into_iter().zip(scopes.iter());
        let outside: Vec<_> = outside.map(|(route, dav)| self.route(route, SiteOfRoute { dav, ..site })).collect();
        let outside = outside.into_iter().collect::<Option<Vec<_>>>();
        scopes.settle(outside.as_deref(), self.problems);
        let (mut inside, mut outside) = (inside.into_iter(), outside?.into_iter());
        let in_order = |is_internal: bool| if is_internal { inside.next() } else { outside.next() };
        Some(are_internal.into_iter().filter_map(in_order).collect())
    }

    /// The internal routes of a site with these headers: those that responses lead to, and the same for the router of the site,
    /// whose requests have passed no guard yet.
    fn internal_routes(
        &self,
        tables: Vec<RouteTable>,
        headers: Option<&HeaderMeaning>,
        site: SiteOfRoute<'_>,
        (number, places): (usize, &SitePlaces),
    ) -> Option<(Option<InternalRoutes>, Vec<Route<RouteHandler>>)> {
        if tables.is_empty() {
            return Some((None, Vec::new()));
        }
        let roots = internal_roots::roots(&tables, self.folder);
        let routes: Vec<_> = tables.into_iter().map(|route| self.route(route, site)).collect();
        let routes = routes.into_iter().collect::<Option<Vec<_>>>()?;
        let guarded = routes.iter().map(|route| guarded(route, site.policy)).collect();
        // The route whose response leads to an internal one has noted its own number.
        let routes = routes.into_iter().map(|route| Route { internal: false, mark: None, ..route }).collect();
        let HeaderMeaning { responses: headers, requests: request_headers } = HeaderMeaning::clone(headers?);
        let router =
            Router::of_internal(vec![Site { hosts: Vec::new(), headers, request_headers, routes, number: None }]);
        let router = self.noted(router.map_err(|error| places.of_internal(error, number)))?;
        let internal = InternalRoutes::new(router.with_trusted(trusted(self.trust)), roots, Arc::clone(site.policy));
        Some((Some(internal), guarded))
    }

    fn policies<'s>(&'s self, scope: &'s Scope) -> Policies<'s> {
        Policies { scope, folder: self.folder, problems: self.problems }
    }

    fn reading(&self) -> RouteReading<'_> {
        RouteReading { problems: self.problems }
    }

    fn headers<'s>(&'s self, scope: &'s Scope) -> HeaderReading<'s> {
        HeaderReading { scope, problems: self.problems }
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
        Action::Restart(target) => (Action::Restart(target), None),
    }
}

/// An internal route whose requests pass the guard of the site's policy.
fn guarded(route: &Route<RouteHandler>, policy: &Arc<RoutePolicy>) -> Route<RouteHandler> {
    let behind = |handler: &RouteHandler| handler.behind(policy.guard.as_ref());
    let action = match &route.action {
        Action::Handle(handler) => Action::Handle(behind(handler)),
        Action::Try(handler) => Action::Try(behind(handler)),
        action => action.clone(),
    };
    Route { action, answering: route.answering.as_ref().map(behind), ..route.clone() }
}

/// The path of the only route of a site that has one handler.
const EVERYTHING: &str = "/*";
