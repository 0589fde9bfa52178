//! The parts of a request that the cache looks at, and which requests pass it by.

use serow::{Headers, KnownHeader, Method, Request, Target};
use serow_cache::{Key, RequestControl};
use serow_guards::Identified;
use serow_message::{ClientTarget, InvalidTarget, Scheme, TrustedProxies, User, hop_by_hop};

use super::settings::{CacheSettings, cookies};
use crate::error_routes::ForErrorPage;

/// The parts of a request that the cache looks at.
#[derive(Debug)]
pub(super) struct CacheRequest {
    pub(super) key: Key,
    pub(super) control: RequestControl,
    /// Whether it names its user, or an access check did.
    pub(super) has_credentials: bool,
    pub(super) is_head: bool,
}

/// The cache's decision about a request.
pub(super) enum CacheDecision {
    /// The cache answers it if it can.
    Cached(CacheRequest),
    /// It may change what is stored for its URI.
    Unsafe(Key),
    /// It passes the cache by.
    Passed,
}

impl CacheRequest {
    /// Decides about this request, and removes the ignored parameters from its target.
    pub(super) fn of(request: &mut Request, settings: &CacheSettings, trust: &TrustedProxies) -> CacheDecision {
        if ForErrorPage::marks(request) {
            return CacheDecision::Passed;
        }
        let is_head = request.method == Method::HEAD;
        let is_cached = request.method == Method::GET || is_head && settings.answers_head;
        if request.method.is_safe() && (!is_cached || passes(request, settings)) {
            return CacheDecision::Passed;
        }
        let Ok(reduced) = reduced(&request.target, settings) else { return CacheDecision::Passed };
        let target = reduced.as_ref().unwrap_or(&request.target);
        let Some(key) = key(request, target, settings, trust) else { return CacheDecision::Passed };
        if !request.method.is_safe() {
            return CacheDecision::Unsafe(key);
        }
        if let Some(target) = reduced {
            request.target = target;
        }
        let has_credentials = request.headers.contains(KnownHeader::Authorization)
            || request.extensions.get::<User>().is_some()
            || request.extensions.get::<Identified>().is_some();
        let control = RequestControl::of(&request.headers);
        CacheDecision::Cached(Self { key, control, has_credentials, is_head })
    }
}

/// The URI of the key of a request.
pub(super) fn uri_of(request: &Request, settings: &CacheSettings, trust: &TrustedProxies) -> Option<String> {
    let reduced = reduced(&request.target, settings).ok()?;
    let target = reduced.as_ref().unwrap_or(&request.target);
    key(request, target, settings, trust).map(|key| key.uri().to_owned())
}

/// The target without what is ignored; `None` if it stays as it is.
fn reduced(target: &Target, settings: &CacheSettings) -> Result<Option<Target>, InvalidTarget> {
    let query = target.query().and_then(|query| settings.ignored_query.reduce(query));
    query.map(|query| target.with_query(&query)).transpose()
}

/// Whether a GET or HEAD passes the cache by.
fn passes(request: &Request, settings: &CacheSettings) -> bool {
    let headers = &request.headers;
    // RFC 9110 §9.3.1: content of a GET has no meaning, but some origins give it one: a fat GET.
    !request.body.is_end()
        // These conditions are for the origin (RFC 9111 §4.3.2), and a tunnel has two ends only.
        || headers.contains_any(&[KnownHeader::Upgrade, KnownHeader::IfMatch, KnownHeader::IfUnmodifiedSince])
        || has_override(headers)
        || settings.bypass.covers(headers, request.target.query())
}

/// Whether there is one of [`OVERRIDES`]: one look at the names, since there is none in most requests.
fn has_override(headers: &Headers) -> bool {
    headers.iter_known().any(|(name, known, _)| {
        known.is_none() && OVERRIDES.iter().any(|override_name| name.eq_ignore_ascii_case(override_name.as_bytes()))
    })
}

/// The key of a request; `None` if it does not name a host.
fn key(request: &Request, target: &Target, settings: &CacheSettings, trust: &TrustedProxies) -> Option<Key> {
    let host = request.host().filter(|host| !host.is_empty() && !host.contains(' '))?;
    let (headers, connection) = (&request.headers, request.connection());
    let scheme = trust.client_scheme(headers, connection);
    // Pairs, so that no value can take the place of another field.
    let mut additions: Vec<&[u8]> = Vec::new();
    // Variables and programs may see the target that a rewrite replaced: of two that lead to the same one, neither gets the
    // response to the other.
    let asked =
        request.extensions.get::<ClientTarget>().map(|asked| &asked.0).filter(|asked| **asked != request.target);
    let asked = match asked {
        None => None,
        Some(asked) => Some(reduced(asked, settings).ok()?.unwrap_or_else(|| asked.clone())),
    };
    if let Some(asked) = &asked {
        additions.extend([b"\0", asked.path_bytes(), asked.query().unwrap_or_default().as_bytes(), b""]);
    }
    // They reach the origin only from trusted proxies.
    if !trust.is_empty() && trust.contains(connection.peer()) {
        let about = headers.iter_known().flat_map(|(name, known, value)| about_request(name, known, value, scheme));
        additions.extend(about.flatten());
    }
    for name in &settings.key_fields {
        add(&mut additions, name, headers.get_all(name.as_str()));
    }
    for name in &settings.key_cookies {
        add(&mut additions, name, cookies(headers, name));
    }
    Some(Key::new(scheme, host, target.path(), target.query(), &additions))
}

/// Adds all values of what has this name, or that there is none: which of several counts is up to the origin.
fn add<'a>(additions: &mut Vec<&'a [u8]>, name: &'a str, values: impl Iterator<Item = &'a [u8]>) {
    let before = additions.len();
    values.for_each(|value| additions.extend([name.as_bytes(), value]));
    if additions.len() == before {
        additions.extend([name.as_bytes(), b"\0"]);
    }
}

/// The statements about the request in a field of a trusted proxy, beside the scheme that is a part of the key: as
/// pairs of name and value. Statements about the client alone are not among them.
fn about_request<'a>(
    name: &'a [u8],
    known: Option<KnownHeader>,
    value: &'a [u8],
    scheme: Scheme,
) -> impl Iterator<Item = [&'a [u8]; 2]> {
    let is_about = match known {
        Some(KnownHeader::XForwardedProto) => {
            // An origin may understand what this server does not: `HTTPS`, or one of several.
            value
                != match scheme {
                    Scheme::Http => &b"http"[..],
                    Scheme::Https => b"https",
                }
        }
        Some(KnownHeader::XForwardedHost) => true,
        Some(_) => false,
        None => hop_by_hop::tells_of_client(name) && !name.eq_ignore_ascii_case(b"x-real-ip"),
    };
    // The parts of Forwarded (RFC 7239 §4) that name what was requested, not the client.
    let forwarded = (known == Some(KnownHeader::Forwarded)).then(|| value.split(|byte| matches!(byte, b',' | b';')));
    let parts = forwarded.into_iter().flatten().map(<[u8]>::trim_ascii).filter(|part| {
        let begins = |name: &[u8]| part.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        !begins(b"for=") && !begins(b"by=")
    });
    parts.map(move |part| [name, part]).chain(is_about.then_some([name, value]))
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
