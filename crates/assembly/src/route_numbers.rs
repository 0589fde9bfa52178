//! The numbers of routes, by which the access log knows which of them handled a request.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc, sync::Arc};

use serow_access_log::LogRule;
use serow_config::{tables::sites::SiteTable, values::NetworkRule};
use serow_proxy::TrustedProxies;
use serow_router::{Action, RouteMark};
use serow_site::CountedRoute;

use crate::logs::PlacedLogs;

/// The properties of a route that are found by its number.
#[derive(Debug, Clone)]
pub(crate) struct NumberedRoute {
    /// The first host of its site; `*` for a site without hosts.
    pub(crate) site: String,
    /// The path, as it is written.
    pub(crate) path: String,
    /// The proxies that it trusts, if these are not those of the root.
    pub(crate) trusted: Option<TrustedProxies>,
    /// Its access logs.
    pub(crate) logs: Rc<PlacedLogs>,
}

/// Numbers routes in the order of the file, if anything needs the numbers: requests whose route is not noted cost less.
///
/// Behind those that hand requests to an application, a folder or other servers, which metrics count, come the others,
/// and the sites themselves for requests that no route takes.
#[derive(Debug)]
pub(crate) struct RouteNumbers {
    are_needed: bool,
    routes: RefCell<Vec<NumberedRoute>>,
    /// How many of those there are in the file.
    count: usize,
    others: RefCell<Vec<Rc<PlacedLogs>>>,
}

impl RouteNumbers {
    /// The numbers that these sites need; all of them, if something else needs them as well.
    pub(crate) fn new(are_needed: bool, sites: &[SiteTable]) -> Self {
        let has_logs = |site: &SiteTable| site.logs().next().is_some();
        let are_needed = are_needed || sites.iter().any(|site| site.has_own_trust() || has_logs(site));
        let count = sites.iter().map(SiteTable::handlers).sum();
        Self { are_needed, routes: RefCell::default(), count, others: RefCell::default() }
    }

    /// Whether anything needs the numbers.
    pub(crate) fn are_needed(&self) -> bool {
        self.are_needed
    }

    /// The number of a route with this action, and what it notes.
    pub(crate) fn mark<H>(&self, route: NumberedRoute, action: &Action<H>) -> Option<RouteMark> {
        let has_captures = route.logs.reads_captures();
        let number = match action {
            Action::Handle(_) | Action::Try(_) => {
                let mut routes = self.routes.borrow_mut();
                routes.push(route);
                routes.len() - 1
            }
            Action::Redirect(_) | Action::Respond(_) => self.other(route.logs),
            Action::Rewrite(_) | Action::Restart(_) => return None,
        };
        self.are_needed.then_some(RouteMark { number: as_number(number), has_captures })
    }

    /// The number of a site, for requests that no route of it takes.
    pub(crate) fn site(&self, logs: Rc<PlacedLogs>) -> Option<u32> {
        let number = self.other(logs);
        self.are_needed.then_some(as_number(number))
    }

    fn other(&self, logs: Rc<PlacedLogs>) -> usize {
        let mut others = self.others.borrow_mut();
        others.push(logs);
        self.count + others.len() - 1
    }

    /// The access logs by numbers; empty if all are those of the root.
    pub(crate) fn logs(&self, root: &Arc<[LogRule]>) -> Vec<Option<Arc<[LogRule]>>> {
        let (routes, others) = (self.routes.borrow(), self.others.borrow());
        let logs = routes.iter().map(|route| &route.logs).chain(&*others).map(|logs| Arc::clone(&logs.rules));
        let logs: Vec<_> = logs.map(|rules| Some(rules).filter(|rules| !Arc::ptr_eq(rules, root))).collect();
        if logs.iter().all(Option::is_none) { Vec::new() } else { logs }
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

/// Each has about 15 series in a collector of metrics, which suffers from too many of them.
const MAX_COUNTED: usize = 1_000;

/// No file of the size that is read has as many.
fn as_number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The proxies that a list names.
pub(crate) fn trusted(networks: &[NetworkRule]) -> TrustedProxies {
    networks.iter().map(|network| network.0).collect()
}
