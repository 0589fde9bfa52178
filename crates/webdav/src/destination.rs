//! The field `Destination` (RFC 4918 §10.3), and other URLs in requests.

use serow_message::Target;

/// The percent-encoded path of a URL in a request for this host: an absolute `http` or `https` URL, or a path.
///
/// The scheme does not matter, since a proxy in front of this server may be the end of TLS.
///
/// # Errors
///
/// Text that is not such a URL, or has a query or fragment; the URL of another host.
///
/// ```
/// use serow_webdav::{DestinationError, local_path};
///
/// assert_eq!(local_path("http://example.com:80/a%20b", Some("example.com")), Ok("/a%20b".to_owned()));
/// assert_eq!(local_path("http://example.org/a", Some("example.com")), Err(DestinationError::OtherHost));
/// ```
pub fn local_path(url: &str, host: Option<&str>) -> Result<String, DestinationError> {
    // RFC 3986 §4.2: a reference that begins with two slashes names a host.
    if url.starts_with("//") || url == "*" {
        return Err(DestinationError::Malformed);
    }
    let target = Target::parse(url.to_owned().into(), false).map_err(|_| DestinationError::Malformed)?;
    if target.query().is_some() {
        return Err(DestinationError::Malformed);
    }
    if let Some(authority) = target.authority() {
        let is_encrypted = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
        let default_port = if is_encrypted { ":443" } else { ":80" };
        let without_port = |authority: &str| authority.strip_suffix(default_port).unwrap_or(authority).to_lowercase();
        if host.map(without_port) != Some(without_port(authority)) {
            return Err(DestinationError::OtherHost);
        }
    }
    Ok(target.path().to_owned())
}

/// Why a URL in a request does not lead to a path of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestinationError {
    /// It is not an `http` or `https` URL or a path, or has a query (400).
    Malformed,
    /// It is on another host (502).
    OtherHost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_this_host_have_a_local_path() {
        use DestinationError::{Malformed, OtherHost};
        for (url, host, expected) in [
            ("/a", Some("h"), Ok("/a")),
            ("/a%2e%2e/b", None, Ok("/a%2e%2e/b")),
            ("http://h/a", Some("h"), Ok("/a")),
            ("http://H:80/a/", Some("h"), Ok("/a/")),
            ("https://h/a", Some("h:443"), Ok("/a")),
            ("https://h:443/a", Some("h"), Ok("/a")),
            ("http://h:8080/a", Some("h:8080"), Ok("/a")),
            ("http://h", Some("h"), Ok("/")),
            ("http://[::1]:80/a", Some("[::1]"), Ok("/a")),
            ("http://h:8080/a", Some("h"), Err(OtherHost)),
            ("http://h/a", Some("h:8080"), Err(OtherHost)),
            ("http://other/a", Some("h"), Err(OtherHost)),
            ("http://h/a", None, Err(OtherHost)),
            ("//other/a", Some("h"), Err(Malformed)),
            ("http://user@h/a", Some("h"), Err(Malformed)),
            ("http://h/a?b", Some("h"), Err(Malformed)),
            ("http://h/a#b", Some("h"), Err(Malformed)),
            ("/a b", Some("h"), Err(Malformed)),
            ("a", Some("h"), Err(Malformed)),
            ("*", Some("h"), Err(Malformed)),
            ("", Some("h"), Err(Malformed)),
            ("ftp://h/a", Some("h"), Err(Malformed)),
        ] {
            assert_eq!(local_path(url, host), expected.map(str::to_owned), "{url} at {host:?}");
        }
    }
}
