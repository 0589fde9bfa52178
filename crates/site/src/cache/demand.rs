//! What of a request the cache looks at, and which requests pass it by.

use serow::{Headers, KnownHeader, Method, Request, Target};
use serow_cache::{Key, RequestControl};
use serow_message::{Connection, InvalidTarget, User};

use super::settings::{CacheSettings, cookie};

/// What of a request the cache looks at.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) key: Key,
    pub(super) control: RequestControl,
    /// Whether it names its user, or an access check did.
    pub(super) has_credentials: bool,
    pub(super) is_head: bool,
}

/// In the extensions of a request: an access check has found out its user. What a handler sends back may depend on that,
/// whatever field the user was found in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identified;

/// What becomes of a request.
pub(super) enum Admission {
    /// The cache answers it if it can.
    Cached(Request, Demand),
    /// It may change what is stored for its URI.
    Unsafe(Request, Key),
    /// It passes the cache by.
    Passed(Request),
}

impl Demand {
    /// What this request demands.
    pub(super) fn of(mut request: Request, settings: &CacheSettings) -> Admission {
        let is_head = request.method == Method::HEAD;
        let is_cached = request.method == Method::GET || is_head && settings.answers_head;
        if request.method.is_safe() && (!is_cached || passes(&request, settings)) {
            return Admission::Passed(request);
        }
        let Ok(reduced) = reduced(&request, settings) else { return Admission::Passed(request) };
        let target = reduced.as_ref().unwrap_or(&request.target);
        let Some(key) = key(&request, target, settings) else { return Admission::Passed(request) };
        if !request.method.is_safe() {
            return Admission::Unsafe(request, key);
        }
        if let Some(target) = reduced {
            request.target = target;
        }
        let has_credentials = request.headers.contains(KnownHeader::Authorization)
            || request.extensions.get::<User>().is_some()
            || request.extensions.get::<Identified>().is_some();
        let control = RequestControl::of(&request.headers);
        Admission::Cached(request, Self { key, control, has_credentials, is_head })
    }
}

/// The URI of the key of a request.
pub(super) fn uri_of(request: &Request, settings: &CacheSettings) -> Option<String> {
    let reduced = reduced(request, settings).ok()?;
    key(request, reduced.as_ref().unwrap_or(&request.target), settings).map(|key| key.uri().to_owned())
}

/// The target without what is ignored; `None` if it stays as it is.
fn reduced(request: &Request, settings: &CacheSettings) -> Result<Option<Target>, InvalidTarget> {
    let query = request.target.query().and_then(|query| settings.ignored_query.reduce(query));
    query.map(|query| request.target.with_query(&query)).transpose()
}

/// Whether a GET or HEAD passes the cache by.
fn passes(request: &Request, settings: &CacheSettings) -> bool {
    let headers = &request.headers;
    // RFC 9110 §9.3.1: content of a GET has no meaning, but some origins give it one: a fat GET.
    !request.body.is_end()
        // These conditions are for the origin (RFC 9111 §4.3.2), and a tunnel has two ends only.
        || headers.contains_any(&[KnownHeader::Upgrade, KnownHeader::IfMatch, KnownHeader::IfUnmodifiedSince])
        || has_override(headers)
        || settings.bypass.covers(headers)
}

/// Whether there is one of [`OVERRIDES`]: one look at the names, since there is none in most requests.
fn has_override(headers: &Headers) -> bool {
    headers.iter_known().any(|(name, known, _)| {
        known.is_none() && OVERRIDES.iter().any(|override_name| name.eq_ignore_ascii_case(override_name.as_bytes()))
    })
}

/// The key of a request; `None` if it does not name a host.
fn key(request: &Request, target: &Target, settings: &CacheSettings) -> Option<Key> {
    let host = request.host().filter(|host| !host.is_empty() && !host.contains(' '))?;
    let (headers, connection) = (&request.headers, request.connection());
    let scheme = settings.trust.client_scheme(headers, connection);
    let mut additions: Vec<&[u8]> = Vec::new();
    // They reach the origin only from trusted proxies.
    if !settings.trust.is_empty() && is_trusted(settings, connection) {
        for name in &FROM_TRUSTED_PROXIES {
            additions.extend(headers.get_all(*name).flat_map(|value| [name.as_bytes(), value]));
        }
        additions.extend(forwarded_host(headers));
    }
    for name in &settings.key_fields {
        additions.extend([name.as_bytes(), headers.get(name.as_str()).unwrap_or(b"\0")]);
    }
    for name in &settings.key_cookies {
        additions.extend([name.as_bytes(), cookie(headers, name).unwrap_or(b"\0")]);
    }
    Some(Key::new(scheme, host, target.path(), target.query(), &additions))
}

fn is_trusted(settings: &CacheSettings, connection: &Connection) -> bool {
    settings.trust.contains(connection.peer())
}

/// The parts of Forwarded (RFC 7239 §4) that name what was requested, not the client.
fn forwarded_host(headers: &Headers) -> impl Iterator<Item = &[u8]> {
    let parts =
        headers.get_all(KnownHeader::Forwarded).flat_map(|value| value.split(|byte| matches!(byte, b',' | b';')));
    parts.map(<[u8]>::trim_ascii).filter(|part| {
        let begins = |name: &[u8]| part.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        begins(b"host=") || begins(b"proto=")
    })
}

/// Fields by which some frameworks take another path, method or host than those of the request: a response to them is
/// stored for nobody ("Practical Web Cache Poisoning", 2018).
const OVERRIDES: [&str; 9] = [
    "x-original-url",
    "x-rewrite-url",
    "x-original-host",
    "x-host",
    "x-http-host-override",
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-override-url",
];

/// Fields of trusted proxies that responses may depend on. Those of others do not reach the origin.
const FROM_TRUSTED_PROXIES: [&str; 6] = [
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-server",
    "x-forwarded-scheme",
    "x-forwarded-ssl",
];
