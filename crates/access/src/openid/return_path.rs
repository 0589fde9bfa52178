//! Where a browser goes after the login: a path of the same site, and nowhere else.

/// A path with its query, to which a browser can be sent without leaving the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReturnPath(String);

impl ReturnPath {
    /// This path, or `/` if a browser would understand another site by it (`//evil.example`, `/\evil.example`), or if it
    /// is longer than a state may have.
    pub(crate) fn new(path: &str) -> Self {
        let is_of_site = match path.as_bytes() {
            [b'/'] => true,
            [b'/', second, ..] => !matches!(second, b'/' | b'\\'),
            _ => false,
        };
        // Browsers remove tabs and line breaks from URLs, and take a backslash for a slash (WHATWG URL, 4.4).
        let is_clear = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\' && byte != b'#');
        let path = if is_of_site && is_clear && path.len() <= MAX_LENGTH { path } else { "/" };
        Self(path.to_owned())
    }

    /// The path with its query.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Providers accept URLs of 2,000 characters at least, of which the state is a part.
const MAX_LENGTH: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_same_site_are_returned_to() {
        for path in ["/", "/a", "/a?b=c&d=//e", "/a//b", "/a/%2F/", "/%2Fevil.example", "/.//evil", "/@evil.example"] {
            assert_eq!(ReturnPath::new(path).as_str(), path);
        }
        for path in [
            "",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "\\\\evil.example",
            "/a\\b",
            "/\t/evil.example",
            "/\n/evil.example",
            "/\r\nSet-Cookie: a=b",
            "/a b",
            "/a#b",
            "/é",
            "https://evil.example/",
            "https:evil.example",
            "javascript:alert(1)",
            "evil.example",
            "?a",
            "@evil.example",
            &format!("/{}", "a".repeat(MAX_LENGTH)),
        ] {
            assert_eq!(ReturnPath::new(path).as_str(), "/", "{path:?}");
        }
    }
}
