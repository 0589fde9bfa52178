//! Notes on responses of an authority, for values that the ACME library does not pass on. Its requests run in the task
//! of an order: so they leave notes for it.

use std::{cell::RefCell, collections::HashMap, str::FromStr, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Response, header};
use serde::Deserialize;
use serow_net::time;

tokio::task_local! {
    static NOTES: RefCell<ResponseNotes>;
}

/// The values from the responses to one order.
#[derive(Debug, Default)]
struct ResponseNotes {
    /// Of the last response that was an error, with its URL.
    retry_after: Option<(String, Duration)>,
    chain: Option<OfferedChain>,
    /// The authority's names in a challenge dns-persist-01, by its URL.
    issuers: HashMap<String, Vec<String>>,
}

/// An authorization, as far as the ACME library does not read it.
#[derive(Deserialize)]
struct Authorization {
    challenges: Vec<Challenge>,
}

#[derive(Deserialize)]
struct Challenge {
    url: String,
    #[serde(default, rename = "issuer-domain-names")]
    issuers: Vec<String>,
}

/// A chain of certificates, and where others for the same certificate are (RFC 8555 §7.4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferedChain {
    /// In PEM.
    pub(crate) pem: String,
    /// URLs.
    pub(crate) alternates: Vec<String>,
}

/// Notes what responses contain until this future is ready.
pub(crate) async fn scope<T>(future: impl Future<Output = T>) -> T {
    NOTES.scope(RefCell::default(), future).await
}

/// How long the authority has asked the current order to wait.
pub(crate) fn retry_after() -> Option<Duration> {
    with_notes(|notes| notes.retry_after.as_ref().map(|(_, delay)| *delay)).flatten()
}

/// The last chain of certificates that has arrived, once.
pub(crate) fn take_chain() -> Option<OfferedChain> {
    with_notes(|notes| notes.chain.take()).flatten()
}

/// The names by which the authority is known in records for dns-persist-01, by the challenge with this URL.
pub(crate) fn issuers(challenge: &str) -> Vec<String> {
    with_notes(|notes| notes.issuers.get(challenge).cloned()).flatten().unwrap_or_default()
}

/// Notes what a response to this URL contains.
pub(crate) fn note(url: &str, response: &Response<Bytes>) {
    let status = response.status();
    let field = |name| response.headers().get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    if !status.is_success() && !status.is_redirection() {
        let delay = field(header::RETRY_AFTER).and_then(|text| delay(text.trim(), field(header::DATE)));
        with_notes(|notes| notes.retry_after = delay.map(|delay| (url.to_owned(), delay)));
        return;
    }
    // The same request, repeated, has succeeded: the order went on.
    with_notes(|notes| notes.retry_after.take_if(|(of, _)| of == url));
    if field(header::CONTENT_TYPE).is_some_and(|kind| kind.contains("json")) {
        return note_issuers(response.body());
    }
    let is_chain = field(header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with(PEM_CHAIN));
    if is_chain && let Ok(pem) = String::from_utf8(response.body().to_vec()) {
        let chain = OfferedChain { pem, alternates: alternates(url, response.headers()) };
        with_notes(|notes| notes.chain = Some(chain));
    }
}

/// A delay in seconds, or until a date (RFC 9110 §10.2.3): by the clock of the authority, if the response has its date.
fn delay(text: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = u64::from_str(text) {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or_else(time::wall);
    // A date in the past is no delay.
    Some(until.duration_since(now).unwrap_or_default())
}

/// Notes the authority's names in the challenges of an authorization. Other responses have no challenges.
fn note_issuers(body: &[u8]) {
    let Ok(authorization) = serde_json::from_slice::<Authorization>(body) else { return };
    let challenges = authorization.challenges.into_iter().filter(|challenge| !challenge.issuers.is_empty());
    with_notes(|notes| notes.issuers.extend(challenges.map(|challenge| (challenge.url, challenge.issuers))));
}

/// Outside an order, there are no notes.
fn with_notes<T>(action: impl FnOnce(&mut ResponseNotes) -> T) -> Option<T> {
    NOTES.try_with(|notes| action(&mut notes.borrow_mut())).ok()
}

/// The targets of links with the relation `alternate` (RFC 8288 §3), in a response to this URL.
fn alternates(url: &str, headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(header::LINK).iter().filter_map(|value| value.to_str().ok());
    let links = values.flat_map(links).filter(|(_, parameters)| is_alternate(parameters));
    links.filter_map(|(target, _)| absolute(url, target)).collect()
}

/// The links of a field, each as its target and its parameters: `<target>; parameters, <target>; …`.
fn links(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let (target, after) = rest.split_once('<')?.1.split_once('>')?;
        // A comma within quotes does not end a link.
        let mut is_quoted = false;
        let end = after.find(|char: char| {
            is_quoted ^= char == '"';
            char == ',' && !is_quoted
        });
        let (parameters, next) = after.split_at(end.unwrap_or(after.len()));
        rest = next;
        Some((target, parameters))
    })
}

/// Whether one of the relations is `alternate`, in any case (RFC 8288 §3.3).
fn is_alternate(parameters: &str) -> bool {
    let relation = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
    let relation = relation.filter(|(name, _)| name.trim().eq_ignore_ascii_case("rel")).map(|(_, value)| value).next();
    let relations = relation.unwrap_or_default().trim().trim_matches('"');
    relations.split_ascii_whitespace().any(|relation| relation.eq_ignore_ascii_case("alternate"))
}

/// The URL of a target: RFC 8555 §6.1 demands TLS, and authorities write whole URLs or absolute paths.
fn absolute(base: &str, target: &str) -> Option<String> {
    if target.starts_with("https://") {
        return Some(target.to_owned());
    }
    let host = base.strip_prefix("https://")?.split('/').next()?;
    (target.starts_with('/') && !target.starts_with("//")).then(|| format!("https://{host}{target}"))
}

/// RFC 8555 §9.1.
const PEM_CHAIN: &str = "application/pem-certificate-chain";

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn alternates_of_a_chain_are_noted_once() {
        const BASE: &str = "https://ca.example/cert/1";
        for (fields, expected) in [
            (&[][..], &[][..]),
            (&[r#"<https://ca.example/cert/1/1>;rel="alternate""#], &["https://ca.example/cert/1/1"]),
            (
                &[r#"<https://ca.example/dir>; rel="index""#, r#"</cert/1/1>; title="a, b"; rel="up ALTERNATE""#],
                &["https://ca.example/cert/1/1"],
            ),
            (
                &["<https://a.example/1>;rel=alternate, <https://a.example/2>; rel=alternate"],
                &["https://a.example/1", "https://a.example/2"],
            ),
            (&["<http://ca.example/1>;rel=alternate", "<//b.example/1>;rel=alternate", "<1>;rel=alternate"], &[]),
            (&["<https://a.example/1", "rel=alternate", "<>;rel", ""], &[]),
        ] {
            let mut response = Response::builder().header("content-type", "application/pem-certificate-chain");
            for field in fields {
                response = response.header("link", *field);
            }
            let response = response.body(Bytes::from("pem")).unwrap();
            note(BASE, &response);
            scope(async {
                assert_eq!(take_chain(), None, "outside a scope");
                note(BASE, &response);
                let alternates = expected.iter().map(|url| (*url).to_owned()).collect();
                assert_eq!(take_chain(), Some(OfferedChain { pem: "pem".to_owned(), alternates }), "{fields:?}");
                assert_eq!(take_chain(), None);
            })
            .await;
        }
    }

    #[tokio::test]
    async fn names_of_the_authority_are_noted_for_each_challenge() {
        let body = r#"{"status":"pending","challenges":[{"type":"dns-01","url":"https://ca.example/1","token":"a"},
            {"type":"dns-persist-01","url":"https://ca.example/2","issuer-domain-names":["ca.example","ca.org"]}]}"#;
        for (body, expected) in
            [(body, &["ca.example", "ca.org"][..]), (r#"{"status":"valid"}"#, &[]), ("[]", &[]), ("", &[])]
        {
            let response = Response::builder().header("content-type", "application/json");
            let response = response.body(Bytes::from(body)).unwrap();
            let noted = scope(async {
                note("https://ca.example/authorization", &response);
                (issuers("https://ca.example/1"), issuers("https://ca.example/2"))
            });
            let expected = expected.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(noted.await, (Vec::new(), expected), "{body}");
        }
    }

    #[tokio::test]
    async fn a_delay_is_noted_if_the_response_is_an_error() {
        for (status, field, expected) in [
            (503, "30", Some(30)),
            (429, " 5 ", Some(5)),
            (200, "30", None),
            (503, "soon", None),
            (429, "Sun, 06 Nov 1994 09:49:37 GMT", Some(3600)),
            (429, "Sunday, 06-Nov-94 08:49:38 GMT", Some(1)),
            (503, "Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            (503, "-1", None),
        ] {
            let response = Response::builder().status(status).header("retry-after", field);
            let response = response.header("date", "Sun, 06 Nov 1994 08:49:37 GMT");
            let response = response.body(Bytes::new()).unwrap();
            let noted = scope(async {
                note("https://ca.example/", &response);
                retry_after()
            });
            assert_eq!(noted.await, expected.map(Duration::from_secs), "{status} {field}");
        }
    }

    #[tokio::test]
    async fn a_delay_is_that_of_the_last_error_and_ends_with_a_success_of_the_same_request() {
        let limited = (503, Some("30"));
        for (responses, expected) in [
            (&[("a", limited)][..], Some(30)),
            (&[("a", limited), ("a", (200, None))], None),
            (&[("a", limited), ("nonce", (200, None))], Some(30)),
            (&[("a", limited), ("b", (400, None))], None),
            (&[("a", limited), ("a", (503, Some("5")))], Some(5)),
        ] {
            let noted = scope(async {
                for (path, (status, field)) in responses {
                    let mut response = Response::builder().status(*status);
                    if let Some(field) = field {
                        response = response.header("retry-after", *field);
                    }
                    note(&format!("https://ca.example/{path}"), &response.body(Bytes::new()).unwrap());
                }
                retry_after()
            });
            assert_eq!(noted.await, expected.map(Duration::from_secs), "{responses:?}");
        }
    }
}
