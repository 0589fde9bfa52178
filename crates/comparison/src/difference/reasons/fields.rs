//! The reasons for other fields of responses.

use std::collections::BTreeSet;

use super::{Context, origins::decoded};
use crate::requests::Request;

/// The reason for another value of a field.
pub(super) fn reason(
    part: &str,
    nginx: &str,
    serow: &str,
    request: &Request,
    context: Context,
) -> Option<&'static str> {
    // RFC 9110 §15: those in which `add_header` has an effect without `always`.
    let is_added_to = matches!(context.status, 200 | 201 | 204 | 206 | 301 | 302 | 303 | 304 | 307 | 308);
    match part {
        "content-type" => media_type(nginx, serow, request, context),
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
        "cache-control" if (nginx, serow) == ("–", "no-store") && context.has_error_pages && !context.is_of_origin => {
            Some("errors of the server do not stay in caches, also if they have a page with another status")
        }
        "location" if query_of(request).is_some_and(|query| nginx == format!("{serow}?{query}")) => {
            Some("the query stands once in a redirect: nginx adds it behind that of `$request_uri`")
        }
        "location" if request.path().contains('%') && decoded(serow) == nginx => {
            Some("a redirect has the path as the client sent it")
        }
        "etag" if !context.is_of_origin && nginx != "–" && serow != "–" => {
            Some("each server makes its own ETag of a file")
        }
        "accept-ranges" if !context.is_of_origin && context.status == 206 => {
            Some("Accept-Ranges is in parts of files, too")
        }
        "set-cookie" if attributes(nginx) == attributes(serow) => Some("an attribute of a cookie stands once"),
        "location" if nginx.starts_with("https:///") || nginx.starts_with("http:///") => {
            Some("nginx redirects to an empty name, since the server has none: Serow to the host of the request")
        }
        "location" if context.is_of_origin && is_same_target(nginx, serow) => {
            Some("an application that gets the client's Host does not redirect to its own address")
        }
        "cache-control" if context.lists => Some("a listing changes with each file"),
        _ if context.is_added && context.caches && (nginx, serow) == ("–", "BYPASS") => {
            Some("`$upstream_cache_status` is BYPASS also for methods that are not stored")
        }
        _ if context.is_added && context.caches && (nginx, serow) == ("BYPASS", "–") => {
            Some("`$upstream_cache_status` is empty for requests that pass the cache by")
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

/// The query of a request.
fn query_of(request: &Request) -> Option<&str> {
    request.target.split_once('?').map(|(_, query)| query)
}

/// A cookie and its attributes, each once.
fn attributes(cookie: &str) -> BTreeSet<String> {
    cookie.split(';').map(|attribute| attribute.trim().to_ascii_lowercase()).collect()
}

/// The names in a sorted `Vary` without `Accept-Encoding`, which is the first of them.
fn without_encoding(vary: &str) -> &str {
    match vary.strip_prefix("accept-encoding") {
        Some("") => "–",
        Some(rest) => rest.trim_start_matches(", "),
        None => vary,
    }
}

fn media_type(nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    let has_ending = request.path().rsplit('/').next().is_some_and(|name| name.contains('.'));
    match (nginx, serow) {
        _ if context.responds && has_ending && !context.is_of_origin => {
            Some("the text of `return` has one type, whatever the path ends in")
        }
        ("application/javascript" | "application/x-javascript", "text/javascript")
        | ("image/x-icon", "image/vnd.microsoft.icon")
        | ("text/xml", "application/xml")
        | ("application/octet-stream", "application/gzip") => Some("the registered media type"),
        ("text/plain" | "application/octet-stream" | "–" | "text/html", _)
            if context.status < 300 && !context.is_of_origin =>
        {
            Some("Serow knows more media types than the configuration has")
        }
        ("text/html", "text/plain") if context.status >= 400 && !context.is_of_origin => {
            Some("errors are pages only for clients that accept HTML")
        }
        _ if context.is_default_type && context.status < 300 && has_ending && !context.is_of_origin => {
            Some("Serow knows more media types than the configuration has")
        }
        (_, "application/octet-stream") if !context.is_of_origin => {
            Some("`default_type` has no translation: files without a known name ending")
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

/// The values of `$upstream_cache_status`.
const OF_CACHES: &[&str] = &["HIT", "MISS", "BYPASS", "EXPIRED", "STALE", "UPDATING", "REVALIDATED"];
