//! Random requests, also of clients that lie.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use serow::{Body, Connection, Headers, Peer, Request, RequestHead, Scheme, Target, Version};

use super::{credentials::Credentials, random::Random};

/// The properties of a request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) number: u64,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) host: &'static str,
    pub(super) body: usize,
    /// Whether its address may send requests.
    pub(super) is_local: bool,
    /// Whether its connection is encrypted.
    pub(super) is_secure: bool,
    pub(super) credentials: Credentials,
    /// Whether a browser asks for a page.
    pub(super) is_navigation: bool,
    /// Whether the server that decides permits it.
    pub(super) is_allowed: bool,
    pub(super) is_preflight: bool,
    /// Whether the origin answers with X-Accel-Redirect.
    pub(super) is_redirected: bool,
    /// The key that `limits` counts.
    pub(super) key: String,
    /// The fields that `Connection` names.
    pub(super) names: Vec<&'static str>,
}

/// A random request; that of a client with a real connection comes from loopback.
#[allow(clippy::too_many_lines, reason = "each line is a choice of its own")]
pub(super) fn request(random: &mut Random, number: u64, is_connected: bool) -> (RequestHead, Asked) {
    let path = random.of(&["/t/file.txt", "/t/file.txt", "/t/missing", "/r/file.txt", "/other", "/inner/x", LOGOUT]);
    let method = random.of(&["GET", "GET", "GET", "HEAD", "POST", "OPTIONS"]);
    let is_preflight = method == "OPTIONS" && random.once_in(2);
    let (is_redirected, is_absolute) = (random.once_in(4), random.once_in(6));
    let version = random.of(&[Version::HTTP_11, Version::HTTP_11, Version::HTTP_2, Version::HTTP_3]);
    let body = if method == "POST" { random.of(&[0, 5, 100]) } else { 0 };
    let key = if random.once_in(8) { "same".to_owned() } else { format!("key-{number}") };
    let mut headers = Headers::new();
    let mut add = |name: &'static str, value: &str| headers.append(name, value).unwrap();
    add("host", if is_absolute { "evil.example" } else { "a.example" });
    add("x-key", &key);
    let (is_allowed, is_local, is_secure) =
        (random.once_in(2), is_connected || random.once_in(2), version == Version::HTTP_3 || random.once_in(2));
    let credentials = Credentials::random(random, number, is_secure);
    credentials.fields.iter().for_each(|(name, value)| add(name, value));
    let is_navigation = random.once_in(3);
    if is_navigation {
        add("accept", "text/html");
    }
    add("x-test", if is_allowed { "allow" } else { "deny" });
    if method == "GET" {
        add("accept-encoding", "gzip");
    }
    for name in ["remote-user", "remote_user", "x-role", "x-rule", "x-script", "x-original-url", "x-other"] {
        if random.once_in(4) {
            add(name, "forged");
        }
    }
    if is_preflight {
        add("origin", "https://a.example");
        add("access-control-request-method", "PUT");
    }
    if body > 0 {
        add("content-length", &body.to_string());
    }
    let mut names = Vec::new();
    if version == Version::HTTP_11 && random.once_in(2) {
        for name in NAMED {
            if random.once_in(4) {
                names.push(name);
            }
        }
        add(
            "connection",
            &[random.of(&["close", "keep-alive"])]
                .into_iter()
                .chain(names.iter().copied())
                .collect::<Vec<_>>()
                .join(", "),
        );
    }
    let accel = u8::from(is_redirected);
    let query = format!("{path}?id={number}&accel={accel}&fresh={}", random.below(2));
    // HTTP/2 and HTTP/3 have an authority beside the path.
    let target = match (is_absolute && version == Version::HTTP_11, version) {
        (true, _) => format!("{}://a.example{query}", if is_secure { "https" } else { "http" }),
        (false, _) => query,
    };
    if !(is_absolute && version == Version::HTTP_11) {
        headers.replace("host", "a.example").unwrap();
    }
    let target = Target::parse(target.into(), false).unwrap();
    let head = RequestHead { method: method.parse().unwrap(), target, version, headers };
    let asked = Asked {
        number,
        method,
        path,
        host: "a.example",
        body,
        is_local,
        is_secure,
        credentials,
        is_navigation: is_navigation && ["GET", "HEAD"].contains(&method),
        is_allowed,
        is_preflight,
        is_redirected,
        key,
        names,
    };
    (head, asked)
}

impl Asked {
    /// The content of the request.
    pub(super) fn content(&self) -> Bytes {
        "x".repeat(self.body).into()
    }

    /// The request as a handler gets it.
    pub(super) fn received(&self, head: RequestHead) -> Request {
        let address = if self.is_local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(192, 0, 2, 7) };
        let scheme = if self.is_secure { Scheme::Https } else { Scheme::Http };
        let connection = Connection::new(Peer::Tcp(SocketAddr::from((address, 1))), None, scheme);
        let content = if self.body > 0 { Body::from(self.content()) } else { Body::empty() };
        Request::new(head, content, connection)
    }
}

/// The path of the login that ends sessions.
pub(super) const LOGOUT: &str = "/.serow/login/logout";

/// Fields that a client names in `Connection`, so that others would lose them.
const NAMED: [&str; 9] = [
    "remote-user",
    "x-role",
    "x-rule",
    "x-script",
    "x-original-url",
    "x-original-method",
    "x-other",
    "authorization",
    "cookie",
];
