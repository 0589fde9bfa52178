//! Requests that a configuration's own directives suggest.

mod conditions;
pub(super) mod examples;
mod hosts;
mod paths;

use std::{collections::BTreeSet, fmt::Write as _};

use self::conditions::Change;
pub(super) use self::hosts::UNKNOWN;
use super::{
    rehearsal::Rehearsal,
    sites::{self, Kind, Location, Site},
};

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    /// The number of the listener.
    pub(super) listener: usize,
    pub(super) method: String,
    pub(super) host: String,
    pub(super) target: String,
    pub(super) fields: Vec<(String, String)>,
    pub(super) body: Option<String>,
    /// The number of the server that suggested the request.
    pub(super) site: usize,
}

/// The requests of a comparison.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) requests: Vec<Request>,
    /// The number of further ones that the limits leave out.
    pub(super) left_out: usize,
}

impl Request {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\nHost: {}\r\n", self.method, self.target, self.host);
        for (name, value) in &self.fields {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            let _ =
                write!(text, "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n", body.len());
        }
        text.push_str("\r\n");
        text.push_str(self.body.as_deref().unwrap_or_default());
        text.into_bytes()
    }

    /// The request as a command for an address.
    pub(super) fn curl(&self, scheme: &str, port: u16) -> String {
        let mut text = String::from("curl -si --path-as-is");
        match self.method.as_str() {
            "GET" => {}
            "HEAD" => text.push_str(" --head"),
            method => {
                let _ = write!(text, " -X {method}");
            }
        }
        if scheme == "https" {
            text.push_str(" -k");
        }
        for (name, value) in std::iter::once(&("Host".to_owned(), self.host.clone())).chain(&self.fields) {
            if (name.as_str(), value.as_str()) != BROWSER[0] && (name.as_str(), value.as_str()) != BROWSER[1] {
                let _ = write!(text, " -H '{name}: {value}'");
            }
        }
        if let Some(body) = &self.body {
            let _ = write!(text, " -d '{body}'");
        }
        let is_usual = (scheme, port) == ("http", 80) || (scheme, port) == ("https", 443);
        let port = if is_usual { String::new() } else { format!(":{port}") };
        let _ = write!(text, " '{scheme}://127.0.0.1{port}{}'", self.target);
        text
    }

    /// The path without the query.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The path that the response of an origin names in `X-Accel-Redirect`.
    pub(super) fn accelerated(&self) -> Option<&str> {
        self.target.split_once("/accel?to=").map(|(_, path)| path)
    }

    /// A field that the client sends.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn with(mut self, change: &Change) -> Self {
        match change {
            Change::Field(name, value) => {
                self.fields.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
                self.fields.push((name.clone(), value.clone()));
            }
            Change::Query(query) => self.target = format!("{}?{query}", self.path()),
            Change::Method(method) => {
                self.method.clone_from(method);
                self.body = (method == "POST").then(|| "a=b".to_owned());
            }
            Change::Path(path) => self.target.clone_from(path),
            Change::Host(host) => self.host.clone_from(host),
        }
        self
    }
}

/// The requests for a rehearsal.
pub(super) fn of(rehearsal: &Rehearsal) -> Requests {
    let sites = sites::of(&rehearsal.directives);
    let locations: usize = sites.iter().map(|site| site.locations.len()).sum();
    let most = (MAX_REQUESTS / locations.max(1)).clamp(MIN_OF_LOCATION, MAX_OF_LOCATION);
    let mut all = Requests::default();
    let mut seen = BTreeSet::new();
    for (number, site) in sites.iter().enumerate() {
        let listeners = rehearsal.of_servers.get(number).map(Vec::as_slice).unwrap_or_default();
        let main = listeners.iter().find(|listener| rehearsal.listeners[**listener].is_tls).or(listeners.first());
        let Some(main) = main.copied() else { continue };
        let hosts = hosts::of(site);
        let base = Request {
            listener: main,
            method: "GET".to_owned(),
            host: hosts.first().cloned().unwrap_or_else(|| UNKNOWN.to_owned()),
            target: "/".to_owned(),
            fields: BROWSER.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            site: number,
            ..Request::default()
        };
        all.add(hosts::requests(&base, &hosts, listeners), most, &mut seen);
        for location in &site.locations {
            all.add(of_location(&base, site, location, &rehearsal.directives), most, &mut seen);
        }
    }
    if all.requests.len() > MAX_REQUESTS {
        all.left_out += all.requests.len() - MAX_REQUESTS;
        all.requests.truncate(MAX_REQUESTS);
    }
    all
}

impl Requests {
    fn add(&mut self, requests: Vec<Request>, most: usize, seen: &mut BTreeSet<Request>) {
        let mut count = 0;
        for request in requests {
            // Locations suggest the same paths.
            let key = Request { site: 0, ..request.clone() };
            if !seen.insert(key) {
                continue;
            }
            if count < most {
                self.requests.push(request);
                count += 1;
            } else {
                self.left_out += 1;
            }
        }
    }
}

fn of_location(
    base: &Request,
    site: &Site<'_>,
    location: &Location<'_>,
    directives: &[serow_nginx_syntax::directive::Directive],
) -> Vec<Request> {
    let paths = paths::of(site, location);
    let mut requests = Vec::new();
    let Some(inside) = paths.inside.first() else { return requests };
    let mut base = Request { target: inside.clone(), ..base.clone() };
    let authenticates =
        location.nearest("auth_basic").first().is_some_and(|directive| directive.word(0) != Some("off"));
    let open = base.clone();
    if authenticates {
        // user:password
        base.fields.push(("Authorization".to_owned(), "Basic dXNlcjpwYXNzd29yZA==".to_owned()));
    }
    let at = |target: &str| Request { target: target.to_owned(), ..base.clone() };
    requests.extend(paths.inside.iter().take(2).map(|path| at(path)));
    let changes = conditions::of(location, directives, &base.host);
    requests.extend(changes.iter().take(4).map(|change| base.clone().with(change)));
    requests.extend(paths.near.iter().map(|path| at(path)));
    requests.extend(paths.inside.iter().skip(2).map(|path| at(path)));
    let passes = location.is_passed();
    if authenticates {
        requests.push(open.clone());
        requests.push(open.with(&Change::Field("Authorization".to_owned(), "Basic dXNlcjp3cm9uZw==".to_owned())));
    }
    if passes {
        requests
            .extend(["status-404", "status-503", "redirect", "cookie"].iter().map(|name| at(&joined(inside, name))));
        requests.extend(accelerated(site).map(|target| at(&format!("{}?to={target}", joined(inside, "accel")))));
    }
    requests.push(at(&format!("{inside}?b=2&a=%20c")));
    if let Some(missing) = paths.inside.iter().find(|path| path.ends_with("page/1")) {
        // The query has to get to where a fallback leads.
        requests.push(at(&format!("{missing}?b=2&a=%20c")));
    }
    let restricts = passes || !location.nearest("limit_except").is_empty();
    let methods: &[&str] = if restricts { &["POST", "OPTIONS", "DELETE", "HEAD"] } else { &["POST", "HEAD"] };
    requests.extend(methods.iter().map(|method| base.clone().with(&Change::Method((*method).to_owned()))));
    requests.extend(changes.iter().skip(4).map(|change| base.clone().with(change)));
    if location.kind == Kind::Prefix("/") || location.kind == Kind::Server {
        requests.extend(
            ["/a%2Fb", "//a//b", "/%69ndex.html", "/a/../index.html", "/a%20b?c=%2F"].iter().map(|path| at(path)),
        );
    }
    requests.push(base.clone().with(&Change::Field("Accept-Encoding".to_owned(), "gzip".to_owned())));
    if !passes {
        let date = "Fri, 01 Jan 2100 00:00:00 GMT";
        requests.push(base.clone().with(&Change::Field("Range".to_owned(), "bytes=0-3".to_owned())));
        requests.push(base.with(&Change::Field("If-Modified-Since".to_owned(), date.to_owned())));
    }
    requests
}

/// A path for `X-Accel-Redirect`, if the site has internal locations.
fn accelerated<'a>(site: &'a Site<'_>) -> impl Iterator<Item = String> + 'a {
    let internal = site.locations.iter().filter(|location| location.own("internal").next().is_some());
    internal.filter_map(|location| match location.kind {
        Kind::Prefix(path) => Some(joined(path, "index.html")),
        Kind::Exact(path) => Some(path.to_owned()),
        _ => None,
    })
}

/// A name below a path, or in the place of its last name.
fn joined(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, last)) if last.contains('.') || path.ends_with('/') => format!("{folder}/{name}"),
        _ => format!("{path}/{name}"),
    }
}

const MAX_REQUESTS: usize = 2000;
const MAX_OF_LOCATION: usize = 20;
const MIN_OF_LOCATION: usize = 4;
/// The fields of a browser; Serow's start pages and error messages depend on it.
const BROWSER: [(&str, &str); 2] =
    [("Accept", "text/html,*/*;q=0.8"), ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_files_replace_them() {
        assert_eq!(joined("/api/", "x"), "/api/x");
        assert_eq!(joined("/api", "x"), "/api/x");
        assert_eq!(joined("/a/index.php", "x"), "/a/x");
    }

    #[test]
    fn a_request_as_bytes_and_as_a_command() {
        let request = Request {
            method: "POST".to_owned(),
            host: "h".to_owned(),
            target: "/a?b".to_owned(),
            fields: vec![("X".to_owned(), "1".to_owned())],
            body: Some("c=d".to_owned()),
            ..Request::default()
        };
        let bytes = String::from_utf8(request.bytes()).expect("it is text");
        assert!(bytes.starts_with("POST /a?b HTTP/1.1\r\nHost: h\r\nX: 1\r\n") && bytes.ends_with("\r\n\r\nc=d"));
        assert_eq!(
            request.curl("https", 8443),
            "curl -si --path-as-is -X POST -k -H 'Host: h' -H 'X: 1' -d 'c=d' 'https://127.0.0.1:8443/a?b'"
        );
    }
}
