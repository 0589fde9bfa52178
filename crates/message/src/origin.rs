//! The origin of a URL: scheme, host and port (RFC 6454 §4).

use std::{borrow::ToOwned, error::Error, fmt, format, str::FromStr, string::String};

use http::{Uri, uri::PathAndQuery};

use crate::Scheme;

/// The origin of a URL.
///
/// ```
/// use serow_message::Origin;
///
/// let (origin, path) = Origin::of_url("http://localhost:8080/a?b")?;
/// assert_eq!((origin.host.as_str(), origin.port, path.as_str()), ("localhost", 8080, "/a?b"));
/// assert_eq!(origin.authority(), "localhost:8080");
/// # Ok::<(), serow_message::OriginError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The scheme, which decides about TLS.
    pub scheme: Scheme,
    /// A name or an address; an IPv6 address without its brackets.
    pub host: String,
    /// The port, by default 80 or 443.
    pub port: u16,
}

/// The error for a text that is not a URL of an HTTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginError {
    text: String,
    problem: &'static str,
}

impl Origin {
    /// Parses a URL; returns the origin, and the path with its query. The default scheme is `http`.
    ///
    /// # Errors
    ///
    /// A text that is not a URL, or has another scheme than `http` and `https`, or contains a user and password.
    pub fn of_url(text: &str) -> Result<(Self, String), OriginError> {
        let error = |problem| OriginError { text: text.to_owned(), problem };
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let without_fragment = with_scheme.split_once('#').map_or(with_scheme.as_str(), |(before, _)| before);
        let uri =
            Uri::from_str(without_fragment).map_err(|_| error("no URL; write it as in http://127.0.0.1:8080/"))?;
        let (scheme, default_port) = match uri.scheme_str() {
            Some("http") => (Scheme::Http, 80),
            Some("https") => (Scheme::Https, 443),
            _ => return Err(error("not one of http:// and https://")),
        };
        let authority = uri.authority().ok_or_else(|| error("a URL without a host"))?;
        if authority.as_str().contains('@') {
            return Err(error("a URL with a user; give them as a header: -H 'Authorization: Basic …'"));
        }
        let port = match authority.port() {
            Some(port) => port.as_str().parse().map_err(|_| error("a URL whose port is none"))?,
            None if authority.as_str().len() > authority.host().len() => return Err(error("a URL whose port is none")),
            None => default_port,
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || port == 0 {
            return Err(error("a URL without a host, or with port 0"));
        }
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok((Self { scheme, host, port }, path))
    }

    /// The value of `Host` and `:authority`, which has the port only where it is not the scheme's.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.scheme, self.port) {
            (Scheme::Http, 80) | (Scheme::Https, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme_name(&self) -> &'static str {
        match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme_name(), self.authority())
    }
}

impl fmt::Display for OriginError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is {}", self.text, self.problem)
    }
}

impl Error for OriginError {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn urls() {
        let cases = [
            ("http://a", Some(("http://a", "/"))),
            ("http://a:80/", Some(("http://a", "/"))),
            ("https://a:443/b?c=d#e", Some(("https://a", "/b?c=d"))),
            ("http://a?b", Some(("http://a", "/?b"))),
            ("http://[::1]:8080/x", Some(("http://[::1]:8080", "/x"))),
            ("127.0.0.1:8080", Some(("http://127.0.0.1:8080", "/"))),
            ("localhost/a", Some(("http://localhost", "/a"))),
            ("https://a:80", Some(("https://a:80", "/"))),
            ("", None),
            ("http://", None),
            ("http://:80/", None),
            ("http://a:", None),
            ("http://a:99999/", None),
            ("http://a:0/", None),
            ("http://user:word@a/", None),
            ("ftp://a/", None),
            ("http://a b/", None),
            ("unix:/run/a.sock", None),
        ];
        for (text, expected) in cases {
            let found = Origin::of_url(text).ok().map(|(origin, path)| (origin.to_string(), path));
            assert_eq!(found, expected.map(|(origin, path)| (origin.to_owned(), path.to_owned())), "{text}");
        }
    }
}
