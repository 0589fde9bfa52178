//! The request that the values of variables are taken from.

use serow_message::{Connection, Headers, Method, Request, RequestHead, Target, Version};

/// The request that the values of variables are taken from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The connection it came on.
    pub connection: &'a Connection,
    /// Its method.
    pub method: &'a Method,
    /// Its target, as it came.
    pub target: &'a Target,
    /// The version of HTTP.
    pub version: Version,
    /// Its fields.
    pub headers: &'a Headers,
    /// `$uri`: its path, in a route decoded, cleaned and perhaps rewritten.
    pub path: &'a [u8],
    /// Its query, perhaps rewritten.
    pub query: Option<&'a str>,
    /// What the stars or groups of the route's path matched, from `$1` on.
    pub captures: &'a [&'a [u8]],
}

impl<'a> Source<'a> {
    /// A request at a route, which sees this path.
    #[must_use]
    #[inline]
    pub fn of(request: &'a Request, path: &'a [u8]) -> Self {
        Self {
            connection: request.connection(),
            method: &request.method,
            target: &request.target,
            version: request.version,
            headers: &request.headers,
            path,
            query: request.target.query(),
            captures: &[],
        }
    }

    /// A request of which only the head is left, as the access log has it. Its path is the one that was asked for.
    #[must_use]
    pub fn of_head(head: &'a RequestHead, connection: &'a Connection) -> Self {
        Self {
            connection,
            method: &head.method,
            target: &head.target,
            version: head.version,
            headers: &head.headers,
            path: head.target.path_bytes(),
            query: head.target.query(),
            captures: &[],
        }
    }
}
