//! All sites, and what a request comes to.

use std::borrow::Cow;

use serow_message::{ClientTarget, Request, RequestClient, Response, StatusCode, Target, TargetForm, TrustedProxies};
use serow_variables::{
    Source,
    clean_path::{self, Room},
};

use crate::{
    conflicts,
    error::RouterError,
    fixed_response::FixedResponse,
    header_changes::HeaderChanges,
    routed_path::RoutedPath,
    routes::{Kept, Missed, Outcome, Routes, Start, Taken},
    site::Site,
    site_index::SiteIndex,
    variable_outcome::Filled,
};

/// All sites, as all clones of a router share them.
#[derive(Debug)]
pub(crate) struct Table {
    index: SiteIndex,
    sites: Vec<Routes>,
    /// The hosts of each site, as they are written.
    pub(crate) hosts: Vec<Vec<String>>,
    /// Hosts that are not found here, for those who look for theirs.
    pub(crate) hosts_elsewhere: HostsElsewhere,
    /// The proxies whose word about the client of a request is taken.
    pub(crate) trusted: TrustedProxies,
    misdirected: FixedResponse,
    not_implemented: FixedResponse,
}

/// Hosts of a server whose requests do not come to a router.
#[derive(Clone, Debug, Default)]
pub struct HostsElsewhere {
    /// Some of them, as they are written.
    pub some: Vec<String>,
    /// How many there are.
    pub count: usize,
}

/// The destination of a request.
#[derive(Debug)]
pub(crate) enum Decision<'a> {
    /// To this answer, which the handler of this number passes on.
    Answer { response: Response, handler: Option<usize> },
    /// The response of this number that the router keeps, likewise.
    Respond { number: usize, handler: Option<usize> },
    /// To the handler of this number, whose response gets these changes.
    Handle { handler: usize, headers: Cow<'a, HeaderChanges> },
    /// To the handler of this number if it can answer, and otherwise where [`Table::resume`] decides.
    Try { handler: usize, headers: Cow<'a, HeaderChanges>, next: Next },
}

/// Where a request goes on that a handler has not answered.
#[derive(Clone, Debug)]
pub(crate) struct Next {
    site: usize,
    start: Start,
    /// The target that it goes on with, where the handler had another one.
    restored: Option<Target>,
}

impl Next {
    fn of_site(site: usize, start: Start) -> Self {
        Self { site, start, restored: None }
    }
}

impl Table {
    /// The table, and the handlers of its routes, in their order; `is_internal` if no client reaches them by a path.
    pub(crate) fn new<H>(sites: Vec<Site<H>>, is_internal: bool) -> Result<(Self, Kept<H>), RouterError> {
        let index = SiteIndex::new(&sites)?;
        Self::with_index(index, sites, is_internal)
    }

    /// The same for one site, whose requests were found by their hosts already.
    pub(crate) fn of_found_host<H>(site: Site<H>) -> Result<(Self, Kept<H>), RouterError> {
        Self::with_index(SiteIndex::of_one(), vec![site], false)
    }

    fn with_index<H>(index: SiteIndex, sites: Vec<Site<H>>, is_internal: bool) -> Result<(Self, Kept<H>), RouterError> {
        for (number, site) in sites.iter().enumerate() {
            conflicts::check(number, &site.routes)?;
        }
        let of_site = |site: &Site<H>| site.hosts.iter().map(ToString::to_string).collect();
        let hosts = sites.iter().map(of_site).collect();
        let mut kept = Kept::default();
        let sites: Vec<Routes> = sites.into_iter().map(|site| Routes::new(site, &mut kept)).collect();
        for (site, routes) in sites.iter().enumerate() {
            if let Some(route) = routes.endless_redirect().filter(|_| !is_internal) {
                return Err(RouterError::Loop { site, route });
            }
            if let Some(route) = routes.endless_restart() {
                return Err(RouterError::RestartLoop { site, route });
            }
        }
        let misdirected = FixedResponse::of(StatusCode::MISDIRECTED_REQUEST);
        let not_implemented = FixedResponse::of(StatusCode::NOT_IMPLEMENTED);
        let trusted = TrustedProxies::default();
        let hosts_elsewhere = HostsElsewhere::default();
        Ok((Self { index, sites, hosts, hosts_elsewhere, trusted, misdirected, not_implemented }, kept))
    }

    /// Whether requests for a host come to a site.
    pub(crate) fn serves(&self, host: &str) -> bool {
        self.index.find(Some(host)).is_some()
    }

    /// Decides what a request comes to, and gives it the path that rewrites made.
    pub(crate) fn decide(&self, request: &mut Request, client: &RequestClient<'_>) -> Decision<'_> {
        // CONNECT names no path, but another server: this is no proxy.
        if request.target.form() == TargetForm::Authority {
            return Decision::refusal(self.not_implemented.response());
        }
        match self.index.find(request.host()) {
            Some(site) => self.resume(Next::of_site(site, Start::default()), request, client),
            None => Decision::refusal(self.misdirected.response()),
        }
    }

    /// As [`Self::decide`], among internal routes as well, and if there is a name, among those of this name.
    pub(crate) fn decide_inside(
        &self,
        name: Option<&str>,
        request: &mut Request,
        client: &RequestClient<'_>,
    ) -> Option<Decision<'_>> {
        let Some(site) = self.site_of(request) else { return Some(self.decide(request, client)) };
        let number = match name {
            None => None,
            Some(name) => Some(self.sites.get(site)?.number_of(name)?),
        };
        let start = Start { name: number, is_inside: true, ..Start::default() };
        Some(self.resume(Next::of_site(site, start), request, client))
    }

    /// As [`Self::decide`], among the routes of this name; nothing if the site of the request has none.
    pub(crate) fn decide_named(
        &self,
        name: &str,
        request: &mut Request,
        client: &RequestClient<'_>,
    ) -> Option<Decision<'_>> {
        let Some(site) = self.site_of(request) else { return Some(self.decide(request, client)) };
        let number = self.sites.get(site)?.number_of(name)?;
        let start = Start { name: Some(number), ..Start::default() };
        Some(self.resume(Next::of_site(site, start), request, client))
    }

    /// The number of the site that a request is for.
    pub(crate) fn site_of(&self, request: &Request) -> Option<usize> {
        if request.target.form() == TargetForm::Authority {
            return None;
        }
        self.index.find(request.host())
    }

    /// Decides what a request comes to from some route on.
    pub(crate) fn resume(&self, next: Next, request: &mut Request, client: &RequestClient<'_>) -> Decision<'_> {
        let Some(routes) = self.sites.get(next.site) else {
            return Decision::refusal(self.misdirected.response());
        };
        let name = next.start.name;
        decide_within(routes, next, request, client)
            .unwrap_or_else(|missed| Decision::refusal(routes.refuse(missed, name, request, client)))
    }
}

impl Decision<'_> {
    /// An answer of no route.
    fn refusal(response: Response) -> Self {
        Self::Answer { response, handler: None }
    }
}

fn decide_within<'a>(
    routes: &'a Routes,
    mut next: Next,
    request: &mut Request,
    client: &RequestClient<'_>,
) -> Result<Decision<'a>, Missed> {
    if let Some(target) = next.restored.take() {
        request.target = target;
    }
    let mut room = Room::new();
    let asked = clean_path::of(&request.target, &mut room)?;
    let Taken { route, pattern, outcome, path, start } = routes.find(asked, request, client, next.start)?;
    let own = routes.rewritten(route, &path, pattern, request, client)?;
    let answered = |response| Ok(Decision::Answer { response, handler: routes.answering(route) });
    let start = Start { route: route + 1, ..start };
    Ok(match outcome {
        Outcome::Handle { handler, headers } => {
            Targets::of(request, &path, own.as_ref())?.give(request);
            Decision::Handle { handler: *handler, headers: Cow::Borrowed(headers) }
        }
        Outcome::Try { handler, headers } => {
            let restored = Targets::of(request, &path, own.as_ref())?.give(request);
            let next = Next { start, restored, ..next };
            Decision::Try { handler: *handler, headers: Cow::Borrowed(headers), next }
        }
        Outcome::Respond(number) => Decision::Respond { number: *number, handler: routes.answering(route) },
        Outcome::Redirect { redirect, headers } => {
            let captures = pattern.captures(path.as_bytes());
            let mut response = redirect.response(&Source { captures: &captures, ..path.source(request, client) });
            headers.apply(response.status, &mut response.headers);
            return answered(response);
        }
        Outcome::Variable(outcome) => {
            let filled = outcome.fill((&path, own.as_ref()), pattern, request, client);
            let restored = Targets::of(request, &path, own.as_ref())?.give(request);
            match filled {
                Filled::Answer(response) => return answered(response),
                Filled::Handle { handler, headers, request_headers } => {
                    request_headers.apply_to_request(&mut request.headers);
                    Decision::Handle { handler, headers: Cow::Owned(headers) }
                }
                Filled::Try { handler, headers } => {
                    Decision::Try { handler, headers: Cow::Owned(headers), next: Next { start, restored, ..next } }
                }
            }
        }
    })
}

/// The targets of a request at a route.
struct Targets {
    /// The one that the handler gets, where a rewrite made it.
    given: Option<Target>,
    /// The one that the routes behind an attempt get, if it is another.
    restored: Option<Target>,
}

impl Targets {
    /// Those of a request with this path at a route whose handler may get a path of its own.
    fn of(request: &Request, path: &RoutedPath<'_>, own: Option<&RoutedPath<'_>>) -> Result<Self, Missed> {
        let given = match path {
            RoutedPath::Asked(_) => None,
            path => Some(path.in_target(&request.target)?),
        };
        let Some(own) = own else { return Ok(Self { given, restored: None }) };
        let restored = given.unwrap_or_else(|| request.target.clone());
        Ok(Self { given: Some(own.in_target(&restored)?), restored: Some(restored) })
    }

    /// Gives the request to the handler, and returns what to restore.
    fn give(self, request: &mut Request) -> Option<Target> {
        if let Some(target) = self.given {
            ClientTarget::rewrite(request, target);
        }
        self.restored
    }
}
