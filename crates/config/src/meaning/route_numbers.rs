//! The numbers of routes, by which the access log knows which of them handled a request.

use std::cell::RefCell;

use serow_proxy::TrustedProxies;
use serow_router::Action;
use serow_site::RouteHandler;

use crate::{
    options::GeneralOptions,
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
    /// The numbers that these sites need.
    pub(crate) fn new(_: &GeneralOptions, sites: &[SiteTable]) -> Self {
        let are_needed = sites.iter().any(SiteTable::has_own_trust);
        Self { are_needed, routes: RefCell::default() }
    }

    /// The action of a route, whose handler notes its number.
    pub(crate) fn number(&self, route: NumberedRoute, action: Action<RouteHandler>) -> Action<RouteHandler> {
        if !self.are_needed {
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

    /// All of them; none if they are not needed.
    pub(crate) fn into_routes(self) -> Vec<NumberedRoute> {
        self.routes.into_inner()
    }
}

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
