//! The handler: a request goes to the route that fits it.

use std::{future::Future, sync::Arc};

use serow_message::{Handler, Request, Response};

use crate::{
    error::RouterError,
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

impl<H: Handler> Router<H> {
    /// Makes a router of sites.
    ///
    /// # Errors
    ///
    /// Sites and routes that could never be reached, or that contradict themselves: see [`RouterError`].
    pub fn new(sites: Vec<Site<H>>) -> Result<Self, RouterError> {
        let (table, handlers) = Table::new(sites)?;
        Ok(Self { table: Arc::new(table), handlers })
    }
}

impl<H: Handler> Handler for Router<H> {
    #[inline]
    fn call(&self, mut request: Request) -> impl Future<Output = Response> + 'static {
        let turn = match self.table.decide(&mut request) {
            Decision::Answer(response) => Ok(response),
            // The table numbers the handlers that are kept here.
            Decision::Handle { handler, headers } => Err((self.handlers[handler].call(request), headers)),
        };
        async move {
            match turn {
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
