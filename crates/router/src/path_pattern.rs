//! Which paths a route is for.

use std::{error::Error, fmt, str::FromStr};

use serow_message::{Pattern, percent};

/// A pattern that paths of requests can fit: each `*` stands for any text, slashes included.
///
/// It begins with `/` or `*`. With a slash it is compared with the whole path (`/assets/*`); without one, with the last
/// name of it (`*.css`). The path is compared decoded and cleaned: see [the crate](crate#paths).
///
/// ```
/// use serow_router::PathPattern;
///
/// assert!("/assets/*".parse::<PathPattern>().is_ok());
/// assert!("assets/*".parse::<PathPattern>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    pattern: Pattern,
}

impl PathPattern {
    /// The pattern that all paths fit, `/*`.
    #[must_use]
    pub fn any() -> Self {
        Self { text: "/*".to_owned(), pattern: Pattern::new("/*") }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[inline]
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.pattern.matches(path)
    }

    pub(crate) fn captures<'path>(&self, path: &'path [u8]) -> Vec<&'path [u8]> {
        self.pattern.captures(path).unwrap_or_default()
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.pattern.covers(&other.pattern)
    }

    /// A path that fits, whose stars stand for what no other pattern names.
    pub(crate) fn sample(&self) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.text.len() + 1);
        if !self.text.starts_with('/') {
            path.push(b'/');
        }
        // It occurs in no UTF-8, so in no pattern.
        path.extend(self.text.bytes().map(|byte| if byte == b'*' { 0xff } else { byte }));
        path
    }

    /// How many stars it has.
    #[must_use]
    pub fn stars(&self) -> usize {
        self.pattern.stars()
    }
}

impl FromStr for PathPattern {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        if text.is_empty() {
            return Err(InvalidPath::Empty);
        }
        check(text)?;
        // Without either, it would be compared with the last name of the path: whoever writes "ws" means "/ws".
        if !text.starts_with(['/', '*']) {
            return Err(InvalidPath::Relative);
        }
        Ok(Self { text: text.to_owned(), pattern: Pattern::new(text) })
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Whether paths of requests, which are compared decoded and cleaned, can have this text in them.
pub(crate) fn check(text: &str) -> Result<(), InvalidPath> {
    if text.contains(['?', '#']) {
        return Err(InvalidPath::Query);
    }
    if text.contains('\0') {
        return Err(InvalidPath::Nul);
    }
    let is_encoded = |octet| matches!(octet, Ok(percent::Octet::Encoded(_)));
    let mut signs = text.match_indices('%');
    if signs.any(|(place, _)| percent::decode(&text.as_bytes()[place..]).next().is_some_and(is_encoded)) {
        return Err(InvalidPath::Encoded);
    }
    // What stands before the first slash is judged by what may stand there; nothing may stand behind the last.
    let (before, last) = text.rsplit_once('/').unwrap_or(("", text));
    let mut inner = before.split('/').skip(1);
    if inner.any(|name| matches!(name, "" | "." | "..")) || matches!(last, "." | "..") {
        return Err(InvalidPath::NeverClean);
    }
    Ok(())
}

/// Why no path of a request can fit, or why a path cannot be one. The text says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidPath {
    /// There is no text.
    Empty,
    /// A path begins with a slash.
    WithoutSlash,
    /// The pattern of a path begins with a slash or a star.
    Relative,
    /// The query and the fragment are not parts of the path.
    Query,
    /// A request with NUL in its path is refused.
    Nul,
    /// Paths are compared decoded.
    Encoded,
    /// `//`, `/./` and `/../` are resolved before paths are compared.
    NeverClean,
}

impl fmt::Display for InvalidPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "no path is empty: write /* for all",
            Self::WithoutSlash => "a path begins with a slash: write one before it",
            Self::Relative => {
                "a path begins with / or *: write / before it, or */ for the same name in every folder, as in \"*/ws\""
            }
            Self::Query => "the query is not a part of the path: leave out ? and #, and what follows",
            Self::Nul => "no path holds NUL: leave it out",
            Self::Encoded => "paths are compared decoded: write the character itself in place of % and two digits",
            Self::NeverClean => "//, /./ and /../ are resolved before paths are compared: write the path without them",
        })
    }
}

impl Error for InvalidPath {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_fit_a_path() {
        use InvalidPath::{Empty, Encoded, NeverClean, Nul, Query, Relative};
        let cases = [
            ("/", None),
            ("/*", None),
            ("*", None),
            ("*.css", None),
            ("*/index.html", None),
            ("index.html", Some(Relative)),
            ("ws", Some(Relative)),
            ("*/a", None),
            ("/a/", None),
            ("/a b/\u{e4}", None),
            ("/100%", None),
            ("/100%/*", None),
            ("/.well-known/*", None),
            ("/*/*", None),
            ("/a.", None),
            ("/a*.", None),
            ("", Some(Empty)),
            ("a/b", Some(Relative)),
            ("/a?b", Some(Query)),
            ("/a#b", Some(Query)),
            ("/a\0", Some(Nul)),
            ("/a%20b", Some(Encoded)),
            ("/%%2f", Some(Encoded)),
            ("//", Some(NeverClean)),
            ("//a", Some(NeverClean)),
            ("/a//b", Some(NeverClean)),
            ("*//b", Some(NeverClean)),
            ("/./a", Some(NeverClean)),
            ("/a/..", Some(NeverClean)),
            (".", Some(NeverClean)),
            ("/a/../*", Some(NeverClean)),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<PathPattern>().err(), expected, "{text}");
        }
    }
}
