//! The meaning of a route.

use std::{collections::BTreeSet, rc::Rc, sync::Arc};

use serow_config::{
    routing::{
        conditions::Matching,
        header_rules::HeaderMeaning,
        own_settings::OwnSettings,
        route_paths::{self, of_route, shown},
    },
    tables::{
        access::AccessSettings,
        compression::CompressionSetting,
        handlers::HandlerTable,
        mirror::MirrorTable,
        policies::PolicySettings,
        sites::{RouteSettings, RouteTable},
    },
    values::{Count, OrOff, Size},
};
use serow_document::{Place, Problem};
use serow_router::{Action, Route};
use serow_site::{Content, InternalRoutes, Mirror, MirrorSettings, PhaseSettings, RouteHandler, RoutePolicy};
use serow_variables::Scope;

use super::{Routing, in_phases};
use crate::{
    body_limits::BodyReader,
    dav_scopes::DavScope,
    logs::PlacedLogs,
    proxying::ProxyScopes,
    route_numbers::{NumberedRoute, trusted},
};

/// The parts of its site that a route uses.
#[derive(Clone, Copy)]
pub(super) struct SiteOfRoute<'a> {
    /// The name in metrics.
    pub(super) name: &'a str,
    /// The variables of its texts.
    pub(super) scope: &'a Scope,
    pub(super) logs: &'a Rc<PlacedLogs>,
    pub(super) settings: &'a PolicySettings,
    /// Where its settings stand.
    pub(super) place: &'a Place,
    pub(super) policy: &'a Arc<RoutePolicy>,
    /// Where responses of its handlers may lead.
    pub(super) internal: Option<&'a InternalRoutes>,
    /// Which paths are the route's, if it is a folder that clients may change.
    pub(super) dav: Option<&'a Arc<DavScope>>,
}

/// The parts of a route that its handler uses.
struct HandlerOfRoute<'a> {
    settings: &'a RouteSettings,
    /// The variables of its texts.
    scope: &'a Scope,
    compression: Option<&'a CompressionSetting>,
    /// Whether its site has internal routes.
    has_internal: bool,
    /// Whether it gets another path than that of the request.
    has_own_path: bool,
}

impl Routing<'_> {
    /// A route of this site.
    pub(super) fn route(&self, table: RouteTable, site: SiteOfRoute<'_>) -> Option<Route<RouteHandler>> {
        let RouteTable { settings, header_rules, log, policy, access, when, handler, rewrite, place } = table;
        let compression = policy.compress.as_ref().or(site.settings.compress.as_ref());
        let name = settings.paths();
        let trusted = handler.trust().map(trusted);
        let path = self.noted(route_paths::pattern(settings.path.as_ref(), &place.key("path")));
        let expression = settings.path_regex.as_deref();
        let expression = match expression.map(|text| self.reading().expression(text, &place.key("path-regex"))) {
            None => None,
            Some(expression) => Some(expression?),
        };
        let scope = match (&expression, &path) {
            (Some(expression), _) => site.scope.of_expression(expression),
            (None, Some(path)) => site.scope.of_stars(path.stars()),
            (None, None) => return None,
        };
        let logs = self.logs.inside(site.logs, log.access_log.as_ref(), &scope, BTreeSet::new(), &place);
        let matching = Matching { scope: &scope, folder: self.folder, problems: self.problems };
        let RouteSettings { path: own_path, path_regex, methods: own_methods, name: own_name, .. } = &settings;
        let matched = format!("{own_path:?} {path_regex:?} {own_methods:?} {when:?} {own_name:?}");
        let conditions = matching.conditions(expression, when.unwrap_or_default(), &place.key("when"));
        let methods = self.reading().methods(settings.methods.as_deref(), &place.key("methods"));
        let headers = self.headers(&scope).changes(&settings.headers, &header_rules, &place);
        let rewrite = self.reading().own_rewrite(rewrite.as_ref(), &scope, &place);
        let has_own_path = !matches!(rewrite, Some(None));
        let reads_body = handler.is_written();
        let (follows, has_internal) = (handler.follows(), settings.internal || site.internal.is_some());
        let shown = shown(site.name, Some(&place), &name);
        let rewriting = self.rewriting(handler.proxy(), handler.trust(), site.scope, &place);
        let parts = HandlerOfRoute { settings: &settings, scope: &scope, compression, has_internal, has_own_path };
        let action = self.action(handler, parts, site, (&shown, &place));
        let own = OwnSettings::new(&settings, &header_rules, &log, (&policy, &access));
        let action = action.and_then(|action| self.noted(own.have_effect(action, &place)));
        let surroundings = self.surroundings(&policy, &access, (settings.internal, reads_body), site, &place);
        let (action, surroundings) = (action?, surroundings?);
        let phases = PhaseSettings {
            policy: surroundings,
            scripts: self.scripting.of_route(settings.script.as_ref(), &place)?,
            rewriting: rewriting?,
            ..self.around_content(&action, &policy, (&name, &matched), (settings.internal, follows), site, &place)?
        };
        let (action, answering) = in_phases(action, phases, &of_route(Some(&place), &name));
        let numbered = NumberedRoute { site: site.name.to_owned(), path: name, trusted, logs };
        let mark = self.numbers.mark(numbered, &action);
        let HeaderMeaning { responses: headers, requests: request_headers } = headers?;
        let (path, methods, conditions, rewrite) = (path?, methods?, conditions?, rewrite?);
        let name = settings.name.map(String::into_boxed_str);
        let internal = settings.internal;
        Some(Route {
            path,
            methods,
            conditions,
            headers,
            request_headers,
            name,
            mark,
            internal,
            rewrite,
            action,
            answering,
        })
    }

    /// The action of a route with this handler; `shown` is how messages name it.
    fn action(
        &self,
        handler: HandlerTable,
        route: HandlerOfRoute<'_>,
        site: SiteOfRoute<'_>,
        (shown, place): (&str, &Place),
    ) -> Option<Action<Content>> {
        let HandlerOfRoute { settings, scope, compression, has_internal, has_own_path } = route;
        let scopes = ProxyScopes { site: site.scope, route: scope };
        match handler {
            HandlerTable::App(app) => self.app(*app, has_internal, &place.key("app")),
            HandlerTable::Cgi(cgi) => {
                // A path of its own leads to its programs without the path of the route before it.
                let paths = settings.path.iter().filter(|_| !has_own_path);
                let paths = paths.flat_map(|paths| paths.0.iter().map(String::as_str));
                self.cgi(*cgi, paths, &place.key("cgi"))
            }
            HandlerTable::Files(files) => {
                let path = settings.only_path().unwrap_or_default();
                self.files(*files, (path, site.dav), compression, (shown, &place.key("files")))
            }
            HandlerTable::Proxy(proxy) => self.proxy(*proxy, scopes, &place.key("proxy")),
            HandlerTable::Php(php) => self.php(*php, scopes, (shown, &place.key("php"))),
            HandlerTable::Redirect(redirect) => self.reading().redirect(&redirect, scope, &place.key("redirect")),
            HandlerTable::Respond(response) => self.reading().respond(response, scope, &place.key("respond")),
            HandlerTable::Rewrite(table) => self.reading().rewriting(&table, scope, place),
        }
    }

    /// The policy around a route with these settings.
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
                let surroundings = self.policies(site.scope).policy(site.policy, policy, place);
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
        if is_internal || matches!(action, Action::Rewrite(_) | Action::Restart(_)) {
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

    /// Where copies of requests go, as it is written at this place.
    pub(super) fn mirror(
        &self,
        table: Option<&MirrorTable>,
        (site, path): (&str, &str),
        place: &Place,
    ) -> Option<Option<Mirror>> {
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
}

/// A policy of an internal route: what leads there has passed the guard of its own route.
fn unguarded(policy: Arc<RoutePolicy>) -> Arc<RoutePolicy> {
    if policy.guard.is_none() { policy } else { Arc::new(RoutePolicy { guard: None, ..RoutePolicy::clone(&policy) }) }
}

/// Bytes of the longest body that is copied, unless something else is written: requests of most interfaces are shorter.
const MAX_MIRRORED: usize = 1 << 20;
