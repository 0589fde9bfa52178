//! Own pages for errors.

use std::{ops::RangeInclusive, sync::Arc};

use bytes::Bytes;
use serow_gateway::{ErrorReason, PROBLEM_DETAILS, problem_details};
use serow_message::{Headers, KnownHeader, Response, Unanswered};

use super::{Asked, Source, put, vary};
use crate::error_routes::{RoutedPage, WantedPage};

/// Own pages for errors, in place of the short texts that the server sends otherwise. The status stays.
///
/// Clients that prefer JSON get problem details (RFC 9457) in place of a page that is not JSON, and in place of the
/// server's own texts.
#[derive(Clone, Debug, Default)]
pub struct ErrorPages {
    /// The pages; the first of a status counts.
    pub pages: Vec<(RangeInclusive<u16>, Page)>,
    /// Whether they also replace the errors of applications and other servers, and not only those that the server makes
    /// because it gets no response from them.
    pub intercept: bool,
}

/// A page, or who makes it.
#[derive(Clone, Debug)]
pub enum Page {
    /// Always the same.
    Fixed(ErrorPage),
    /// A route of the site makes it.
    Routed(Arc<RoutedPage>),
}

/// A page that is always the same.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    /// Its content.
    pub body: Bytes,
    /// Its Content-Type.
    pub media_type: &'static str,
}

impl ErrorPages {
    /// Puts a page in the place of the response, if it is an error that has one.
    pub(super) fn apply(&self, asked: &Asked, source: Source, response: &mut Response) {
        let status = response.status;
        let is_unanswered = response.extensions.get::<Unanswered>().is_some();
        if status.as_u16() < 400 || asked.is_for_page || is_unanswered || is_grpc(&response.headers) {
            return;
        }
        let is_own = source != Source::Behind || response.extensions.get::<ErrorReason>().is_some();
        if !is_own && !self.intercept {
            return;
        }
        let page = self.pages.iter().find(|(statuses, _)| statuses.contains(&status.as_u16())).map(|(_, page)| page);
        let page = match page {
            Some(Page::Fixed(page)) => Some(page),
            Some(Page::Routed(page)) => {
                response.extensions.insert(WantedPage(Arc::clone(page)));
                None
            }
            None => None,
        };
        let (body, media_type) = match page {
            Some(page) if !asked.prefers_json || page.is_json() => (page.body.clone().into(), page.media_type),
            None if !is_own || !asked.prefers_json => return,
            _ => (problem_details(status), PROBLEM_DETAILS),
        };
        let headers = &mut response.headers;
        headers.retain_known(|_, known, _| known.is_none_or(|known| !OF_CONTENT.contains(&known)));
        put(headers, KnownHeader::ContentType, media_type);
        vary(headers, "Accept");
        response.body = body;
    }
}

impl ErrorPage {
    fn is_json(&self) -> bool {
        self.media_type.starts_with("application/") && self.media_type.contains("json")
    }
}

/// gRPC has its errors in trailers.
fn is_grpc(headers: &Headers) -> bool {
    headers.get(KnownHeader::ContentType).is_some_and(|value| value.starts_with(b"application/grpc"))
}

/// Fields that describe the content that is replaced. Those about the error stay: Allow, Retry-After, WWW-Authenticate,
/// and Content-Range of a 416.
const OF_CONTENT: [KnownHeader; 9] = [
    KnownHeader::AcceptRanges,
    KnownHeader::ContentDisposition,
    KnownHeader::ContentEncoding,
    KnownHeader::ContentLanguage,
    KnownHeader::ContentLength,
    KnownHeader::ContentLocation,
    KnownHeader::ContentType,
    KnownHeader::Etag,
    KnownHeader::LastModified,
];

#[cfg(test)]
mod tests {
    use serow_message::{BodyKind, Request, StatusCode};

    use super::*;
    use crate::policy::RoutePolicy;

    fn pages(intercept: bool) -> RoutePolicy {
        let page = |text: &'static str, media_type| {
            Page::Fixed(ErrorPage { body: Bytes::from_static(text.as_bytes()), media_type })
        };
        let pages = vec![
            (404..=404, page("missing", "text/html; charset=utf-8")),
            (503..=503, page("{}", "application/json")),
            (500..=599, page("sorry", "text/html; charset=utf-8")),
        ];
        RoutePolicy { error_pages: Some(ErrorPages { pages, intercept }.into()), ..RoutePolicy::default() }
    }

    /// Status, source, Accept, whether errors are intercepted, and the body that is sent.
    #[test]
    fn pages_by_status_and_source() {
        let json = "application/json";
        let problem = |status: u16| format!("\"status\":{status},");
        for (status, source, accept, intercept, expected) in [
            (200, Source::Behind, "", true, "original".to_owned()),
            (301, Source::Router, "", true, "original".to_owned()),
            (404, Source::Router, "", false, "missing".to_owned()),
            (404, Source::Folder, "text/html", false, "missing".to_owned()),
            (404, Source::Behind, "", false, "original".to_owned()),
            (404, Source::Behind, "", true, "missing".to_owned()),
            (405, Source::Router, "", false, "original".to_owned()),
            (500, Source::Behind, "", true, "sorry".to_owned()),
            (503, Source::Behind, "", true, "{}".to_owned()),
            // Problem details.
            (404, Source::Router, json, false, problem(404)),
            (405, Source::Router, json, false, problem(405)),
            (405, Source::Behind, json, true, "original".to_owned()),
            (500, Source::Behind, json, true, problem(500)),
            (503, Source::Behind, json, true, "{}".to_owned()),
        ] {
            let policy = pages(intercept);
            let mut request = Request::get("/");
            request.headers.append("accept", accept).unwrap();
            let mut response = Response::new(StatusCode::from_u16(status).unwrap())
                .with("content-type", "text/plain")
                .with("etag", "\"a\"")
                .with("retry-after", "5")
                .body("original");
            policy.apply(&policy.ask(&request), source, &mut response);
            assert_eq!(response.status.as_u16(), status);
            assert_eq!(response.headers.get_str("retry-after"), Some("5"));
            let is_original = expected == "original";
            assert_eq!(response.headers.contains("etag"), is_original, "{status} {source:?} {accept}");
            let BodyKind::Bytes(body) = response.body.into_kind() else { panic!("{status}: not in memory") };
            let body = String::from_utf8_lossy(&body);
            assert!(body.contains(&expected), "{status} {source:?} {accept} {intercept}: {body}");
        }
    }

    #[test]
    fn errors_that_the_server_makes_for_a_handler_are_its_own() {
        let policy = pages(false);
        let request = Request::get("/");
        let mut response = serow_gateway::error_page(StatusCode::BAD_GATEWAY, &request.headers);
        policy.apply(&policy.ask(&request), Source::Behind, &mut response);
        assert!(matches!(response.body.into_kind(), BodyKind::Bytes(body) if body == "sorry"));
        assert_eq!(response.headers.get_str("cache-control"), Some("no-store"));
    }
}
