//! The reasons for differences that are meant.

mod fields;
mod origins;
mod statuses;

use super::{super::requests::Request, Difference};

/// The conditions of a reason besides the values.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Context {
    /// The status of both responses, or Serow's.
    pub(in super::super) status: u16,
    /// Whether a server of the configuration has the request's host.
    pub(in super::super) is_known_host: bool,
    /// Whether the location lists folders.
    pub(in super::super) lists: bool,
    /// Whether `limit_except` is in the location or around it.
    pub(in super::super) limits_methods: bool,
    /// Whether a location of the server has `limit_req` or `limit_conn`.
    pub(in super::super) limits_requests: bool,
    /// Whether the last candidate of `try_files` is a page.
    pub(in super::super) ends_at_page: bool,
    /// Whether the last candidate of `try_files` is a script.
    pub(in super::super) ends_at_script: bool,
    /// Whether a candidate of `try_files` is another path or a named location.
    pub(in super::super) leads_on: bool,
    /// Whether the location has `try_files`.
    pub(in super::super) tries_files: bool,
    /// Whether `try_files` looks for folders, and the path is one without an index.
    pub(in super::super) is_folder_without_index: bool,
    /// Whether the location responds with a text of its own.
    pub(in super::super) responds: bool,
    /// Whether nginx's value is the `default_type` of the location.
    pub(in super::super) is_default_type: bool,
    /// Whether the location is only for users with a password.
    pub(in super::super) authenticates: bool,
    /// Whether errors of the location have pages.
    pub(in super::super) has_error_pages: bool,
    /// Whether `add_header` names the part.
    pub(in super::super) is_added: bool,
    /// Whether an origin answered nginx's request.
    pub(in super::super) is_of_origin: bool,
    /// Whether an origin answered Serow's request.
    pub(in super::super) is_of_serows_origin: bool,
    /// Whether the location passes its requests to PHP.
    pub(in super::super) is_script: bool,
    /// Whether the location stores responses.
    pub(in super::super) caches: bool,
    /// Whether the page of nginx's error is that of a script that does not exist.
    pub(in super::super) lacks_error_script: bool,
    /// Whether a script is the index of the location's folders.
    pub(in super::super) indexes_scripts: bool,
    /// Whether a `fastcgi_param` or the like of the location names the part.
    pub(in super::super) is_named_variable: bool,
    /// Whether the request that an origin gets has the length of a body that is not sent.
    pub(in super::super) withholds_body: bool,
    /// Whether the location asks another server about its requests.
    pub(in super::super) asks: bool,
}

/// The reason for a difference, if it is meant.
pub(in super::super) fn reason(difference: &Difference, request: &Request, context: Context) -> Option<&'static str> {
    let (nginx, serow) = (difference.nginx.as_str(), difference.serow.as_str());
    if context.lacks_error_script
        && serow == "–"
        && matches!(difference.part.as_str(), "origin" | "set-cookie" | "location")
    {
        return Some(MISSING_SCRIPT);
    }
    if difference.part != "status" && context.tries_files && !context.is_of_origin {
        if is_hidden(request.path()) {
            return Some("hidden files are not served: the fallback of `try_files` is the response");
        }
        if request.path().ends_with(".php") {
            return Some("the source of scripts is not sent: the fallback of `try_files` is the response");
        }
    }
    match difference.part.as_str() {
        "status" => statuses::reason(nginx, serow, request, context),
        "response" => response(nginx, serow, context),
        "body" if context.lists && request.path().ends_with('/') => Some("listings are Serow's own page"),
        "body" => None,
        part => match part.strip_prefix("origin") {
            Some(part) => origins::reason(part.trim_start_matches(": "), nginx, serow, request, context),
            None => fields::reason(part, nginx, serow, request, context),
        },
    }
}

/// Whether a path has a part that begins with a dot.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.') && !matches!(name, "." | ".." | ".well-known"))
}

/// Whether Serow does not send a file with this path.
fn is_unsent(path: &str) -> bool {
    is_hidden(path) || path.ends_with(".php")
}

fn response(nginx: &str, serow: &str, context: Context) -> Option<&'static str> {
    match (nginx, serow) {
        ("closed", "421") if !context.is_known_host => Some("421: no site has the host (RFC 9110 §15.5.20)"),
        ("no response in time", _) if context.withholds_body => {
            Some("`proxy_pass_request_body off` leaves Content-Length: the server waits for the body")
        }
        _ => None,
    }
}

/// The reason why a request for a script does not get to php-fpm.
const MISSING_SCRIPT: &str = "Serow looks whether a script exists; for nginx, only php-fpm does, which answers 404";

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(part: &str, nginx: &str, serow: &str, target: &str, context: Context) -> Option<&'static str> {
        let difference =
            Difference { part: part.to_owned(), nginx: nginx.to_owned(), serow: serow.to_owned(), reason: None };
        reason(&difference, &Request { target: target.to_owned(), ..Request::default() }, context)
    }

    #[test]
    fn a_reason_needs_its_conditions() {
        let known = Context { is_known_host: true, ..Context::default() };
        assert!(reason_of("status", "200", "421", "/", Context::default()).is_some());
        assert!(reason_of("status", "200", "421", "/", known).is_none());
        assert!(reason_of("status", "200", "400", "/a/../b", known).is_some());
        assert!(reason_of("status", "200", "400", "/b", known).is_none());
        assert!(reason_of("status", "403", "405", "/", known).is_none());
        assert!(reason_of("origin: target", "/ab", "/%61b", "/%61b", known).is_some());
        assert!(reason_of("origin: target", "/ab", "/%61c", "/%61b", known).is_none());
        let folder = Context { is_folder_without_index: true, tries_files: true, ..known };
        assert!(reason_of("status", "301 /folder/", "200", "/folder", folder).is_some());
        assert!(reason_of("status", "403", "500", "/folder", folder).is_none());
        assert!(reason_of("status", "301 /folder/", "200", "/folder", known).is_none());
        assert!(reason_of("body", "a", "b", "/.hidden", folder).is_some());
        assert!(reason_of("body", "a", "b", "/a.php", folder).is_some());
        assert!(reason_of("body", "a", "b", "/a.php", Context { is_of_origin: true, ..folder }).is_none());
        assert!(reason_of("body", "a", "b", "/a", folder).is_none());
        assert!(reason_of("body", "a", "b", "/.hidden", known).is_none());
        assert!(reason_of("origin: SCRIPT_NAME", "/index.php/a", "/index.php", "/a", known).is_some());
        assert!(reason_of("origin: SCRIPT_NAME", "/index.phpa", "/index.php", "/a", known).is_none());
        assert!(reason_of("origin: REMOTE_USER", "user", "–", "/", known).is_some());
        assert!(reason_of("origin: REMOTE_USER", "user", "–", "/", Context { authenticates: true, ..known }).is_none());
        assert!(reason_of("location", "https:///a", "https://h/a", "/a", known).is_some());
        assert!(reason_of("location", "https://g/a", "https://h/a", "/a", known).is_none());
        assert!(reason_of("location", "https://h/a?b=c?b=c", "https://h/a?b=c", "/a?b=c", known).is_some());
        assert!(reason_of("location", "https://h/a?b=c?b=d", "https://h/a?b=c", "/a?b=c", known).is_none());
        assert!(reason_of("set-cookie", "a=1; Secure; secure", "a=1; Secure", "/", known).is_some());
        assert!(reason_of("set-cookie", "a=1; Secure", "a=1", "/", known).is_none());
        assert!(reason_of("origin: target", "/api//x", "/api/x", "/a/x", known).is_some());
        assert!(reason_of("etag", "\"a\"", "–", "/a", known).is_none());
        let text = Context { responds: true, status: 200, ..known };
        assert!(reason_of("content-type", "image/png", "text/plain", "/a.png", text).is_some());
        assert!(reason_of("content-type", "text/css", "text/plain", "/a", Context { status: 404, ..text }).is_none());
        assert!(reason_of("origin: host", "a", "b", "/", known).is_none());
        assert!(reason_of("origin", "–", "a", "/", known).is_none());
        assert!(reason_of("origin", "–", "a", "/", Context { caches: true, ..known }).is_some());
    }
}
