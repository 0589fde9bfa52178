//! What is behind the door.

use std::future::{Ready, ready};

use serow::{Handler, Known, Method, Request, Response, Status, StatusCode};

use super::document;
use crate::access_log::LineCounter;

/// Answers questions about a server.
#[derive(Clone)]
pub(crate) struct Pages {
    status: Status,
    log: LineCounter,
    /// Whether browsers of this machine reach it.
    checks_host: bool,
}

impl Pages {
    pub(crate) fn new(status: Status, log: LineCounter, checks_host: bool) -> Self {
        Self { status, log, checks_host }
    }

    fn answer(&self, request: &Request) -> Response {
        // Against pages of others that give their own name this machine's address (DNS rebinding) and read along.
        if self.checks_host && !request.host().is_some_and(names_this_machine) {
            return Response::plain_status(StatusCode::FORBIDDEN);
        }
        let (media_type, text) = match request.target.path() {
            "/status" => ("application/json", document::text(&self.status.report(), self.log.counts())),
            "/" => ("text/plain; charset=utf-8", CONTENTS.to_owned()),
            _ => return Response::plain_status(StatusCode::NOT_FOUND),
        };
        if !matches!(request.method, Method::GET | Method::HEAD) {
            let mut refused = Response::plain_status(StatusCode::METHOD_NOT_ALLOWED);
            set(&mut refused, Known::Allow, "GET, HEAD");
            return refused;
        }
        let mut response = Response::text(text);
        set(&mut response, Known::ContentType, media_type);
        set(&mut response, Known::CacheControl, "no-store");
        response
    }
}

impl Handler for Pages {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        let answer: Ready<Response> = ready(self.answer(&request));
        answer
    }
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

GET /status  how the server is doing, in JSON; 'serow status --help' explains the fields
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
