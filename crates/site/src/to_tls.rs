//! Redirects requests that come without TLS to the same URL with TLS.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use serow::{KnownHeader, Request, Response, Scheme, StatusCode, TargetForm};
use serow_acme::HttpChallenges;
use serow_gateway::TrustedProxies;

/// The measures that a server takes because it has TLS. By default none.
#[derive(Clone, Debug, Default)]
pub struct TlsPolicy {
    /// How long browsers use TLS only (HSTS).
    pub strict_transport: Option<Duration>,
    /// Which connections without TLS are redirected to TLS.
    pub redirected: Redirected,
    /// Answers to the authority that validates names over HTTP; they come before redirects.
    pub challenges: Option<HttpChallenges>,
}

/// Which connections without TLS are redirected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redirected {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// Those to this address; an address of zeroes is every address with its port.
    At(SocketAddr),
}

/// Answers requests that come without TLS with a redirect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToTls {
    /// Which ones.
    pub(crate) redirected: Redirected,
    /// The port that the redirect leads to.
    pub(crate) port: u16,
}

impl ToTls {
    /// The redirect, if the request is one of those that are redirected: not if a trusted proxy says that the client came
    /// with TLS, since the redirect would never end.
    #[inline]
    pub(crate) fn redirect(self, request: &Request, trusted: &TrustedProxies) -> Option<Response> {
        (self.redirected != Redirected::None && is_redirected(self.redirected, request, trusted))
            .then(|| redirect(request, self.port))
    }
}

/// Whether a request is one of those that are redirected.
fn is_redirected(redirected: Redirected, request: &Request, trusted: &TrustedProxies) -> bool {
    match (redirected, request.connection().local()) {
        _ if request.connection().scheme() == Scheme::Https => false,
        _ if trusted.named_scheme(&request.headers, request.connection()) == Some(Scheme::Https) => false,
        (Redirected::All, _) => true,
        (Redirected::At(address), Some(local)) => {
            let (ip, local_ip) = (address.ip().to_canonical(), local.ip().to_canonical());
            address.port() == local.port() && (ip.is_unspecified() || ip == local_ip)
        }
        (Redirected::None, _) | (Redirected::At(_), None) => false,
    }
}

/// 308: the method and the body remain (RFC 9110 §15.4.9).
fn redirect(request: &Request, port: u16) -> Response {
    let target = &request.target;
    let Some(host) = host(request) else {
        return Response::plain_status(StatusCode::BAD_REQUEST);
    };
    let port = if port == 443 { String::new() } else { format!(":{port}") };
    let (path, query) = match target.form() {
        TargetForm::Origin | TargetForm::Absolute => (target.path(), target.query()),
        // A question about the server as a whole, and one for another server.
        _ => ("/", None),
    };
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    let mut response = Response::plain_status(StatusCode::PERMANENT_REDIRECT);
    // Host and target were judged when the request was read; one that cannot be said in a field leads nowhere.
    match response.headers.insert(KnownHeader::Location, format!("https://{host}{port}{path}{query}")) {
        Ok(()) => response,
        Err(_) => Response::plain_status(StatusCode::BAD_REQUEST),
    }
}

/// The host that the client asked for, without its port; of old clients that name none, the address they came to.
fn host(request: &Request) -> Option<String> {
    let Some(authority) = request.host().filter(|authority| !authority.is_empty()) else {
        return request.connection().local().map(|address| match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        });
    };
    let end = authority.rfind(']').map_or_else(|| authority.find(':'), |end| Some(end + 1));
    Some(authority[..end.unwrap_or(authority.len())].to_owned()).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use serow::{Body, Connection, Headers, Method, Peer, RequestHead, Target, Version};

    use super::*;

    #[test]
    fn the_same_place_with_tls() {
        for (method, target, host, port, expected) in [
            ("GET", "/a/b?c=d", "example.com", 443, Some("https://example.com/a/b?c=d")),
            ("POST", "/?", "example.com:8080", 8443, Some("https://example.com:8443/?")),
            ("GET", "//evil.example/..", "example.com", 443, Some("https://example.com//evil.example/..")),
            ("GET", "/%2e", "[::1]:80", 8443, Some("https://[::1]:8443/%2e")),
            ("GET", "/", "[::1]", 443, Some("https://[::1]/")),
            ("GET", "http://example.org:80/x", "example.com", 443, Some("https://example.org/x")),
            ("OPTIONS", "*", "example.com", 443, Some("https://example.com/")),
            ("GET", "/", "", 443, Some("https://192.0.2.1/")),
            ("GET", "/", ":80", 443, None),
        ] {
            let mut headers = Headers::default();
            headers.insert(KnownHeader::Host, host).unwrap();
            let target = Target::parse(target.as_bytes().to_vec().into(), false).unwrap();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let head = RequestHead { method, target, headers, version: Version::HTTP_11 };
            let local = Some(([192, 0, 2, 1], 80).into());
            let request = Request::new(head, Body::empty(), Connection::new(Peer::Unix, local, Scheme::Http));
            let response = redirect(&request, port);
            assert_eq!(response.headers.get_str(KnownHeader::Location), expected);
            assert_eq!(response.status.as_u16(), if expected.is_some() { 308 } else { 400 });
        }
    }

    #[test]
    fn only_connections_without_tls_to_the_address_are_redirected() {
        let at = |address: &str| Redirected::At(address.parse().unwrap());
        for (redirected, scheme, local, expected) in [
            (Redirected::All, Scheme::Http, None, true),
            (Redirected::All, Scheme::Https, None, false),
            (Redirected::None, Scheme::Http, Some("192.0.2.1:80"), false),
            (at("[::]:80"), Scheme::Http, Some("192.0.2.1:80"), true),
            (at("[::]:80"), Scheme::Http, Some("[::ffff:192.0.2.1]:80"), true),
            (at("192.0.2.1:80"), Scheme::Http, Some("[::ffff:192.0.2.1]:80"), true),
            (at("192.0.2.1:80"), Scheme::Http, Some("192.0.2.2:80"), false),
            (at("[::]:80"), Scheme::Http, Some("192.0.2.1:8080"), false),
            (at("[::]:80"), Scheme::Http, None, false),
            (at("[::]:443"), Scheme::Https, Some("192.0.2.1:443"), false),
        ] {
            let head = RequestHead {
                method: Method::GET,
                target: Target::default(),
                version: Version::HTTP_11,
                headers: Headers::default(),
            };
            let local = local.map(|local| local.parse().unwrap());
            let request = Request::new(head, Body::empty(), Connection::new(Peer::Unix, local, scheme));
            let trusted = TrustedProxies::default();
            assert_eq!(is_redirected(redirected, &request, &trusted), expected, "{redirected:?} {scheme:?} {local:?}");
        }
    }

    #[test]
    fn requests_that_came_with_tls_to_a_trusted_proxy_are_not_redirected() {
        let unix: TrustedProxies = [serow_gateway::Network::Unix].into_iter().collect();
        for (trusted, told, expected) in [
            (&unix, "https", false),
            (&unix, "http", true),
            (&unix, "", true),
            (&TrustedProxies::default(), "https", true),
        ] {
            let mut headers = Headers::default();
            headers.insert(KnownHeader::XForwardedProto, told).unwrap();
            let head =
                RequestHead { method: Method::GET, target: Target::default(), version: Version::HTTP_11, headers };
            let request = Request::new(head, Body::empty(), Connection::new(Peer::Unix, None, Scheme::Http));
            assert_eq!(is_redirected(Redirected::All, &request, trusted), expected, "{told}");
        }
    }
}
