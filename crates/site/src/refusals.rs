//! Refusals of the router: what the log says of them, and what people at this machine see.

use std::net::SocketAddr;

use serow::{Request, Response, StatusCode};
use serow_gateway::{LogLimit, RequestSummary, error_page};
use serow_guards::log_refusal;
use serow_message::{ClientTarget, Peer};
use serow_router::{RewriteLoop, Router};

use crate::{RouteHandler, Sites};

/// Says in the log why no route takes a request. A client on this machine, who may be trying out the settings, sees the
/// hosts of the sites in place of a 421 without them.
#[cold]
pub(crate) fn explained(router: &Router<RouteHandler>, request: &Request, mut response: Response) -> Response {
    let site = router.site_of(request);
    if let Some(RewriteLoop { route }) = response.extensions.remove() {
        let name = site.map(|site| name_of(router, site)).unwrap_or_default();
        log_loop(&name, &route, request);
        return response;
    }
    if response.status == StatusCode::MISDIRECTED_REQUEST {
        let hosts = listed(router);
        log_refusal("", request, || format!("{}; hosts are {hosts}", no_site(request)));
        return if is_local(router, request) { page_with(&hosts, request) } else { response };
    }
    if let Some(site) = site.filter(|_| response.status == StatusCode::NOT_FOUND) {
        let name = name_of(router, site);
        log_refusal(&name, request, || format!("no route matches ({name})"));
    }
    response
}

impl Sites {
    /// First hosts of the sites that are reached by a listener, and how many there are, where no site has this host; nothing if
    /// one has it.
    #[must_use]
    pub fn hosts_in_place_of(&self, host: &str, listener: Option<SocketAddr>) -> Option<(Vec<&str>, usize)> {
        match self {
            Self::Single(_) | Self::Static { .. } => None,
            Self::Scripted(scripted) => scripted.sites().hosts_in_place_of(host, listener),
            Self::ByAddress(sites) => sites.reached_by(listener).hosts_in_place_of(host, listener),
            Self::ByHost(sites) if sites.has_host(host) => None,
            Self::ByHost(sites) => sites.others().hosts_in_place_of(host, listener),
            Self::Routed { router, .. } if router.serves(host) => None,
            Self::Routed { router, .. } => {
                let elsewhere = router.hosts_elsewhere();
                let first = router.hosts().filter_map(<[String]>::first).chain(&elsewhere.some);
                let first: Vec<_> = first.map(String::as_str).collect();
                let unnamed = elsewhere.count.saturating_sub(elsewhere.some.len());
                let count = first.len() + unnamed;
                Some((first, count))
            }
        }
    }
}

/// How the log names a site.
pub(crate) fn name_of(router: &Router<RouteHandler>, site: usize) -> String {
    let host = router.hosts().nth(site).and_then(|hosts| hosts.first());
    host.map_or_else(|| "the site without hosts".to_owned(), |host| format!("site {host}"))
}

pub(crate) fn no_site(request: &Request) -> String {
    match request.host() {
        Some(host) => format!("no site has the host {}", cut(host).escape_debug()),
        None => "no site is for requests without a host".to_owned(),
    }
}

/// The hosts of all sites, as many as a line has room for.
pub(crate) fn listed(router: &Router<RouteHandler>) -> String {
    let elsewhere = router.hosts_elsewhere();
    let hosts: Vec<_> = router.hosts().flatten().map(String::as_str).collect();
    let shown: Vec<_> =
        hosts.iter().copied().chain(elsewhere.some.iter().map(String::as_str)).take(MAX_HOSTS).collect();
    match (hosts.len() + elsewhere.count).checked_sub(shown.len()) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Logs that rewrites lead a request in a circle, at most ten times a second.
#[cold]
fn log_loop(site: &str, route: &str, request: &Request) {
    static LIMIT: LogLimit = LogLimit::new();
    let Some(suppressed) = LIMIT.admit_now() else { return };
    if suppressed.0 > 0 {
        tracing::error!("and {suppressed} more requests before that rewrites led in a circle");
    }
    let summary = RequestSummary { method: request.method.clone(), target: ClientTarget::of(request).clone() };
    tracing::error!(
        "{summary}: 500, since the route {route} of {site} has started the request again ten times with `restart = true`: put \
         a route that answers the new path before it, or leave the path out of its own"
    );
}

/// Whether a request comes from this machine, and from no client behind a proxy. It names this machine as well: a page
/// of another site whose name leads here (DNS rebinding) learns nothing.
fn is_local(router: &Router<RouteHandler>, request: &Request) -> bool {
    let peer = request.connection().peer();
    let Peer::Tcp(address) = peer else { return false };
    let is_forwarded = FORWARDED.iter().any(|name| request.headers.contains(*name));
    let is_of_machine = address.ip().to_canonical().is_loopback();
    is_of_machine && !is_forwarded && !router.trusted().contains(peer) && request.host().is_some_and(is_this_machine)
}

fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "[::1]")
}

/// The page of 421 with the hosts of the sites: text, unless the client prefers problem details.
fn page_with(hosts: &str, request: &Request) -> Response {
    let response = error_page(StatusCode::MISDIRECTED_REQUEST, &request.headers);
    if serow_gateway::prefers_problem_details(&request.headers) {
        return response;
    }
    let text = format!("421 Misdirected Request\n\n{}; hosts are {hosts}.\n", no_site(request));
    Response { status: StatusCode::MISDIRECTED_REQUEST, ..Response::text(text) }
}

/// The beginning of a text that a client chose.
fn cut(text: &str) -> &str {
    let end = text.char_indices().map(|(place, _)| place).find(|place| *place >= MAX_HOST_LENGTH);
    end.map_or(text, |end| &text[..end])
}

/// A page of a few lines is read.
const MAX_HOSTS: usize = 10;

/// Longer than names are (RFC 1035 §2.3.4).
const MAX_HOST_LENGTH: usize = 260;

/// Fields that proxies add.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

#[cfg(test)]
mod tests {
    use serow::{Connection, Headers, Scheme};
    use serow_message::TrustedProxies;
    use serow_router::{Action, FixedResponse, Route, Site};

    use super::{RouteHandler, Router, cut, is_local, listed, name_of, no_site};
    use serow::Request;
    use serow_message::Peer;

    fn router() -> Router<RouteHandler> {
        let answer = Action::Respond(FixedResponse::new(200).unwrap());
        let route = Route::new("/a".parse().unwrap(), answer);
        let hosts = ["example.com", "*.example.org"].map(|host| host.parse().unwrap());
        Router::new(vec![Site { hosts: hosts.into(), ..Site::new(vec![route]) }]).unwrap()
    }

    fn request(peer: &str, host: &str, fields: &[(&str, &str)]) -> Request {
        let mut request = Request::get("/x");
        request.headers = Headers::new();
        request.headers.append("host", host).unwrap();
        fields.iter().for_each(|(name, value)| request.headers.append(*name, value).unwrap());
        let connection = Connection::new(Peer::Tcp(peer.parse().unwrap()), None, Scheme::Http);
        let Request { method, target, headers, version, body, .. } = request;
        Request::new(serow::RequestHead { method, target, headers, version }, body, connection)
    }

    #[test]
    fn only_people_at_this_machine_see_the_hosts() {
        let (local, other) = ("127.0.0.1:5000", "192.0.2.1:5000");
        for (peer, host, fields, expected) in [
            (local, "localhost:8080", &[][..], true),
            ("[::1]:5000", "[::1]:8080", &[], true),
            ("[::ffff:127.0.0.1]:5000", "127.0.0.1", &[], true),
            (other, "localhost:8080", &[], false),
            (local, "evil.example", &[], false),
            (local, "localhost.evil.example", &[], false),
            (local, "localhost", &[("X-Forwarded-For", "192.0.2.1")], false),
            (local, "localhost", &[("Forwarded", "for=192.0.2.1")], false),
        ] {
            assert_eq!(is_local(&router(), &request(peer, host, fields)), expected, "{peer} {host} {fields:?}");
        }
        let behind = router().with_trusted(TrustedProxies::local());
        assert!(!is_local(&behind, &request(local, "localhost", &[])));
    }

    #[test]
    fn refusals_are_explained_with_site_and_hosts() {
        let router = router();
        assert_eq!(listed(&router), "example.com, *.example.org");
        assert_eq!(name_of(&router, 0), "site example.com");
        let asked = request("127.0.0.1:1", "a\"b.example:80", &[]);
        assert_eq!(no_site(&asked), "no site has the host a\\\"b.example:80");
        assert_eq!(cut(&"ä".repeat(200)).len(), 260);
    }
}
