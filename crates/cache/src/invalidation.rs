//! Invalidation of stored responses by unsafe methods (RFC 9111 §4.4).

use serow_message::{Headers, KnownHeader, Method, StatusCode};

use crate::key::Key;

/// Whether a response with this status to a request with this method invalidates what is stored for its URI. A method
/// that is not known may change anything.
#[must_use]
pub fn invalidates(method: &Method, status: StatusCode) -> bool {
    !method.is_safe() && (status.is_success() || status.is_redirection())
}

/// The keys of the URIs that such a response invalidates: that of the request, and those that Location and
/// Content-Location name on the same origin.
#[must_use]
pub fn invalidated(request: &Key, response: &Headers) -> Vec<Key> {
    let mut keys = vec![request.clone()];
    for field in [KnownHeader::Location, KnownHeader::ContentLocation] {
        let uri = response.get_str(field).and_then(|reference| resolve(request.uri(), reference));
        keys.extend(uri.map(|uri| request.with_uri(&uri)).filter(|key| key != request));
    }
    keys
}

/// The URI that a reference stands for (RFC 3986 §5.2), if it is on the origin of the base: another site must not
/// invalidate what is stored for it.
fn resolve(base: &str, reference: &str) -> Option<String> {
    let reference = reference.split('#').next().unwrap_or_default().trim();
    if reference.is_empty() || reference.contains(|byte: char| byte.is_ascii_control() || byte == ' ') {
        return None;
    }
    let (scheme, rest) = base.split_once("://")?;
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    let origin = format!("{scheme}://{authority}");
    if let Some(other) = reference.strip_prefix("//") {
        return same_origin(&origin, &format!("{scheme}://{other}"));
    }
    if has_scheme(reference) {
        return same_origin(&origin, reference);
    }
    if reference.starts_with('/') {
        return Some(format!("{origin}{}", without_dots(reference)));
    }
    let path = &rest[authority.len()..];
    let path = path.split('?').next().unwrap_or_default();
    if reference.starts_with('?') {
        return Some(format!("{origin}{path}{reference}"));
    }
    let folder = &path[..path.rfind('/').map_or(0, |slash| slash + 1)];
    Some(format!("{origin}{}", without_dots(&format!("{folder}{reference}"))))
}

/// Whether a reference begins with a scheme: a colon before the first slash or question mark.
fn has_scheme(reference: &str) -> bool {
    let first = reference.split(['/', '?']).next().unwrap_or_default();
    first.contains(':')
}

/// The URI, if it begins with this origin; the spelling of the origin becomes that of keys.
fn same_origin(origin: &str, uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let scheme = scheme.to_ascii_lowercase();
    let port = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.to_ascii_lowercase();
    let authority = authority.strip_suffix(port).unwrap_or(&authority);
    let slash = if rest.starts_with('/') { "" } else { "/" };
    (format!("{scheme}://{authority}") == origin).then(|| format!("{origin}{slash}{rest}"))
}

/// A path without `.` and `..` (RFC 3986 §5.2.4); its query stays.
fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut segments: Vec<&str> = Vec::new();
    let all: Vec<_> = path.split('/').skip(1).collect();
    for (number, segment) in all.iter().enumerate() {
        let is_last = number + 1 == all.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    segments.pop();
                }
                if is_last {
                    segments.push("");
                }
            }
            segment => segments.push(segment),
        }
    }
    format!("/{}{query}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use serow_message::Scheme;

    use super::*;

    #[test]
    fn methods_and_statuses_that_invalidate() {
        for (method, status, expected) in [
            ("POST", 200, true),
            ("PUT", 204, true),
            ("DELETE", 302, true),
            ("M-SEARCH", 200, true),
            ("POST", 404, false),
            ("POST", 500, false),
            ("GET", 200, false),
            ("HEAD", 200, false),
            ("OPTIONS", 200, false),
            ("TRACE", 200, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(invalidates(&method.parse().unwrap(), status), expected, "{method} {status}");
        }
    }

    #[test]
    fn uris_that_are_invalidated_too() {
        let key = |path: &str| Key::new(Scheme::Http, "a.example", path, None, &[]);
        for (location, expected) in [
            ("/b", Some("/b")),
            ("/b#c", Some("/b")),
            ("b", Some("/x/b")),
            ("./b?q", Some("/x/b?q")),
            ("../b", Some("/b")),
            ("/c/../b", Some("/b")),
            ("/c/..", Some("/")),
            ("?q", Some("/x/y?q")),
            ("http://A.example:80/b", Some("/b")),
            ("HTTP://a.example", Some("/")),
            ("//a.example/b", Some("/b")),
            // Other origins.
            ("http://b.example/b", None),
            ("https://a.example/b", None),
            ("http://a.example:81/b", None),
            ("//b.example/b", None),
            ("mailto:b", None),
            ("", None),
        ] {
            let mut headers = Headers::new();
            headers.append("location", location).unwrap();
            let request = Key::new(Scheme::Http, "a.example", "/x/y", Some("z"), &[]);
            let found = invalidated(&request, &headers);
            let expected: Vec<_> = [request.clone()].into_iter().chain(expected.map(key)).collect();
            assert_eq!(found, expected, "{location}");
        }
    }
}
