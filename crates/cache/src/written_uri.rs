//! URIs as people write them in commands, and as keys have them.

use std::fmt;

use serow_message::{Scheme, Target, authority};

use crate::key::Key;

/// The URIs that a text names: one with a scheme, two without. They are written as keys are, and are never a part of a
/// host, so that a prefix of `example.com` is not one of `example.com.evil`.
///
/// ```
/// use serow_cache::WrittenUris;
///
/// let uris = WrittenUris::parse("https://Example.com:443/a?b")?;
/// assert_eq!(uris.iter().collect::<Vec<_>>(), ["https://example.com/a?b"]);
/// let uris = WrittenUris::parse("example.com")?;
/// assert_eq!(uris.iter().collect::<Vec<_>>(), ["http://example.com/", "https://example.com/"]);
/// # Ok::<(), serow_cache::WrittenUriError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenUris(Vec<String>);

/// Why a text names no URI; it says what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenUriError {
    text: String,
    problem: UriProblem,
}

/// The part of a text that makes it invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UriProblem {
    Scheme,
    Host,
    User,
    Fragment,
    Star,
    Byte,
}

impl WrittenUris {
    /// Reads a URI, with or without `http://` or `https://`. Without a path, `/` is meant. Path and query are taken as they
    /// are written, since requests are, too.
    ///
    /// # Errors
    ///
    /// Another scheme, no valid host, a user name, a fragment, a star at the end, or a byte that no request has.
    pub fn parse(text: &str) -> Result<Self, WrittenUriError> {
        let refused = |problem| WrittenUriError { text: text.to_owned(), problem };
        let (schemes, rest) = match text.split_once("://") {
            // A query may contain a URI.
            Some((scheme, _)) if scheme.contains(['/', '?', '#']) => (&BOTH[..], text),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (&BOTH[..1], rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (&BOTH[1..], rest),
            Some(_) => return Err(refused(UriProblem::Scheme)),
            None => (&BOTH[..], text),
        };
        if rest.contains('#') {
            return Err(refused(UriProblem::Fragment));
        }
        if rest.ends_with('*') {
            return Err(refused(UriProblem::Star));
        }
        let (host, behind) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if host.contains('@') {
            return Err(refused(UriProblem::User));
        }
        if host.is_empty() || host.starts_with(':') || !authority::is_valid(host.as_bytes()) {
            return Err(refused(UriProblem::Host));
        }
        let slash = if behind.starts_with('/') { "" } else { "/" };
        let target = Target::parse([slash, behind].concat().into(), false).map_err(|_| refused(UriProblem::Byte))?;
        let uri = |scheme: &Scheme| Key::new(*scheme, host, target.path(), target.query(), &[]).uri().to_owned();
        Ok(Self(schemes.iter().map(uri).collect()))
    }

    /// The URIs.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for WrittenUriError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, problem } = self;
        write!(formatter, "{text:?} ")?;
        formatter.write_str(match problem {
            UriProblem::Scheme => "has another scheme than http and https: write https://example.com/path",
            UriProblem::Host => {
                "has no valid host: write https://example.com/path, or example.com/path for both schemes"
            }
            UriProblem::User => "has a user name, which is not part of a cached URL: leave out what stands before @",
            UriProblem::Fragment => "has a fragment, which no request has: leave out # and what follows",
            UriProblem::Star => {
                "ends with a star, which stands for itself only: purge what begins so as a prefix, without \
                              the star"
            }
            UriProblem::Byte => "has white space or a control character: write it percent-encoded, as browsers send it",
        })
    }
}

impl std::error::Error for WrittenUriError {}

static BOTH: [Scheme; 2] = [Scheme::Http, Scheme::Https];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_written_as_keys_are() {
        let cases: [(&str, &[&str]); 11] = [
            ("https://Example.com:443/a?b", &["https://example.com/a?b"]),
            ("HTTP://example.com:80", &["http://example.com/"]),
            ("http://example.com:8080?q", &["http://example.com:8080/?q"]),
            ("https://example.com:80/", &["https://example.com:80/"]),
            ("example.com", &["http://example.com/", "https://example.com/"]),
            ("example.com:443/a", &["http://example.com:443/a", "https://example.com/a"]),
            ("localhost:8080/", &["http://localhost:8080/", "https://localhost:8080/"]),
            (
                "a.example/?to=https://b.example/",
                &["http://a.example/?to=https://b.example/", "https://a.example/?to=https://b.example/"],
            ),
            ("http://[::1]:8080/A%2fb//c;d", &["http://[::1]:8080/A%2fb//c;d"]),
            ("http://a/ä", &["http://a/ä"]),
            ("http://a/x@y?z@", &["http://a/x@y?z@"]),
        ];
        for (text, expected) in cases {
            let uris = WrittenUris::parse(text).unwrap();
            assert_eq!(uris.iter().collect::<Vec<_>>(), expected, "{text}");
            // A URI that is written as a key stays as it is.
            for uri in uris.iter() {
                assert_eq!(WrittenUris::parse(uri).unwrap().iter().collect::<Vec<_>>(), [uri], "{text}");
            }
        }
    }

    #[test]
    fn other_texts_are_refused_with_what_to_write() {
        for (text, expected) in [
            ("", "has no valid host"),
            ("/a", "has no valid host"),
            ("https://", "has no valid host"),
            ("https:///a", "has no valid host"),
            ("http://:80/", "has no valid host"),
            ("http://a b/", "has no valid host"),
            ("http://a:b/", "has no valid host"),
            ("http://ä.example/", "has no valid host"),
            ("?a", "has no valid host"),
            ("ftp://a/", "has another scheme"),
            ("://a/", "has another scheme"),
            ("http://user@a/", "has a user name"),
            ("user:secret@a", "has a user name"),
            ("http://a/#b", "has a fragment"),
            ("http://a/b c", "has white space"),
            ("http://a/b\nc", "has white space"),
            ("http://a/b\0", "has white space"),
            ("http://a/b/*", "ends with a star"),
            ("a*", "ends with a star"),
        ] {
            let error = WrittenUris::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} {expected}")), "{text}: {error}");
        }
    }
}
