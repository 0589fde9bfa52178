//! The requests of clients.

use std::net::SocketAddr;

use bytes::Bytes;
use serow::{Body, Connection, Request, Target, Version};
use serow_message::{Headers, Method, Peer, RequestHead, Scheme};

use super::dice::Dice;

/// A client's request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// Each has another one; the origin sees it in `x-ask`.
    pub(super) number: usize,
    pub(super) method: &'static str,
    pub(super) path: usize,
    pub(super) query: &'static str,
    /// Whether the settings ignore the parameter `utm`.
    pub(super) ignores: bool,
    /// From a proxy that the handler believes.
    pub(super) is_trusted: bool,
    pub(super) fields: Vec<(&'static str, &'static str)>,
}

/// The properties of a request that an origin's response may depend on although Vary does not name them: the URL, as
/// far as the origin can know it, and the fields that the settings have made a part of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Essence {
    path: usize,
    query: &'static str,
    scheme: Option<&'static str>,
    believed_host: Vec<&'static str>,
    believed_prefix: Vec<&'static str>,
    tenants: Vec<&'static str>,
    languages: Vec<&'static str>,
}

impl Ask {
    pub(super) fn random(dice: &mut Dice, ignores: bool) -> Self {
        let methods = ["GET"; 12].into_iter().chain(["HEAD", "HEAD", "POST"]).collect::<Vec<_>>();
        let mut fields = Vec::new();
        for (name, share, values) in FIELDS {
            if dice.one_in(*share) {
                fields.push((*name, dice.of(values)));
                // A second line.
                if dice.one_in(8) && matches!(*name, "x-tenant" | "cookie" | "x-forwarded-host") {
                    fields.push((*name, dice.of(values)));
                }
            }
        }
        Self {
            number: 0,
            method: dice.of(&methods),
            path: dice.below(PATHS),
            query: if dice.one_in(6) { dice.of(&["?q=1", "?q=1&utm=2", "?utm=3"]) } else { "" },
            ignores,
            is_trusted: dice.one_in(3),
            fields,
        }
    }

    /// The request itself.
    pub(super) fn request(&self) -> Request {
        let mut headers = Headers::new();
        headers.append("host", HOST).unwrap();
        headers.append("x-ask", self.number.to_string()).unwrap();
        self.fields.iter().for_each(|(name, value)| headers.append(*name, *value).unwrap());
        let target = Target::parse(Bytes::from(format!("/{}{}", self.path, self.query)), false).unwrap();
        let (method, version): (Method, _) = (self.method.parse().unwrap(), Version::HTTP_11);
        let peer: SocketAddr = if self.is_trusted { "10.0.0.1:1" } else { "192.0.2.1:1" }.parse().unwrap();
        let connection = Connection::new(Peer::Tcp(peer), None, Scheme::Http);
        Request::new(RequestHead { method, target, version, headers }, Body::empty(), connection)
    }

    pub(super) fn is_unsafe(&self) -> bool {
        self.method == "POST"
    }

    /// The values of a field, one for each line.
    pub(super) fn values(&self, name: &str) -> Vec<&'static str> {
        self.fields.iter().filter(|(other, _)| *other == name).map(|(_, value)| *value).collect()
    }

    pub(super) fn has(&self, name: &str, part: &str) -> bool {
        self.values(name).iter().any(|value| value.contains(part))
    }

    /// The number behind a directive of Cache-Control.
    pub(super) fn seconds(&self, directive: &str) -> Option<u64> {
        seconds(self.values("cache-control").first()?, directive)
    }

    /// The value that the handler gives `x-set`, whatever the client has sent there.
    pub(super) fn set_by_handler(&self) -> String {
        format!("for {:?}", self.values("cookie"))
    }

    pub(super) fn key(&self) -> Essence {
        let believed = |name| if self.is_trusted { self.values(name) } else { Vec::new() };
        let cookies = self.values("cookie").into_iter().flat_map(|line| line.split(';'));
        let language =
            |cookie: &'static str| cookie.trim().strip_prefix("lang")?.trim().strip_prefix('=').map(str::trim);
        Essence {
            path: self.path,
            query: match self.query {
                "?q=1&utm=2" if self.ignores => "?q=1",
                "?utm=3" if self.ignores => "",
                query => query,
            },
            // Without the field, the handler sets the scheme of the connection.
            scheme: believed("x-forwarded-proto").first().copied().filter(|scheme| *scheme != "http"),
            believed_host: believed("x-forwarded-host"),
            believed_prefix: believed("x-forwarded-prefix"),
            tenants: self.values("x-tenant"),
            languages: cookies.filter_map(language).collect(),
        }
    }
}

/// The number behind a directive.
pub(super) fn seconds(control: &str, directive: &str) -> Option<u64> {
    let parts = control.split(',').map(str::trim);
    parts.filter_map(|part| part.strip_prefix(directive)?.strip_prefix('=')).find_map(|number| number.parse().ok())
}

pub(super) const HOST: &str = "a.example";
pub(super) const TRUSTED: &str = "10.0.0.0/8";

/// How many paths there are.
pub(super) const PATHS: usize = 3;

/// Fields of requests: one in so many has one of these values.
const FIELDS: &[(&str, usize, &[&str])] = &[
    ("authorization", 8, &["Basic a", "Basic b"]),
    (
        "cookie",
        3,
        &["session=a", "session=b", "session=a; lang=de", "lang=de; lang=en", "lang =en", "session=b;lang=en"],
    ),
    ("x-tenant", 5, &["a", "b"]),
    ("x-a", 4, &["1", "2"]),
    ("x-set", 12, &["forged"]),
    ("accept-encoding", 2, &["gzip", "br", "gzip, br", "identity", "gzip;q=0", "xz, gzip", "xz"]),
    ("accept-language", 4, &["de", "en", "de, en", "en, de", "en;q=0.5, de"]),
    (
        "cache-control",
        7,
        &["no-cache", "no-store", "max-age=0", "max-age=3", "max-stale=4", "max-stale", "only-if-cached"],
    ),
    ("range", 12, &["bytes=0-9", "bytes=5-", "bytes=-7", "bytes=900-"]),
    ("if-none-match", 15, &["*", "\"other\""]),
    ("x-forwarded-host", 8, &["evil.example", "other.example"]),
    ("x-forwarded-proto", 8, &["https", "http", "HTTPS", "wss"]),
    ("x-forwarded-prefix", 20, &["/evil"]),
];
