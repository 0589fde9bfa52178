//! What is behind the door.

use serow::{Handler, Known, Method, Request, Response, StatusCode};

use super::{
    metrics,
    subject::{Refusal, Subject},
};

/// Answers those who run a server.
#[derive(Clone)]
pub(crate) struct Pages {
    subject: Subject,
    /// Whether browsers of this machine reach it.
    reached_by_browsers: bool,
}

impl Pages {
    pub(crate) fn new(subject: Subject, reached_by_browsers: bool) -> Self {
        Self { subject, reached_by_browsers }
    }

    /// Whether a page of somebody else may be behind a request: one that gave its own name this machine's address (DNS
    /// rebinding), to read along; or one that sends a form here.
    fn is_of_a_page(&self, request: &Request) -> bool {
        let is_named = request.host().is_some_and(names_this_machine);
        self.reached_by_browsers && (!is_named || request.headers.contains("origin"))
    }

    async fn answer(self, request: Request) -> Response {
        if self.is_of_a_page(&request) {
            return Response::plain_status(StatusCode::FORBIDDEN);
        }
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        let posts = request.method == Method::POST;
        match request.target.path() {
            "/" if reads => text("text/plain; charset=utf-8", CONTENTS),
            "/status" if reads => self.status("application/json", |status| format!("{status:#}\n")).await,
            "/metrics" if reads => self.status(metrics::MEDIA_TYPE, metrics::text).await,
            "/reload" if posts => match self.subject.reload().await {
                Ok(said) => text("text/plain; charset=utf-8", &said),
                Err(Refusal::Impossible(reason)) => refusal(StatusCode::NOT_IMPLEMENTED, reason),
                Err(Refusal::Failed(reason)) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &reason),
            },
            "/drain" if posts => {
                self.subject.drain().await;
                text("text/plain; charset=utf-8", "finishing what runs, then ending\n")
            }
            "/" | "/status" | "/metrics" => not_allowed("GET, HEAD"),
            "/reload" | "/drain" => not_allowed("POST"),
            _ => Response::plain_status(StatusCode::NOT_FOUND),
        }
    }

    async fn status(&self, media_type: &str, written: impl Fn(&serde_json::Value) -> String) -> Response {
        match self.subject.status().await {
            Some(status) => text(media_type, &written(&status)),
            None => refusal(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"),
        }
    }
}

impl Handler for Pages {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.clone().answer(request)
    }
}

fn text(media_type: &str, text: &str) -> Response {
    let mut response = Response::text(text.to_owned());
    set(&mut response, Known::ContentType, media_type);
    set(&mut response, Known::CacheControl, "no-store");
    response
}

fn refusal(status: StatusCode, reason: &str) -> Response {
    let mut response = text("text/plain; charset=utf-8", &format!("{}\n", reason.trim_end()));
    response.status = status;
    response
}

fn not_allowed(methods: &str) -> Response {
    let mut refused = Response::plain_status(StatusCode::METHOD_NOT_ALLOWED);
    set(&mut refused, Known::Allow, methods);
    refused
}

fn set(response: &mut Response, name: Known, value: &str) {
    // Constants of this file are valid values.
    let _ = response.headers.insert(name, value);
}

/// Whether a Host field has one of this machine's own names, which no page of others can have.
fn names_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

const CONTENTS: &str = "\
Serow's door for administration.

GET /status   how the server is doing, in JSON; 'serow status --help' explains the fields
GET /metrics  the same for Prometheus
POST /reload  read the settings file anew (serow run): 200, or 422 and what is wrong
POST /drain   finish what runs, then end
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for host in ["localhost", "LocalHost:9000", "127.0.0.1", "127.0.0.1:9000", "[::1]", "[::1]:9000"] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in ["", "example.com", "example.com:9000", "10.0.0.1", "localhost.example.com:9000", "[::2]:80", ":80"]
        {
            assert!(!names_this_machine(host), "{host}");
        }
    }
}
