//! The request that the values of variables are taken from.

use serow_message::{
    Claims, ClientTarget, Connection, Headers, Method, Peer, Request, RequestClient, RequestHead, RequestId, Scheme,
    Target, User, Version,
};

/// The request that the values of variables are taken from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The connection it came on.
    pub connection: &'a Connection,
    /// The client, whom a trusted proxy may name; `None` if it is the peer of the connection.
    pub client: Option<&'a RequestClient<'a>>,
    /// Its method.
    pub method: &'a Method,
    /// Its target, as the client sent it.
    pub target: &'a Target,
    /// The version of HTTP.
    pub version: Version,
    /// Its fields.
    pub headers: &'a Headers,
    /// `$uri`: its path, in a route decoded, cleaned ([`clean_path`](crate::clean_path)) and perhaps rewritten.
    pub path: &'a [u8],
    /// Its query, perhaps rewritten.
    pub query: Option<&'a str>,
    /// The texts that the stars or groups of the route's path matched, from `$1` on.
    pub captures: &'a [&'a [u8]],
    /// The claims of the client's token, if it was verified.
    pub claims: Option<&'a Claims>,
    /// The user who sends it, if the server has identified one.
    pub user: Option<&'a User>,
    /// Its id, if requests get one.
    pub id: Option<RequestId>,
}

impl<'a> Source<'a> {
    /// A request at a route, which sees this path.
    #[must_use]
    #[inline]
    pub fn of(request: &'a Request, path: &'a [u8]) -> Self {
        Self {
            connection: request.connection(),
            client: None,
            method: &request.method,
            target: ClientTarget::of(request),
            version: request.version,
            headers: &request.headers,
            path,
            query: request.target.query(),
            captures: &[],
            claims: request.extensions.get(),
            user: request.extensions.get(),
            id: RequestId::of(&request.extensions),
        }
    }

    /// A request of which only the head is left, as the access log has it. Its path is the one that was asked for.
    #[must_use]
    pub fn of_head(head: &'a RequestHead, connection: &'a Connection) -> Self {
        Self {
            connection,
            client: None,
            method: &head.method,
            target: &head.target,
            version: head.version,
            headers: &head.headers,
            path: head.target.path_bytes(),
            query: head.target.query(),
            captures: &[],
            claims: None,
            user: None,
            id: None,
        }
    }

    /// The client's address; behind a trusted proxy, its port is 0.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.client.map_or_else(|| self.connection.peer(), |client| client.peer(self.headers, self.connection))
    }

    /// The scheme of the client's own connection.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.client.map_or_else(|| self.connection.scheme(), |client| client.scheme(self.headers, self.connection))
    }
}
