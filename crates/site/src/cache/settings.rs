//! The settings of a route about its cache.

use std::{sync::Arc, time::Duration};

use serow_cache::CacheRules;
use serow_gateway::TrustedProxies;
use serow_message::{
    Headers, NetworkSet,
    percent::{Octet, decode},
};

/// The settings of the cache of a route; by default, only responses decide.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    /// The rules that apply where responses say nothing.
    pub rules: CacheRules,
    /// Parameters of the query that are not part of the key.
    pub ignored_query: IgnoredQuery,
    /// Header fields of requests that are a part of the key.
    pub key_fields: Vec<String>,
    /// Cookies that are a part of the key.
    pub key_cookies: Vec<String>,
    /// Whether HEAD is answered, too.
    pub answers_head: bool,
    /// Which requests pass the cache by.
    pub bypass: CacheBypass,
    /// For how long requests do not wait for one another after a response that was not stored.
    pub uncacheable_for: Duration,
    /// The clients whose requests with the method PURGE purge; without, these requests are for the origin.
    pub purge_from: Option<PurgingClients>,
    /// The content of the field Cache-Status.
    pub status_field: StatusField,
    /// Whether X-Accel-Expires says nothing, as if the origin had not sent it.
    pub ignores_accel_expires: bool,
}

/// The clients that may purge.
#[derive(Clone, Debug)]
pub struct PurgingClients {
    /// Their addresses.
    pub addresses: Arc<NetworkSet>,
    /// The proxies that may name a client's address, as for all access control.
    pub trust: Arc<TrustedProxies>,
}

/// The content of the field Cache-Status of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusField {
    /// Nothing: there is none.
    Off,
    /// How the cache handled the request.
    #[default]
    On,
    /// The key as well.
    Debug,
}

/// Parameters of the query that are not part of the key. They are removed from requests to the origin, too: otherwise a
/// client could choose what others get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IgnoredQuery {
    /// None.
    #[default]
    Nothing,
    /// Those with these names; a star at the end stands for any text.
    Names(Vec<String>),
    /// The whole query.
    Everything,
}

/// Requests that pass the cache by, which neither get a stored response nor have theirs stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheBypass {
    /// Those that have one of these header fields. Here and below, a star at the end stands for any text.
    pub fields: Vec<String>,
    /// Those that have one of these cookies.
    pub cookies: Vec<String>,
    /// Those that have one of these parameters in their query.
    pub parameters: Vec<String>,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            rules: CacheRules::default(),
            ignored_query: IgnoredQuery::default(),
            key_fields: Vec::new(),
            key_cookies: Vec::new(),
            answers_head: true,
            bypass: CacheBypass::default(),
            uncacheable_for: UNCACHEABLE_FOR,
            purge_from: None,
            status_field: StatusField::default(),
            ignores_accel_expires: false,
        }
    }
}

impl IgnoredQuery {
    /// The query without what is ignored; `None` if it stays as it is.
    pub(super) fn reduce(&self, query: &str) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Everything => Some(String::new()),
            Self::Names(names) => {
                let is_kept = |parameter: &&str| {
                    let name = parameter.split('=').next().unwrap_or_default();
                    !names.iter().any(|ignored| match ignored.strip_suffix('*') {
                        Some(start) => name.starts_with(start),
                        None => name == ignored,
                    })
                };
                let kept: Vec<_> = query.split('&').filter(is_kept).collect();
                let kept = kept.join("&");
                (kept != query).then_some(kept)
            }
        }
    }
}

impl CacheBypass {
    #[inline]
    pub(super) fn covers(&self, headers: &Headers, query: Option<&str>) -> bool {
        self.fields.iter().any(|pattern| match pattern.strip_suffix('*') {
            None => headers.contains(pattern.as_str()),
            Some(_) => headers.iter_known().any(|(name, ..)| fits(pattern, &name.to_ascii_lowercase())),
        }) || self.cookies.iter().any(|pattern| cookies_of(headers, |name| fits(pattern, name)).next().is_some())
            || self.parameters.iter().any(|pattern| parameters(query).any(|name| fits(pattern, &name)))
    }
}

/// All values of a cookie of a request, as any origin may read them: the first or the last of several counts, with spaces around
/// the name (RFC 6265 §5.2), and some split at commas as well (RFC 2965 §3.3.4).
pub(super) fn cookies<'a>(headers: &'a Headers, name: &str) -> impl Iterator<Item = &'a [u8]> {
    cookies_of(headers, move |other| other == name.as_bytes())
}

fn cookies_of(headers: &Headers, is_meant: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = &[u8]> {
    let pairs = headers.get_all(serow::KnownHeader::Cookie).flat_map(|line| line.split(|byte| *byte == b';'));
    let pairs = pairs.flat_map(|pair| std::iter::once(pair).chain(pair.split(|byte| *byte == b',').skip(1)));
    pairs.filter_map(move |pair| {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        is_meant(pair[..equals].trim_ascii()).then(|| pair[equals + 1..].trim_ascii())
    })
}

/// The names of the parameters of a query, decoded.
fn parameters(query: Option<&str>) -> impl Iterator<Item = Vec<u8>> {
    query.into_iter().flat_map(|query| query.split(['&', ';'])).map(|parameter| {
        let name = parameter.split('=').next().unwrap_or_default().as_bytes();
        let decoded = decode(name).map(|octet| octet.map(Octet::byte));
        decoded.collect::<Result<_, _>>().unwrap_or_else(|_| name.to_vec())
    })
}

/// Whether a name is that of a pattern, in which a star at the end stands for any text.
fn fits(pattern: &str, name: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        None => name == pattern.as_bytes(),
        Some(start) => name.starts_with(start.as_bytes()),
    }
}

/// How long a response that was not stored is remembered: longer than such a response takes, as a long poll, so that requests for it
/// rarely wait for one another; as Varnish's `beresp.ttl` for hit-for-miss. A response that can be stored meanwhile is stored.
const UNCACHEABLE_FOR: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_without_what_is_ignored() {
        let names = IgnoredQuery::Names(vec!["utm_*".to_owned(), "id".to_owned()]);
        for (ignored, query, expected) in [
            (&IgnoredQuery::Nothing, "a=1", None),
            (&IgnoredQuery::Everything, "a=1", Some("")),
            (&names, "a=1&b", None),
            (&names, "utm_source=x&a=1&id=2&id&utm_=", Some("a=1")),
            (&names, "id=1", Some("")),
            (&names, "ids=1&ID=2", None),
            // The text behind a semicolon belongs to the parameter and is removed with it: some origins split there.
            (&names, "utm_x=1;callback=evil&a=1", Some("a=1")),
            (&names, "a=1;utm_x=evil", None),
        ] {
            assert_eq!(ignored.reduce(query).as_deref(), expected, "{query}");
        }
    }

    #[test]
    fn all_values_of_a_cookie_are_found() {
        for (lines, expected) in [
            (&["lang=en"][..], &["en"][..]),
            (&["lang=en; lang=evil"], &["en", "evil"]),
            (&["lang=en", "a=1; lang=evil"], &["en", "evil"]),
            (&[" lang = en ;xlang=de"], &["en"]),
            (&["a=1,lang=evil; lang=en"], &["evil", "en"]),
            (&["lang=a,b=c, lang=d,e"], &["a,b=c, lang=d,e", "d"]),
            (&["Lang=en; lang"], &[]),
        ] {
            let mut headers = Headers::new();
            lines.iter().for_each(|line| headers.append("cookie", *line).unwrap());
            let found: Vec<_> = cookies(&headers, "lang").map(|value| str::from_utf8(value).unwrap()).collect();
            assert_eq!(found, expected, "{lines:?}");
        }
    }

    #[test]
    fn cookies_and_fields_that_pass_the_cache_by() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let bypass = CacheBypass {
            fields: names(&["x-preview", "x-debug-*"]),
            cookies: names(&["session", "wordpress_logged_in_*"]),
            parameters: names(&["preview", "amp_*"]),
        };
        for (query, expected) in [
            (None, false),
            (Some("a=1&preview"), true),
            (Some("previews=1&x=preview"), false),
            (Some("p%72eview=1"), true),
            (Some("a;preview=1"), true),
            (Some("amp_=1"), true),
            (Some("amp=1&%zz"), false),
        ] {
            assert_eq!(bypass.covers(&Headers::new(), query), expected, "{query:?}");
        }
        for (name, value, expected) in [
            ("cookie", "session=1", true),
            ("cookie", "a=session=1; b=2", false),
            ("cookie", "a=1; session=", true),
            ("cookie", "a=1;session =2", true),
            ("cookie", "a=1, session=2", true),
            ("cookie", "sessions=1", false),
            ("X-Preview", "", true),
            ("x-other", "session=1", false),
            ("X-Debug-A", "", true),
            ("X-Debug", "", false),
            ("cookie", "a=1; wordpress_logged_in_0a1b=x", true),
            ("cookie", "a=wordpress_logged_in_0a1b=x", false),
        ] {
            let mut headers = Headers::new();
            headers.append(name, value).unwrap();
            assert_eq!(bypass.covers(&headers, None), expected, "{name}: {value}");
        }
    }
}
