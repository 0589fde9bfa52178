//! The path of a request at a route, after the rewrites before it.

use serow_message::{Request, RequestClient, Target, percent::encode_path};
use serow_variables::{Source, clean_path::NoPath};

/// The clean path of a request at a route.
#[derive(Debug)]
pub(crate) enum RoutedPath<'request> {
    /// As it was asked for.
    Asked(&'request [u8]),
    /// As a rewrite before the route made it.
    Rewritten(Vec<u8>),
    /// As a rewrite made it that has a query, too: the path and the query.
    WithQuery(Box<(Vec<u8>, String)>),
}

impl RoutedPath<'_> {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Asked(path) => path,
            Self::Rewritten(path) => path,
            Self::WithQuery(both) => &both.0,
        }
    }

    /// Another path with the same query.
    pub(crate) fn replaced(self, made: Vec<u8>) -> Self {
        match self {
            Self::Asked(_) | Self::Rewritten(_) => Self::Rewritten(made),
            Self::WithQuery(both) => Self::WithQuery(Box::new((made, both.1))),
        }
    }

    /// The query that a rewrite made.
    pub(crate) fn query(&self) -> Option<&str> {
        match self {
            Self::Asked(_) | Self::Rewritten(_) => None,
            Self::WithQuery(both) => Some(&both.1),
        }
    }

    /// The request with this path, for variables.
    pub(crate) fn source<'a>(&'a self, request: &'a Request, client: &'a RequestClient<'a>) -> Source<'a> {
        let source = Source::of(request, self.as_bytes());
        let query = match self.query() {
            None => source.query,
            // A rewrite to `/path?` leaves the query out.
            Some(made) => Some(made).filter(|made| !made.is_empty()),
        };
        Source { query, client: Some(client), ..source }
    }

    /// The target of a request with this path, and the query that rewrites made.
    pub(crate) fn in_target(&self, target: &Target) -> Result<Target, NoPath> {
        let mut encoded = Vec::with_capacity(self.as_bytes().len() + 16);
        encode_path(self.as_bytes(), &mut encoded);
        let target = target.with_path(&encoded).map_err(|_| NoPath)?;
        match self.query() {
            None => Ok(target),
            Some(query) => target.with_query(query).map_err(|_| NoPath),
        }
    }
}

#[cfg(test)]
mod tests {
    use serow_message::{Body, Connection, Headers, Method, Peer, RequestHead, Scheme, TrustedProxies, Version};

    use super::*;

    #[test]
    fn a_rewrite_without_a_query_leaves_out_that_of_the_client() {
        let target = Target::parse("/a?b=c".into(), false).unwrap();
        let head = RequestHead { method: Method::GET, target, version: Version::HTTP_11, headers: Headers::new() };
        let connection = Connection::new(Peer::Tcp("192.0.2.1:1".parse().unwrap()), None, Scheme::Http);
        let request = Request::new(head, Body::empty(), connection);
        let trusted = TrustedProxies::default();
        let client = RequestClient::new(&trusted);
        for (path, query) in [
            (RoutedPath::Asked(b"/a"), Some("b=c")),
            (RoutedPath::Rewritten(b"/d".to_vec()), Some("b=c")),
            (RoutedPath::WithQuery(Box::new((b"/d".to_vec(), "e=f".to_owned()))), Some("e=f")),
            (RoutedPath::WithQuery(Box::new((b"/d".to_vec(), String::new()))), None),
        ] {
            assert_eq!(path.source(&request, &client).query, query, "{path:?}");
        }
    }
}
