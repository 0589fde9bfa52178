//! The primary key of stored responses: the URI (RFC 9111 §2), and what the settings or trusted proxies add to it.

use serow_message::Scheme;
use xxhash_rust::xxh3::xxh3_64;

/// The URI of a request, by which responses are stored.
///
/// Host and scheme are compared without case and default port; path and query byte for byte, since only the origin knows
/// which of their spellings mean the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Box<[u8]>);

impl Key {
    /// The key of this URI. The query is what stands behind the question mark; `additions` are other texts that the
    /// response depends on.
    #[must_use]
    pub fn new(scheme: Scheme, host: &str, path: &str, query: Option<&str>, additions: &[&[u8]]) -> Self {
        let (prefix, default_port) = match scheme {
            Scheme::Http => ("http://", ":80"),
            Scheme::Https => ("https://", ":443"),
        };
        let host = host.strip_suffix(default_port).or_else(|| host.strip_suffix(':')).unwrap_or(host);
        let length = prefix.len() + host.len() + path.len() + query.map_or(0, |query| query.len() + 1);
        let mut text = Vec::with_capacity(length + additions.iter().map(|text| text.len() + 9).sum::<usize>());
        text.extend_from_slice(prefix.as_bytes());
        text.extend(host.bytes().map(|byte| byte.to_ascii_lowercase()));
        text.extend_from_slice(path.as_bytes());
        if let Some(query) = query {
            text.push(b'?');
            text.extend_from_slice(query.as_bytes());
        }
        for addition in additions {
            // No part of a target contains a space, and with the length, no addition can imitate two.
            text.push(b' ');
            text.extend_from_slice(&(addition.len() as u64).to_be_bytes());
            text.extend_from_slice(addition);
        }
        Self(text.into())
    }

    /// The key with these bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The key of a URI that is written as keys are, without additions.
    pub(crate) fn of_uri(uri: &str) -> Self {
        Self(uri.as_bytes().into())
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The URI, without additions.
    #[must_use]
    pub fn uri(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == b' ').unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }

    /// For people, as a string of structured fields (RFC 8941 §3.3.3): the URI, and behind it, each addition. Bytes that
    /// such a string cannot have are percent-encoded.
    #[must_use]
    pub fn quoted(&self) -> String {
        let mut text = String::from("\"");
        let mut push = |bytes: &[u8]| {
            for byte in bytes {
                match byte {
                    b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => text.push(char::from(*byte)),
                    byte => text.push_str(&format!("%{byte:02X}")),
                }
            }
        };
        push(self.uri().as_bytes());
        let mut rest = &self.0[self.uri().len()..];
        while let [b' ', behind @ ..] = rest
            && let Some((length, behind)) = behind.split_first_chunk()
        {
            let length = usize::try_from(u64::from_be_bytes(*length)).unwrap_or(usize::MAX).min(behind.len());
            let (addition, behind) = behind.split_at(length);
            push(b" ");
            push(addition);
            rest = behind;
        }
        text.push('"');
        text
    }

    /// Whether it is one of this URI, with additions or without.
    pub(crate) fn is_of(&self, uri: &str) -> bool {
        self.0.strip_prefix(uri.as_bytes()).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b' '))
    }

    /// Whether it has additions.
    pub(crate) fn has_additions(&self) -> bool {
        self.uri().len() < self.0.len()
    }

    /// The key of another URI on the same origin, with the same additions.
    pub(crate) fn with_uri(&self, uri: &str) -> Self {
        Self([uri.as_bytes(), &self.0[self.uri().len()..]].concat().into())
    }
}

/// A number for a part of a store, by its name: two routes may have different responses for the same URI. It is the same in
/// every process. Only routes that respond to the same URI must not share one: for two of them, that is one chance in four
/// billion.
#[must_use]
pub fn scope(name: &str) -> u32 {
    xxh3_64(name.as_bytes()) as u32
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Key({})", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_that_are_the_same_and_others() {
        use Scheme::{Http, Https};
        let cases = [
            ((Http, "A.example", "/a"), (Http, "a.EXAMPLE:80", "/a"), true),
            ((Http, "a.example", "/a"), (Http, "a.example:", "/a"), true),
            ((Http, "a.example", "/a"), (Http, "a.example:8080", "/a"), false),
            ((Http, "a.example", "/a"), (Https, "a.example", "/a"), false),
            ((Https, "a.example", "/a"), (Https, "a.example:443", "/a"), true),
            ((Https, "a.example", "/a"), (Https, "a.example:80", "/a"), false),
            // Only the origin knows what these mean.
            ((Http, "a.example", "/a"), (Http, "a.example", "/A"), false),
            ((Http, "a.example", "/a%2Fb"), (Http, "a.example", "/a/b"), false),
            ((Http, "a.example", "/a"), (Http, "a.example", "/a/"), false),
            ((Http, "a.example", "/%61"), (Http, "a.example", "/a"), false),
        ];
        for ((scheme, host, path), (other_scheme, other_host, other_path), expected) in cases {
            let key = Key::new(scheme, host, path, None, &[]);
            let other = Key::new(other_scheme, other_host, other_path, None, &[]);
            assert_eq!(key == other, expected, "{key:?} {other:?}");
        }
    }

    #[test]
    fn queries_and_additions_are_parts() {
        let key = |query, additions: &[&[u8]]| Key::new(Scheme::Http, "a", "/b", query, additions);
        let keys = [
            key(None, &[]),
            key(Some(""), &[]),
            key(Some("a&b"), &[]),
            key(Some("a;b"), &[]),
            key(None, &[b"x"]),
            key(None, &[b"x", b"y"]),
            key(None, &[b"xy"]),
            key(None, &[b""]),
        ];
        for (number, key) in keys.iter().enumerate() {
            assert!(keys.iter().skip(number + 1).all(|other| other != key), "{key:?}");
        }
        assert_eq!(key(Some("q"), &[b"x y"]).uri(), "http://a/b?q");
        assert_eq!(key(Some("q\"\\"), &[b"x y", b"", b"\xff\n"]).quoted(), r#""http://a/b?q\"\\ x y  %FF%0A""#);
        assert_eq!(key(None, &[]).quoted(), "\"http://a/b\"");
        assert_eq!(key(Some("q"), &[b"x"]).with_uri("http://a/c"), Key::new(Scheme::Http, "a", "/c", None, &[b"x"]));
    }
}
