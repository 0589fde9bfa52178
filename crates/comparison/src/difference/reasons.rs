//! The reasons for differences that are meant.

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
    /// Whether a candidate of `try_files` is another path or a named location.
    pub(in super::super) leads_on: bool,
    /// Whether a candidate of `try_files` is a folder.
    pub(in super::super) tries_folders: bool,
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
    /// Whether an error has a page.
    pub(in super::super) has_error_page: bool,
    /// Whether the request that an origin gets has the length of a body that is not sent.
    pub(in super::super) withholds_body: bool,
    /// Whether the location asks another server about its requests.
    pub(in super::super) asks: bool,
}

/// The reason for a difference, if it is meant.
pub(in super::super) fn reason(difference: &Difference, request: &Request, context: Context) -> Option<&'static str> {
    let (nginx, serow) = (difference.nginx.as_str(), difference.serow.as_str());
    let is_of_response = !difference.part.starts_with("origin") && difference.part != "status";
    if is_of_response && is_unsent(request.path()) && !context.is_of_origin && context.leads_on {
        return Some("hidden files and sources of scripts are not sent: the last candidate of `try_files` is next");
    }
    if context.lacks_error_script
        && serow == "–"
        && matches!(difference.part.as_str(), "origin" | "set-cookie" | "location")
    {
        return Some(MISSING_SCRIPT);
    }
    match difference.part.as_str() {
        "status" => status(nginx, serow, request, context),
        "response" => response(nginx, serow, context),
        "body" if context.lists && request.path().ends_with('/') => Some("listings are Serow's own page"),
        "body" => None,
        part => match part.strip_prefix("origin") {
            Some(part) => origin(part.trim_start_matches(": "), nginx, serow, request, context),
            None => field(part, nginx, serow, context),
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
        ("closed", "400" | "403" | "404" | "421" | "444") => {
            Some("a response in place of 444 tells people what is wrong")
        }
        _ => None,
    }
}

fn status(nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    let path = request.path();
    let [nginx, serow] = [nginx, serow].map(|value| value.split(' ').next().unwrap_or_default());
    let has_dots = path.contains("/../") || path.contains("/./") || path.ends_with("/..");
    let is_hidden = is_hidden(path);
    // nginx removes a last dot.
    let is_folder = path.ends_with('/') || path.ends_with("/.");
    let has_extension = path.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.ends_with(".html"));
    match (nginx, serow) {
        (_, "421") if !context.is_known_host => Some("421: no site has the host (RFC 9110 §15.5.20)"),
        (_, "400" | "404") if has_dots => Some("400: clients remove dot segments themselves (RFC 3986 §5.2.4)"),
        (_, "404") if path.to_ascii_lowercase().contains("%2f") => {
            Some("%2F does not separate names of files (RFC 3986 §2.2)")
        }
        ("403", "404") if is_folder => Some("404 for a folder without an index: nobody learns which there are"),
        ("403", "405") if context.limits_methods => {
            Some("405 for methods that a location does not have (RFC 9110 §15.5.6)")
        }
        ("503", "429") if context.limits_requests => Some("429 for too many requests (RFC 6585 §4)"),
        ("200" | "206" | "304", "404") if is_hidden => Some("hidden files are not served"),
        ("200" | "206" | "304", "301" | "302") if is_unsent(path) && context.leads_on && !context.is_of_origin => {
            Some("hidden files and sources of scripts are not sent: the last candidate of `try_files` is next")
        }
        ("200" | "206" | "304", "404") if path.ends_with(".php") && !context.is_of_origin => {
            Some("the source of scripts is not sent")
        }
        ("200", "404") if (path.contains(".php") || context.is_script) && context.is_of_origin => Some(MISSING_SCRIPT),
        ("200" | "206", "404") if path.ends_with('/') && context.indexes_scripts && !context.is_of_origin => {
            Some("the source of scripts is not sent")
        }
        ("403", "200") if path.ends_with('/') && context.is_of_serows_origin => {
            Some("a folder without an index is for the front controller, too")
        }
        ("403", "200") if path.ends_with('/') && context.tries_folders && context.leads_on => {
            Some("a folder without an index is for the last candidate of `try_files`, too")
        }
        ("200", "206") if context.caches => {
            Some("a part of a stored response is sent, also if the origin sends no parts (RFC 9110 §14.2)")
        }
        ("200", "304") if request.field("if-modified-since").is_some() => {
            Some("304 also for dates later than the file's")
        }
        ("200", "404") if context.ends_at_page && has_extension => {
            Some("start pages are not sent in the place of images and scripts")
        }
        ("301", "200") if context.tries_folders && context.leads_on && context.is_of_serows_origin => {
            Some("a folder without an index is for the last candidate of `try_files`, too")
        }
        ("404", "200") if context.caches && request.accelerated().is_some() => {
            Some("each cache has its own keys: nginx's is the address of the upstream")
        }
        _ => status_of_method(nginx, serow, request, context),
    }
}

/// The reason for another status of a request with a method that files do not have.
fn status_of_method(nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    let path = request.path();
    let changes = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS");
    match (nginx, serow) {
        ("301" | "404", "405") if changes && (!context.is_of_origin || context.lacks_error_script) => {
            Some("405 for methods that files do not have, also for folders and where there is no file")
        }
        ("403", "405") if changes && path.ends_with('/') && (!context.is_of_origin || context.lacks_error_script) => {
            Some("405 for methods that files do not have, also for folders and where there is no file")
        }
        ("405", "200") if changes && context.is_of_serows_origin => {
            Some("other methods than GET and HEAD are for the application")
        }
        ("405", "200" | "204") if request.method == "OPTIONS" => Some("OPTIONS has an answer (RFC 9110 §9.3.7)"),
        _ => None,
    }
}

fn field(part: &str, nginx: &str, serow: &str, context: Context) -> Option<&'static str> {
    // RFC 9110 §15: those in which `add_header` has an effect without `always`.
    let is_added_to = matches!(context.status, 200 | 201 | 204 | 206 | 301 | 302 | 303 | 304 | 307 | 308);
    match part {
        "content-type" => media_type(nginx, serow, context),
        "content-encoding" => Some("Serow compresses by default, and what is worth it"),
        "vary" if without_encoding(nginx) == serow => Some("files of less than 1 KB are never compressed: no Vary"),
        "vary" if serow.contains("accept") => Some("the response varies with `Accept`, or with `Origin`"),
        "allow" if nginx == "–" => Some("Allow in a 405 (RFC 9110 §15.5.6)"),
        "expires" if serow == "–" => Some("no Expires beside `Cache-Control: max-age` (RFC 9111 §5.3)"),
        "cache-control" if context.status >= 400 && serow == "no-store" => {
            Some("errors of the server do not stay in caches")
        }
        "cache-control" if matches!(context.status, 301 | 302 | 308 | 416) && serow == "–" => {
            Some("`expires` and `cache-control` of `files` are for files")
        }
        "cache-control" if context.asks && matches!(serow, "private" | "no-store") => {
            Some("a response that depends on `forward-auth` does not stay in shared caches")
        }
        "location" if context.is_of_origin && is_same_target(nginx, serow) => {
            Some("an application that gets the client's Host does not redirect to its own address")
        }
        "cache-control" if context.lists => Some("a listing changes with each file"),
        _ if context.is_added && context.caches && (nginx, serow) == ("–", "BYPASS") => {
            Some("`$upstream_cache_status` is BYPASS also for methods that are not stored")
        }
        _ if context.is_added && context.caches && [nginx, serow].iter().all(|value| OF_CACHES.contains(value)) => {
            Some("each cache has its own keys: nginx's is the address of the upstream")
        }
        _ if context.is_added && nginx == "–" && !is_added_to => {
            Some("`headers` are in errors, too: `add_header` without `always` is not")
        }
        _ => None,
    }
}

/// The names in a sorted `Vary` without `Accept-Encoding`, which is the first of them.
fn without_encoding(vary: &str) -> &str {
    match vary.strip_prefix("accept-encoding") {
        Some("") => "–",
        Some(rest) => rest.trim_start_matches(", "),
        None => vary,
    }
}

fn media_type(nginx: &str, serow: &str, context: Context) -> Option<&'static str> {
    match (nginx, serow) {
        ("application/javascript" | "application/x-javascript", "text/javascript")
        | ("image/x-icon", "image/vnd.microsoft.icon")
        | ("text/xml", "application/xml")
        | ("application/octet-stream", "application/gzip") => Some("the registered media type"),
        ("text/plain" | "application/octet-stream" | "–" | "text/html", _)
            if context.status < 300 && !context.is_of_origin =>
        {
            Some("Serow knows more media types than the configuration has")
        }
        (_, "application/octet-stream") if !context.is_of_origin => {
            Some("`default_type` has no translation: files without a known name ending")
        }
        _ => None,
    }
}

fn origin(part: &str, nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    let path = request.path().to_ascii_lowercase();
    match part {
        "" if nginx == "–" && path.contains("/.") => Some("hidden files are not served: the application is next"),
        "" if context.asks && path.ends_with('/') && nginx == format!("{serow}, {serow}") => {
            Some("nginx asks the server of `auth_request` again for the index file of a folder")
        }
        "" if context.caches && (nginx == "–") != (serow == "–") => {
            Some("each cache has its own keys: nginx's is the address of the upstream")
        }
        "content-type" | "CONTENT_TYPE" | "length"
            if request.body.is_some() && context.has_error_page && matches!(serow, "–" | "0") =>
        {
            Some("the request for the page of an error has no body, which the error has had already")
        }
        "method" if context.caches && (nginx, serow) == ("GET", "HEAD") => {
            Some("Serow stores responses to GET only when a client sends GET")
        }
        "range" | "if-modified-since" | "if-none-match" if context.caches => Some("what a cache asks for is up to it"),
        "target" if nginx.strip_prefix('/') == Some(serow) && nginx.starts_with("//") => {
            Some("the prefix of a location and the path of `proxy_pass` are joined by one slash")
        }
        "target" if path.contains("%2f") => Some("%2F for applications stays as it was sent (RFC 3986 §2.2)"),
        "target" | "PATH_INFO" if path.contains("//") && nginx == serow.replace("//", "/") => {
            Some("applications get repeated slashes as they were sent")
        }
        "target" if path.contains('%') && decoded(nginx) == decoded(serow) => {
            Some("applications get encoded letters as they were sent")
        }
        name if name.ends_with("port") && is_number(nginx) && is_number(serow) => Some("the client has another port"),
        "x-forwarded-for" | "x-forwarded-method" | "x-forwarded-uri" | "x-original-url" | "x-original-method"
            if context.asks && nginx == "–" =>
        {
            Some("the server of `forward-auth` gets the fields that all such servers know")
        }
        "content-type" | "range" | "if-modified-since" | "if-none-match" if context.asks && serow == "–" => {
            Some("the server of `forward-auth` gets no fields about a body or a stored copy")
        }
        "host" if nginx.strip_prefix(serow).is_some_and(|port| port.starts_with(':')) => {
            Some("clients name the port in Host, if it is not the usual one")
        }
        _ if request.accelerated().is_some_and(|path| serow.ends_with(path)) => {
            Some("behind `X-Accel-Redirect`, `$request_uri` is the path that it names")
        }
        "x-forwarded-uri" | "x-original-url" if context.asks => {
            Some("the server of `forward-auth` decides about the path that the file has, after `rewrite`")
        }
        "x-forwarded-host" if nginx == "–" => Some("X-Forwarded-Host for applications that make absolute addresses"),
        "x-forwarded-proto" if nginx == "–" => Some("X-Forwarded-Proto is sent with X-Forwarded-For"),
        "x-forwarded-for" if request.field("x-forwarded-for").is_some() => {
            Some("what a client claims in X-Forwarded-For is not passed on")
        }
        _ => variable(part, nginx, serow, request, context),
    }
}

/// The reason for another variable of a program.
fn variable(part: &str, nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    match part {
        "SERVER_NAME" if serow.eq_ignore_ascii_case(&request.host) || nginx == "_" => {
            Some("SERVER_NAME is the host of the request (RFC 3875 §4.1.14)")
        }
        "PATH_INFO" if nginx == "–" && !context.is_named_variable => {
            Some("PATH_INFO is there also without `fastcgi_param` (RFC 3875 §4.1.5)")
        }
        "HTTPS" if nginx == "off" && serow == "–" => Some("HTTPS=off is as good as none"),
        "DOCUMENT_URI" | "PATH_TRANSLATED" if serow == "–" => {
            Some("SCRIPT_NAME, PATH_INFO and SCRIPT_FILENAME say the same")
        }
        _ => None,
    }
}

/// The path and query of a URL.
fn is_same_target(nginx: &str, serow: &str) -> bool {
    // The path of a socket has slashes, too.
    serow.starts_with("http://unix:/") && nginx.starts_with('/') && serow.ends_with(nginx)
        || target_of(serow).is_some_and(|target| nginx.ends_with(target))
}

fn target_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.find('/').map(|start| &rest[start..])
}

fn is_number(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The reason why a request for a script does not get to php-fpm.
const MISSING_SCRIPT: &str = "Serow looks whether a script exists; for nginx, only php-fpm does, which answers 404";
/// The values of `$upstream_cache_status`.
const OF_CACHES: &[&str] = &["HIT", "MISS", "BYPASS", "EXPIRED", "STALE", "UPDATING", "REVALIDATED"];

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
        assert!(reason_of("origin: host", "a", "b", "/", known).is_none());
        assert!(reason_of("origin", "–", "a", "/", known).is_none());
        assert!(reason_of("origin", "–", "a", "/", Context { caches: true, ..known }).is_some());
    }
}
