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
    /// Whether the location asks another server about its requests.
    pub(in super::super) asks: bool,
}

/// The reason for a difference, if it is meant.
pub(in super::super) fn reason(difference: &Difference, request: &Request, context: Context) -> Option<&'static str> {
    let (nginx, serow) = (difference.nginx.as_str(), difference.serow.as_str());
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

fn response(nginx: &str, serow: &str, context: Context) -> Option<&'static str> {
    match (nginx, serow) {
        ("closed", "421") if !context.is_known_host => Some("421: no site has the host (RFC 9110 §15.5.20)"),
        _ => None,
    }
}

fn status(nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    let path = request.path();
    let nginx = nginx.split(' ').next().unwrap_or_default();
    let changes = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS");
    let has_dots = path.contains("/../") || path.contains("/./") || path.ends_with("/..");
    let is_hidden = path.split('/').any(|name| name.starts_with('.') && !matches!(name, "." | ".." | ".well-known"));
    let has_extension = path.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.ends_with(".html"));
    match (nginx, serow) {
        (_, "421") if !context.is_known_host => Some("421: no site has the host (RFC 9110 §15.5.20)"),
        (_, "400") if has_dots => Some("400: clients remove dot segments themselves (RFC 3986 §5.2.4)"),
        (_, "404") if path.to_ascii_lowercase().contains("%2f") => {
            Some("%2F does not separate names of files (RFC 3986 §2.2)")
        }
        ("403", "404") if path.ends_with('/') => {
            Some("404 for a folder without an index: nobody learns which there are")
        }
        ("403", "405") if context.limits_methods => {
            Some("405 for methods that a location does not have (RFC 9110 §15.5.6)")
        }
        ("503", "429") if context.limits_requests => Some("429 for too many requests (RFC 6585 §4)"),
        ("200" | "206" | "304", "404") if is_hidden => Some("hidden files are not served"),
        ("200" | "206" | "304", "404") if path.ends_with(".php") && !context.is_of_origin => {
            Some("the source of scripts is not sent")
        }
        ("200", "404") if (path.contains(".php") || context.is_script) && context.is_of_origin => {
            Some("Serow looks whether a script exists; for nginx, only php-fpm does, which answers 404")
        }
        ("403", "200") if path.ends_with('/') && context.is_of_serows_origin => {
            Some("a folder without an index is for the front controller, too")
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
        ("301" | "404", "405") if changes && !context.is_of_origin => {
            Some("405 for methods that files do not have, also for folders and where there is no file")
        }
        ("403", "405") if changes && path.ends_with('/') && !context.is_of_origin => {
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
        "vary" if nginx == "accept-encoding" => Some("files of less than 1 KB are never compressed: no Vary"),
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
        "location" if context.is_of_origin && target_of(serow).is_some_and(|target| nginx.ends_with(target)) => {
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
        "SERVER_NAME" if !context.is_known_host || nginx == "_" => {
            Some("SERVER_NAME is the host of the request (RFC 3875 §4.1.14)")
        }
        "" if context.caches && (nginx == "–") != (serow == "–") => {
            Some("each cache has its own keys: nginx's is the address of the upstream")
        }
        "HTTPS" if nginx == "off" && serow == "–" => Some("HTTPS=off is as good as none"),
        "method" if context.caches && (nginx, serow) == ("GET", "HEAD") => {
            Some("Serow stores responses to GET only when a client sends GET")
        }
        "range" | "if-modified-since" | "if-none-match" if context.caches => Some("what a cache asks for is up to it"),
        "target" if nginx.strip_prefix('/') == Some(serow) && nginx.starts_with("//") => {
            Some("the prefix of a location and the path of `proxy_pass` are joined by one slash")
        }
        "target" if path.contains("%2f") => Some("%2F for applications stays as it was sent (RFC 3986 §2.2)"),
        "target" if path.contains("//") => Some("applications get repeated slashes as they were sent"),
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
        "x-forwarded-uri" | "x-original-url" if context.asks => {
            Some("the server of `forward-auth` decides about the path that the file has, after `rewrite`")
        }
        "x-forwarded-host" if nginx == "–" => Some("X-Forwarded-Host for applications that make absolute addresses"),
        "x-forwarded-proto" if nginx == "–" => Some("X-Forwarded-Proto is sent with X-Forwarded-For"),
        "DOCUMENT_URI" | "PATH_TRANSLATED" if serow == "–" => {
            Some("SCRIPT_NAME, PATH_INFO and SCRIPT_FILENAME say the same")
        }
        "x-forwarded-for" if request.field("x-forwarded-for").is_some() => {
            Some("what a client claims in X-Forwarded-For is not passed on")
        }
        _ => None,
    }
}

/// The path and query of a URL.
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
