//! The numbers of routes, by which the access log knows which of them handled a request.

use std::{cell::RefCell, collections::BTreeSet};

use serow_proxy::TrustedProxies;
use serow_router::Action;
use serow_site::RouteHandler;

use crate::{
    tables::{
        handlers::HandlerTable,
        sites::{SiteContent, SiteTable},
    },
    values::NetworkRule,
};

/// What is known of a route by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumberedRoute {
    /// The first host of its site; `*` for a site without hosts.
    pub(crate) site: String,
    /// The path, as it is written.
    pub(crate) path: String,
    /// The proxies that it trusts, if these are not those of the root.
    pub(crate) trusted: Option<TrustedProxies>,
}

/// Numbers routes in the order of the file, if anything needs the numbers: requests whose route is not noted cost less.
#[derive(Debug)]
pub(crate) struct RouteNumbers {
    are_needed: bool,
    routes: RefCell<Vec<NumberedRoute>>,
}

impl RouteNumbers {
    /// The numbers that these sites need; all of them, if their requests are counted.
    pub(crate) fn new(are_counted: bool, sites: &[SiteTable]) -> Self {
        let are_needed = are_counted || sites.iter().any(SiteTable::has_own_trust);
        Self { are_needed, routes: RefCell::default() }
    }

    /// The action of a route, whose handler notes its number.
    pub(crate) fn number(&self, route: NumberedRoute, action: Action<RouteHandler>) -> Action<RouteHandler> {
        if !self.are_needed || !matches!(action, Action::Handle(_) | Action::Try(_)) {
            return action;
        }
        let mut routes = self.routes.borrow_mut();
        // No file of the size that is read has as many.
        let number = u32::try_from(routes.len()).unwrap_or(u32::MAX);
        routes.push(route);
        let noted = |handler| RouteHandler::Noted { number, handler: Box::new(handler) };
        match action {
            Action::Handle(handler) => Action::Handle(noted(handler)),
            Action::Try(handler) => Action::Try(noted(handler)),
            other => other,
        }
    }

    /// The proxies that routes trust, by their numbers; empty if all trust those of the root.
    pub(crate) fn trusted(&self) -> Vec<Option<TrustedProxies>> {
        let routes = self.routes.borrow();
        if routes.iter().all(|route| route.trusted.is_none()) {
            return Vec::new();
        }
        routes.iter().map(|route| route.trusted.clone()).collect()
    }

    /// The routes whose requests are counted, by their numbers. Those with the path of an earlier one of their site have a
    /// number behind it, since labels identify them.
    pub(crate) fn counted(&self) -> Vec<CountedRoute> {
        let mut given = BTreeSet::new();
        let routes = self.routes.borrow();
        let named = routes.iter().take(MAX_COUNTED).map(|route| {
            let numbered = (2..).map(|number| format!("{}#{number}", route.path));
            let mut paths = std::iter::once(route.path.clone()).chain(numbered);
            let path = paths.find(|path| given.insert((route.site.clone(), path.clone()))).unwrap_or_default();
            CountedRoute { site: route.site.clone(), path }
        });
        named.collect()
    }
}

/// A route whose requests are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedRoute {
    /// The first host of its site; `*` for a site without hosts.
    pub site: String,
    /// Its path as it is written, with a number behind it if an earlier route of the site has the same.
    pub path: String,
}

/// Each has about 15 series in a collector of metrics, which suffers from too many of them.
const MAX_COUNTED: usize = 1_000;

/// The proxies that a list names.
pub(crate) fn trusted(networks: &[NetworkRule]) -> TrustedProxies {
    networks.iter().map(|network| network.0).collect()
}

impl SiteTable {
    /// Whether one of its routes trusts other proxies than the root says.
    fn has_own_trust(&self) -> bool {
        match &self.content {
            SiteContent::Routes(routes) => routes.iter().any(|route| route.handler.trust().is_some()),
            content => content.trust().is_some(),
        }
    }
}

impl SiteContent {
    /// The proxies that the only handler trusts, if they are given.
    pub(crate) fn trust(&self) -> Option<&[NetworkRule]> {
        match self {
            Self::App(app) => app.arguments.trust.as_deref(),
            Self::Proxy(proxy) => proxy.forwarding.trust.as_deref(),
            Self::Files(_) | Self::Routes(_) => None,
        }
    }
}

impl HandlerTable {
    /// The proxies that the handler trusts, if they are given.
    pub(crate) fn trust(&self) -> Option<&[NetworkRule]> {
        match self {
            Self::App(app) => app.arguments.trust.as_deref(),
            Self::Proxy(proxy) => proxy.forwarding.trust.as_deref(),
            Self::Files(_) | Self::Redirect(_) | Self::Respond(_) | Self::Rewrite(_) => None,
        }
    }
}
