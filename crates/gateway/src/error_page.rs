//! Error responses: an HTML page, JSON (RFC 9457) or plain text, as the client prefers, and a gRPC status for gRPC
//! clients.

use std::fmt;

use serow_message::{Body, Headers, KnownHeader, Response, StatusCode, weight::weighted};

/// An error response to a request with these headers, with its reason in its extensions. It does not name servers; the
/// log does.
#[must_use]
pub fn error_page(reason: impl Into<ErrorReason>, request: &Headers) -> Response {
    let reason = reason.into();
    let mut response = unchanged(reason, request);
    // So that a site can put a page of its own in place of this one.
    response.extensions.insert(reason);
    response
}

/// Whether the client of a request with these headers prefers errors as problem details (RFC 9457) to a page or text.
#[must_use]
pub fn prefers_problem_details(request: &Headers) -> bool {
    Form::of(request) == Form::Json
}

/// The problem details of this status (RFC 9457), of the media type [`PROBLEM_DETAILS`].
#[must_use]
pub fn problem_details(status: StatusCode) -> Body {
    Form::Json.body(status.into())
}

/// The media type of problem details.
pub const PROBLEM_DETAILS: &str = "application/problem+json";

/// Why no server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorReason {
    /// The meaning of this status; for 503: all servers are busy.
    Status(StatusCode),
    /// All servers have as many requests as they may, and so has the queue.
    AllBusy,
    /// All servers are down or draining, or there are none.
    NoServer,
    /// Those who run the site are at work on it.
    Maintenance,
    /// The request has no valid token.
    NoToken,
}

impl ErrorReason {
    fn status(self) -> StatusCode {
        match self {
            Self::Status(status) => status,
            Self::AllBusy | Self::NoServer | Self::Maintenance => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoToken => StatusCode::UNAUTHORIZED,
        }
    }
}

impl From<StatusCode> for ErrorReason {
    fn from(status: StatusCode) -> Self {
        Self::Status(status)
    }
}

/// As in the log.
impl fmt::Display for ErrorReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(formatter),
            Self::AllBusy => formatter.write_str("all servers are busy"),
            Self::NoServer => formatter.write_str("no server is available"),
            Self::Maintenance => formatter.write_str("maintenance"),
            Self::NoToken => formatter.write_str("no valid token"),
        }
    }
}

fn unchanged(reason: ErrorReason, request: &Headers) -> Response {
    let status = reason.status();
    if let Some(content_type) = request.get(KnownHeader::ContentType).filter(|value| is_grpc(value)) {
        return grpc(reason, content_type);
    }
    if status.is_success() {
        return Response::new(status);
    }
    let form = Form::of(request);
    let response = Response::new(status)
        .with(KnownHeader::ContentType, form.media_type())
        // RFC 9110 §15.1: some of these might be kept otherwise.
        .with(KnownHeader::CacheControl, "no-store")
        .body(form.body(reason));
    match status {
        StatusCode::SERVICE_UNAVAILABLE => response.with(KnownHeader::RetryAfter, RETRY_AFTER),
        _ => response,
    }
}

/// The format of the error page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Json,
    Text,
}

impl Form {
    /// The preferred type among those that the client names; text for clients that accept anything, which are mostly
    /// programs.
    fn of(request: &Headers) -> Self {
        let quality = |wanted: &[&str]| {
            let members = request.list(KnownHeader::Accept).map(weighted);
            let named = members.filter(|(name, _)| wanted.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes())));
            named.map(|(_, quality)| quality).max().unwrap_or(0)
        };
        let html = quality(&["text/html", "application/xhtml+xml"]);
        let json = quality(&["application/problem+json", "application/json"]);
        let text = quality(&["text/plain"]);
        match html.max(json).max(text) {
            0 => Self::Text,
            most if most == html => Self::Html,
            most if most == json => Self::Json,
            _ => Self::Text,
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Json => PROBLEM_DETAILS,
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    /// All texts are constants of this program, so nothing has to be escaped.
    fn body(self, reason: ErrorReason) -> Body {
        let (status, detail) = (reason.status(), detail(reason));
        let (number, reason) = (status.as_str(), status.canonical_reason().unwrap_or("Error"));
        match self {
            Self::Html => [PAGE[0], number, " ", reason, PAGE[1], STYLE, PAGE[2], reason, PAGE[3], detail, PAGE[4]]
                .concat()
                .into(),
            Self::Json => format!(
                "{{\"type\":\"about:blank\",\"title\":\"{reason}\",\"status\":{number},\"detail\":\"{detail}\"}}\n"
            )
            .into(),
            Self::Text => format!("{number} {reason}: {detail}\n").into(),
        }
    }
}

/// A sentence for people who do not run the server.
fn detail(reason: ErrorReason) -> &'static str {
    match reason.status() {
        _ if reason == ErrorReason::NoServer => "No server is available at the moment. Please try again later.",
        _ if reason == ErrorReason::Maintenance => "This site is under maintenance. Please try again later.",
        _ if reason == ErrorReason::NoToken => "This address needs a token.",
        StatusCode::BAD_GATEWAY => "The server behind this address cannot be reached or sent an invalid response.",
        StatusCode::SERVICE_UNAVAILABLE => "All servers are busy at the moment. Please try again in a few seconds.",
        StatusCode::GATEWAY_TIMEOUT => "The server behind this address took too long to answer.",
        StatusCode::FORBIDDEN => "Access to this address is not allowed.",
        StatusCode::UNAUTHORIZED => "This address needs a user name and a password.",
        StatusCode::TOO_MANY_REQUESTS => "There were too many requests. Please try again later.",
        StatusCode::NOT_FOUND => "There is nothing at this address.",
        StatusCode::METHOD_NOT_ALLOWED => "This address does not support the method of the request.",
        StatusCode::BAD_REQUEST => "This request cannot be understood.",
        StatusCode::PAYLOAD_TOO_LARGE => "The request is too large.",
        StatusCode::NOT_IMPLEMENTED => "Requests of this kind are not supported here.",
        StatusCode::INSUFFICIENT_STORAGE => "There is not enough storage for a request of this size at the moment.",
        _ => "This request could not be answered.",
    }
}

fn is_grpc(content_type: &[u8]) -> bool {
    content_type.get(..GRPC.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(GRPC))
}

/// A response of headers only, gRPC's form of errors over HTTP/2 (`Trailers-Only`).
fn grpc(reason: ErrorReason, content_type: &[u8]) -> Response {
    let code = match reason.status() {
        StatusCode::GATEWAY_TIMEOUT => DEADLINE_EXCEEDED,
        StatusCode::NOT_IMPLEMENTED => UNIMPLEMENTED,
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::INSUFFICIENT_STORAGE | StatusCode::TOO_MANY_REQUESTS => {
            RESOURCE_EXHAUSTED
        }
        StatusCode::UNAUTHORIZED => UNAUTHENTICATED,
        StatusCode::FORBIDDEN => PERMISSION_DENIED,
        StatusCode::BAD_REQUEST => INTERNAL,
        _ => UNAVAILABLE,
    };
    let mut response = Response::new(StatusCode::OK);
    // It was received as the value of a field.
    let _ = response.headers.append(KnownHeader::ContentType, content_type);
    response.with("grpc-status", code).with("grpc-message", detail(reason))
}

const GRPC: &[u8] = b"application/grpc";

// gRPC's status codes and their mapping from HTTP statuses, from its documents `statuscodes.md` and
// `http-grpc-status-mapping.md`; the latter has no mapping for timeouts, hence 504.
const DEADLINE_EXCEEDED: &str = "4";
const RESOURCE_EXHAUSTED: &str = "8";
const UNIMPLEMENTED: &str = "12";
const PERMISSION_DENIED: &str = "7";
const UNAUTHENTICATED: &str = "16";
const INTERNAL: &str = "13";
const UNAVAILABLE: &str = "14";

/// In seconds: by then, a restarting server is back and a queue has moved on (requests wait for 5 s by default).
const RETRY_AFTER: &str = "5";

/// The page: status, style, reason and detail go between these parts.
const PAGE: [&str; 5] = [
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
     <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
    "</title>\n<style>\n",
    "</style>\n</head>\n<body>\n<main>\n<h1>",
    "</h1>\n<p>",
    "</p>\n</main>\n</body>\n</html>\n",
];

const STYLE: &str = include_str!("error_page/style.css");

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &str) -> Headers {
        let mut headers = Headers::new();
        headers.append("accept", value).unwrap();
        headers
    }

    fn text(response: Response) -> String {
        match response.body.into_kind() {
            serow_message::BodyKind::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            _ => String::new(),
        }
    }

    #[test]
    fn accept_selects_the_format() {
        let cases = [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Form::Html),
            ("application/json", Form::Json),
            ("application/json, text/plain, */*", Form::Json),
            ("application/problem+json;q=0.9, text/html;q=0.8", Form::Json),
            ("text/html, application/json", Form::Html),
            ("text/plain", Form::Text),
            ("text/html;q=0", Form::Text),
            ("*/*", Form::Text),
            ("image/webp", Form::Text),
            ("", Form::Text),
        ];
        for (value, form) in cases {
            assert_eq!(Form::of(&accept(value)), form, "{value}");
        }
        assert_eq!(Form::of(&Headers::new()), Form::Text);
    }

    #[test]
    fn pages_have_status_and_format() {
        let answer = unchanged(StatusCode::BAD_GATEWAY.into(), &accept("text/html"));
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
        assert_eq!(answer.headers.get_str(KnownHeader::ContentType), Some("text/html; charset=utf-8"));
        assert!(!answer.headers.contains(KnownHeader::RetryAfter));
        let page = text(answer);
        assert!(page.contains("<title>502 Bad Gateway</title>") && page.contains("<h1>Bad Gateway</h1>"), "{page}");
        assert!(page.len() < 2048 && page.ends_with("</html>\n"));

        let answer = unchanged(StatusCode::GATEWAY_TIMEOUT.into(), &accept("application/json"));
        let expected = "{\"type\":\"about:blank\",\"title\":\"Gateway Timeout\",\"status\":504,\
                        \"detail\":\"The server behind this address took too long to answer.\"}\n";
        assert_eq!(answer.headers.get_str(KnownHeader::ContentType), Some("application/problem+json"));
        assert_eq!(text(answer), expected);

        let answer = unchanged(StatusCode::SERVICE_UNAVAILABLE.into(), &Headers::new());
        assert_eq!(answer.headers.get_str(KnownHeader::RetryAfter), Some("5"));
        assert!(text(answer).starts_with("503 Service Unavailable: All servers are busy"));
        let answer = unchanged(ErrorReason::NoServer, &Headers::new());
        assert_eq!(answer.headers.get_str(KnownHeader::RetryAfter), Some("5"));
        assert!(text(answer).starts_with("503 Service Unavailable: No server is available"));

        let answer = unchanged(StatusCode::NO_CONTENT.into(), &accept("text/html"));
        assert!(answer.status == StatusCode::NO_CONTENT && answer.headers.is_empty() && answer.body.is_end());
    }

    #[test]
    fn statuses_of_grpc() {
        let cases = [(502, "14"), (503, "14"), (504, "4"), (400, "13"), (501, "12"), (507, "8"), (413, "8")];
        for (status, code) in cases {
            let mut headers = accept("text/html");
            headers.append(KnownHeader::ContentType, "application/grpc+proto").unwrap();
            let answer = unchanged(StatusCode::from_u16(status).unwrap().into(), &headers);
            assert_eq!(
                (answer.status, answer.headers.get_str("grpc-status")),
                (StatusCode::OK, Some(code)),
                "{status}"
            );
            assert_eq!(answer.headers.get_str(KnownHeader::ContentType), Some("application/grpc+proto"));
            let message = answer.headers.get_str("grpc-message").unwrap();
            assert!(!message.contains('%') && message.is_ascii() && answer.body.is_end());
        }
    }
}
