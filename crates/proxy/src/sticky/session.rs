//! The session that a request belongs to.

use std::rc::Rc;

use serow_gateway::Forwarded;
use serow_message::{Headers, Request, Scheme};

use super::Sticky;
use crate::server::Server;

/// The session that a request belongs to, until its response is there.
#[derive(Debug)]
pub(crate) struct Session {
    sticky: Rc<Sticky>,
    server: Option<u64>,
    scheme: Scheme,
}

impl Session {
    /// Finds the session, and removes the proxy's part of the cookie from the request.
    pub(crate) fn take(sticky: Rc<Sticky>, request: &mut Request, forwarded: &Forwarded) -> Self {
        let server = sticky.wanted(&request.headers);
        let scheme = forwarded.trusted.client_scheme(&request.headers, request.connection());
        sticky.prepare(&mut request.headers);
        Self { sticky, server, scheme }
    }

    /// The number of the server where it is.
    pub(crate) fn server(&self) -> Option<u64> {
        self.server
    }

    /// Whether no other server will do.
    pub(crate) fn is_bound(&self) -> bool {
        self.server.is_some() && !self.sticky.falls_back()
    }

    /// Names the server that answered in its response.
    pub(crate) fn finish(&self, headers: &mut Headers, server: &Server) {
        self.sticky.finish(headers, server, self.server, self.scheme);
    }
}
