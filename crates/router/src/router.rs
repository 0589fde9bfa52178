//! The handler: a request goes to the route that fits it.

use std::{borrow::Cow, future::Future, sync::Arc};

use serow_message::{Handler, Request, RequestClient, Response, TrustedProxies};

use crate::{
    error::RouterError,
    header_changes::HeaderChanges,
    routes::Kept,
    site::Site,
    table::{Decision, HostsElsewhere, Table},
};

/// A [`Handler`] that gives each request to the route that fits it: see [the crate](crate).
///
/// Clones share the sites and have their own clones of the handlers.
#[derive(Clone, Debug)]
pub struct Router<H> {
    table: Arc<Table>,
    kept: Kept<H>,
}

impl<H> Router<H> {
    /// Makes a router of sites.
    ///
    /// # Errors
    ///
    /// Sites and routes that could never be reached, or that contradict themselves: see [`RouterError`].
    pub fn new(sites: Vec<Site<H>>) -> Result<Self, RouterError> {
        let (table, kept) = Table::new(sites, false)?;
        Ok(Self { table: Arc::new(table), kept })
    }

    /// A router for internal routes, to which responses of others lead: a client that one of them redirects to a path comes
    /// to the other routes.
    ///
    /// # Errors
    ///
    /// As for [`Self::new`], except redirects that would lead to themselves.
    pub fn of_internal(sites: Vec<Site<H>>) -> Result<Self, RouterError> {
        let (table, kept) = Table::new(sites, true)?;
        Ok(Self { table: Arc::new(table), kept })
    }

    /// A router for one site, whose requests are found by their hosts before.
    ///
    /// # Errors
    ///
    /// As for [`Self::new`]; the number of the site is 0.
    pub fn of_found_host(site: Site<H>) -> Result<Self, RouterError> {
        let (table, kept) = Table::of_found_host(site)?;
        Ok(Self { table: Arc::new(table), kept })
    }

    /// Names hosts whose requests come elsewhere, for those who look for theirs. Call it before the router is cloned.
    #[must_use]
    pub fn with_hosts_elsewhere(mut self, hosts: HostsElsewhere) -> Self {
        if let Some(table) = Arc::get_mut(&mut self.table) {
            table.hosts_elsewhere = hosts;
        }
        self
    }

    /// Hosts whose requests come elsewhere.
    #[must_use]
    pub fn hosts_elsewhere(&self) -> &HostsElsewhere {
        &self.table.hosts_elsewhere
    }

    /// Trusts these proxies to name the client and its scheme, for conditions and variables. Without them, the client is
    /// the peer of the connection. Call it before the router is cloned.
    #[must_use]
    pub fn with_trusted(mut self, trusted: TrustedProxies) -> Self {
        if let Some(table) = Arc::get_mut(&mut self.table) {
            table.trusted = trusted;
        }
        self
    }

    /// The proxies that may name the client.
    #[must_use]
    pub fn trusted(&self) -> &TrustedProxies {
        &self.table.trusted
    }

    /// Finds the route of a request, and rewrites the request as the route says. `attempt` has the handler of an
    /// [`Action::Try`](crate::Action::Try) answer, if it can; without a response, the request goes on to the next routes.
    #[inline]
    pub fn route(&self, request: &mut Request, attempt: impl FnMut(&H, &Request) -> Option<Response>) -> Routed<'_, H> {
        let client = RequestClient::new(&self.table.trusted);
        let decision = self.table.decide(request, &client);
        self.follow(decision, request, &client, attempt)
    }

    /// As [`Self::route`], among the routes of this name only; nothing if the site of the request has none.
    pub fn route_named(
        &self,
        name: &str,
        request: &mut Request,
        attempt: impl FnMut(&H, &Request) -> Option<Response>,
    ) -> Option<Routed<'_, H>> {
        let client = RequestClient::new(&self.table.trusted);
        let decision = self.table.decide_named(name, request, &client)?;
        Some(self.follow(decision, request, &client, attempt))
    }

    /// As [`Self::route`], or as [`Self::route_named`] with a name, among internal routes as well.
    pub fn route_inside(
        &self,
        name: Option<&str>,
        request: &mut Request,
        attempt: impl FnMut(&H, &Request) -> Option<Response>,
    ) -> Option<Routed<'_, H>> {
        let client = RequestClient::new(&self.table.trusted);
        let decision = self.table.decide_inside(name, request, &client)?;
        Some(self.follow(decision, request, &client, attempt))
    }

    #[inline]
    fn follow<'a>(
        &'a self,
        mut decision: Decision<'a>,
        request: &mut Request,
        client: &RequestClient<'_>,
        mut attempt: impl FnMut(&H, &Request) -> Option<Response>,
    ) -> Routed<'a, H> {
        // The table numbers what is kept here.
        let Kept { handlers, responses } = &self.kept;
        let answer = |response, handler: Option<usize>| {
            let handler = handler.map(|handler| &handlers[handler]);
            Routed::Answer { response, handler }
        };
        loop {
            match decision {
                Decision::Answer { response, handler } => return answer(response, handler),
                Decision::Respond { number, handler } => return answer(responses[number].response(), handler),
                Decision::Handle { handler, headers } => {
                    return Routed::Handler { handler: &handlers[handler], headers };
                }
                Decision::Try { handler, headers, next } => {
                    if let Some(mut response) = attempt(&handlers[handler], request) {
                        headers.apply(response.status, &mut response.headers);
                        return Routed::Attempt { handler: &handlers[handler], response };
                    }
                    decision = self.table.resume(next, request, client);
                }
            }
        }
    }

    /// The hosts of each site, as they are written; none for a site that has all others.
    pub fn hosts(&self) -> impl Iterator<Item = &[String]> {
        self.table.hosts.iter().map(Vec::as_slice)
    }

    /// Whether requests for a host come to a site.
    #[must_use]
    pub fn serves(&self, host: &str) -> bool {
        self.table.serves(host)
    }

    /// The number of the site that a request is for, in the order of [`Self::new`]: for what surrounds the responses
    /// that the router itself makes. A rewritten path does not change it.
    #[must_use]
    pub fn site_of(&self, request: &Request) -> Option<usize> {
        self.table.site_of(request)
    }
}

/// The result of routing a request with a [`Router`].
#[derive(Debug)]
pub enum Routed<'a, H> {
    /// The router's own response, which is complete: a redirect, a fixed response or an error.
    Answer {
        /// The response.
        response: Response,
        /// The handler that passes it on: [`Route::answering`](crate::Route::answering).
        handler: Option<&'a H>,
    },
    /// The response of an attempt, with the changes of its route.
    Attempt {
        /// The handler.
        handler: &'a H,
        /// Its response.
        response: Response,
    },
    /// The handler of a route.
    Handler {
        /// The handler.
        handler: &'a H,
        /// The changes that the route makes to the headers of its response.
        headers: Cow<'a, HeaderChanges>,
    },
}

impl<H: Handler> Handler for Router<H> {
    /// A handler cannot say that it has no response, so requests pass each [`Action::Try`](crate::Action::Try).
    #[inline]
    fn call(&self, mut request: Request) -> impl Future<Output = Response> + 'static {
        let routed = match self.route(&mut request, |_, _| None) {
            Routed::Answer { response, .. } | Routed::Attempt { response, .. } => Ok(response),
            Routed::Handler { handler, headers } => Err((handler.call(request), headers.into_owned())),
        };
        async move {
            match routed {
                Ok(response) => response,
                Err((response, headers)) => {
                    let mut response = response.await;
                    headers.apply(response.status, &mut response.headers);
                    response
                }
            }
        }
    }
}
