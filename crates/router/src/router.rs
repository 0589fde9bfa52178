//! The handler: a request goes to the route that fits it.

use std::{future::Future, sync::Arc};

use serow_message::{Handler, Request, Response};

use crate::{
    error::RouterError,
    header_changes::HeaderChanges,
    site::Site,
    table::{Decision, Table},
};

/// A [`Handler`] that gives each request to the route that fits it: see [the crate](crate).
///
/// Clones share the sites and have their own clones of the handlers.
#[derive(Clone, Debug)]
pub struct Router<H> {
    table: Arc<Table>,
    handlers: Vec<H>,
}

impl<H> Router<H> {
    /// Makes a router of sites.
    ///
    /// # Errors
    ///
    /// Sites and routes that could never be reached, or that contradict themselves: see [`RouterError`].
    pub fn new(sites: Vec<Site<H>>) -> Result<Self, RouterError> {
        let (table, handlers) = Table::new(sites)?;
        Ok(Self { table: Arc::new(table), handlers })
    }

    /// Finds the route of a request, and rewrites the request as the route says.
    #[inline]
    pub fn route(&self, request: &mut Request) -> Routed<'_, H> {
        match self.table.decide(request) {
            Decision::Answer(response) => Routed::Answer(response),
            // The table numbers the handlers that are kept here.
            Decision::Handle { handler, headers } => Routed::Handler { handler: &self.handlers[handler], headers },
        }
    }
}

/// What a [`Router`] found for a request.
#[derive(Debug)]
pub enum Routed<'a, H> {
    /// The router's own response: a redirect, a fixed response or an error.
    Answer(Response),
    /// The handler of a route.
    Handler {
        /// The handler.
        handler: &'a H,
        /// What the route changes in the headers of its response.
        headers: HeaderChanges,
    },
}

impl<H: Handler> Handler for Router<H> {
    #[inline]
    fn call(&self, mut request: Request) -> impl Future<Output = Response> + 'static {
        let routed = match self.route(&mut request) {
            Routed::Answer(response) => Ok(response),
            Routed::Handler { handler, headers } => Err((handler.call(request), headers)),
        };
        async move {
            match routed {
                Ok(response) => response,
                Err((response, headers)) => {
                    let mut response = response.await;
                    headers.apply(&mut response.headers);
                    response
                }
            }
        }
    }
}
