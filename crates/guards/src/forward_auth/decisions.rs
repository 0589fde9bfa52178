//! Requests that the other server let in lately.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serow_access::KeyedDigest;
use serow_message::{KnownHeader, Request, Scheme, User};
use serow_proxy::field_values;

use super::ForwardAuthSettings;
use crate::identity::Identity;

/// Requests that the other server let in lately, under a keyed digest: nobody who reads the memory finds a cookie in it.
///
/// Only the same request of the same client is found, since the decision may depend on all of it: where everybody may
/// read `/public`, that says nothing about `/private`.
#[derive(Default)]
pub(super) struct Decisions {
    key: KeyedDigest,
    entries: Mutex<HashMap<[u8; 32], Decision>>,
}

/// A decision, and when it ends.
struct Decision {
    end: Duration,
    user: Option<User>,
    request_fields: Vec<(std::sync::Arc<str>, Bytes)>,
}

impl Decisions {
    /// The digest that identifies a request of this client.
    pub(super) fn digest(&self, request: &Request, client: Option<IpAddr>, settings: &ForwardAuthSettings) -> [u8; 32] {
        let headers = &request.headers;
        let client = client.map(|client| client.to_canonical().to_string()).unwrap_or_default();
        let scheme: &[u8] = match settings.trust.client_scheme(headers, request.connection()) {
            Scheme::Http => b"http",
            Scheme::Https => b"https",
        };
        let (method, target) = (request.method.as_str().as_bytes(), request.target.as_str().as_bytes());
        // Variables may tell what nothing else here does, such as the client's certificate.
        let set = field_values(&settings.set_header, &settings.trust, request);
        let mut parts: Vec<&[u8]> = vec![client.as_bytes(), scheme, method, target];
        parts.extend(set.iter().map(|(_, value)| value.as_slice()));
        let names = [KnownHeader::Host, KnownHeader::XForwardedHost];
        names.into_iter().for_each(|name| push(&mut parts, headers.get_all(name)));
        settings.cache_key.iter().for_each(|name| push(&mut parts, headers.get_all(&**name)));
        self.key.of(parts)
    }

    /// Whose request it is, if it was let in lately. Times are those since any fixed moment.
    pub(super) fn find(&self, digest: &[u8; 32], now: Duration) -> Option<Identity> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let decision = entries.get(digest).filter(|decision| now < decision.end)?;
        let (user, request_fields) = (decision.user.clone(), decision.request_fields.clone());
        Some(Identity { user, request_fields, ..Identity::default() })
    }

    /// Remembers that it was let in, unless its response has fields of its own, such as a new cookie.
    pub(super) fn insert(&self, digest: [u8; 32], identity: &Identity, now: Duration, lifetime: Duration) {
        if !identity.response_fields.is_empty() {
            return;
        }
        let (user, request_fields) = (identity.user.clone(), identity.request_fields.clone());
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_DECISIONS {
            entries.retain(|_, decision| now < decision.end);
        }
        // The next request goes to the other server again, which costs no more than without this table.
        if entries.len() >= MAX_DECISIONS {
            entries.clear();
        }
        entries.insert(digest, Decision { end: now + lifetime, user, request_fields });
    }
}

/// Appends how many values there are, and then each: two fields with a value each are not one field with both.
fn push<'v>(parts: &mut Vec<&'v [u8]>, values: impl Iterator<Item = &'v [u8]>) {
    parts.extend(values);
    parts.push(b"\n");
}

/// Clients may ask for any number of addresses that everybody may read; 80 MB if all decisions are as long as they may.
const MAX_DECISIONS: usize = 10_000;

#[cfg(test)]
mod tests {
    use serow_message::{Headers, Method, RequestHead, Target, Version};
    use serow_variables::{Scope, Text};

    use super::*;

    fn settings() -> ForwardAuthSettings {
        super::super::tests::settings()
    }

    fn request(target: &str, fields: &[(&'static str, &str)]) -> Request {
        let mut headers = Headers::new();
        fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
        let target = Target::parse(target.to_owned().into(), false).unwrap();
        let head = RequestHead { method: Method::GET, target, version: Version::HTTP_11, headers };
        Request::new(head, serow_message::Body::empty(), serow_message::Connection::default())
    }

    #[test]
    fn only_the_same_request_of_the_same_client_is_found() {
        let (decisions, settings) = (Decisions::default(), settings());
        let client = |text: &str| Some(text.parse().unwrap());
        let digest = |target: &str, fields: &[(&'static str, &str)], address: &str| {
            decisions.digest(&request(target, fields), client(address), &settings)
        };
        let usual: &[_] = &[("host", "a.example"), ("cookie", "s=1"), ("accept", "*/*")];
        let known = digest("/a", usual, "192.0.2.1");
        let cases: [(&str, &[_], &str, bool); 10] = [
            ("/a", usual, "192.0.2.1", true),
            ("/a", usual, "::ffff:192.0.2.1", true),
            ("/a", &[("host", "a.example"), ("cookie", "s=1"), ("accept", "text/html")], "192.0.2.1", true),
            ("/a", usual, "192.0.2.2", false),
            ("/b", usual, "192.0.2.1", false),
            ("/a?b", usual, "192.0.2.1", false),
            ("/a", &[("host", "b.example"), ("cookie", "s=1")], "192.0.2.1", false),
            ("/a", &[("host", "a.example"), ("cookie", "s=2")], "192.0.2.1", false),
            ("/a", &[("host", "a.example"), ("cookie", "s=1"), ("cookie", "s=2")], "192.0.2.1", false),
            ("/a", &[("host", "a.example"), ("authorization", "s=1")], "192.0.2.1", false),
        ];
        for (target, fields, address, expected) in cases {
            assert_eq!(digest(target, fields, address) == known, expected, "{target} {fields:?} {address}");
        }
        let mut post = request("/a", usual);
        post.method = Method::POST;
        assert_ne!(decisions.digest(&post, client("192.0.2.1"), &settings), known);
    }

    #[test]
    fn a_decision_counts_only_for_the_same_values_of_fields_that_are_set() {
        let text = |text: &str| Text::parse(text, &Scope::default()).unwrap();
        let set_header = vec![("X-Role".to_owned(), text("$http_x_role")), ("X-Sum".to_owned(), text("a$arg_b"))];
        let (decisions, settings) = (Decisions::default(), ForwardAuthSettings { set_header, ..settings() });
        let digest = |role: &'static str| {
            decisions.digest(&request("/a", &[("host", "a.example"), ("x-role", role)]), None, &settings)
        };
        assert_eq!(digest("guest"), digest("guest"));
        assert_ne!(digest("guest"), digest("admin"));
    }

    #[test]
    fn decisions_end_and_responses_with_cookies_are_not_remembered() {
        let decisions = Decisions::default();
        let seconds = Duration::from_secs;
        let identity = Identity::of_user(User("alice".into()));
        decisions.insert([1; 32], &identity, seconds(100), seconds(10));
        let with_cookie =
            Identity { response_fields: vec![("set-cookie".into(), "a=b".into())], ..Identity::default() };
        decisions.insert([2; 32], &with_cookie, seconds(100), seconds(10));
        for (digest, now, expected) in
            [(1, 100, true), (1, 109, true), (1, 110, false), (2, 100, false), (3, 100, false)]
        {
            let found = decisions.find(&[digest; 32], seconds(now));
            assert_eq!(found.and_then(|identity| identity.user).is_some(), expected, "{digest} {now}");
        }
    }

    #[test]
    fn the_table_never_has_more_decisions_than_it_may() {
        let decisions = Decisions::default();
        for number in 0..3 * MAX_DECISIONS as u64 {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_be_bytes());
            decisions.insert(digest, &Identity::default(), Duration::ZERO, Duration::from_secs(10));
            let count = decisions.entries.lock().unwrap().len();
            assert!(count <= MAX_DECISIONS, "{count}");
        }
    }
}
