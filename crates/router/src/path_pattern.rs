//! Which paths a route is for.

use std::{error::Error, fmt, str::FromStr};

use serow_message::{Pattern, percent};
use serow_variables::Literals;

/// A pattern that paths of requests can fit: each `*` stands for any text, slashes included.
///
/// It begins with `/` or `*`. With a slash it is compared with the whole path (`/assets/*`); without one, with the last
/// name of it (`*.css`). The path is compared decoded and cleaned: see [the crate](crate#paths). Several can stand for one:
/// see [`Self::any_of`].
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
    /// Further patterns, of which a path may fit one instead.
    others: Box<[Self]>,
}

impl PathPattern {
    /// The pattern that all paths fit, `/*`.
    #[must_use]
    pub fn any() -> Self {
        Self::one("/*")
    }

    /// A pattern that the paths fit which fit one of these; nothing for none.
    ///
    /// ```
    /// use serow_router::PathPattern;
    ///
    /// let paths = ["/grafana", "/grafana/*"].map(|path| path.parse().unwrap());
    /// assert_eq!(PathPattern::any_of(paths.into()).unwrap().to_string(), "/grafana, /grafana/*");
    /// ```
    #[must_use]
    pub fn any_of(patterns: Vec<Self>) -> Option<Self> {
        let mut patterns = patterns.into_iter();
        let mut first = patterns.next()?;
        first.others = first.others.into_iter().chain(patterns).collect();
        Some(first)
    }

    fn one(text: &str) -> Self {
        Self { text: text.to_owned(), pattern: Pattern::new(text), others: Box::default() }
    }

    #[inline]
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.pattern.matches(path) || !self.others.is_empty() && self.others_match(path)
    }

    #[inline(never)]
    fn others_match(&self, path: &[u8]) -> bool {
        self.others.iter().any(|other| other.matches(path))
    }

    /// The texts that the stars stand for in the first pattern that the path fits.
    pub(crate) fn captures<'path>(&self, path: &'path [u8]) -> Vec<&'path [u8]> {
        self.alternatives().find_map(|one| one.pattern.captures(path)).unwrap_or_default()
    }

    /// Whether it is certain that all paths that fit the other fit this one too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.alternatives().all(|theirs| self.covers_one(theirs))
    }

    /// The same for one of several patterns.
    pub(crate) fn covers_one(&self, other: &Self) -> bool {
        self.alternatives().any(|own| own.pattern.covers(&other.pattern))
    }

    /// The patterns of which a path fits one.
    pub(crate) fn alternatives(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// The literals of the paths that match it.
    pub(crate) fn literals(&self) -> Literals {
        let own = Literals::of_path_pattern(&self.text);
        self.others.iter().fold(own, |before, other| before.or(other.literals()))
    }

    /// This pattern without the others.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// For each pattern a path that fits, whose stars stand for what no other pattern names.
    pub(crate) fn samples(&self) -> impl Iterator<Item = Vec<u8>> {
        self.alternatives().map(|one| {
            let mut path = Vec::with_capacity(one.text.len() + 1);
            if !one.text.starts_with('/') {
                path.push(b'/');
            }
            // It occurs in no UTF-8, so in no pattern.
            path.extend(one.text.bytes().map(|byte| if byte == b'*' { 0xff } else { byte }));
            path
        })
    }

    /// How many stars it has; of several patterns, the one with the fewest counts.
    #[must_use]
    pub fn stars(&self) -> usize {
        self.alternatives().map(|one| one.pattern.stars()).min().unwrap_or_default()
    }
}

impl FromStr for PathPattern {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        if text.is_empty() {
            return Err(InvalidPath::Empty);
        }
        // As nginx and people who think of `path-regex` write them.
        if text.starts_with(['^', '~']) {
            return Err(InvalidPath::Expression);
        }
        check(text)?;
        // Without either, it would be compared with the last name of the path: whoever writes "ws" means "/ws".
        if !text.starts_with(['/', '*']) {
            return Err(InvalidPath::Relative);
        }
        Ok(Self::one(text))
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)?;
        self.others.iter().try_for_each(|other| write!(formatter, ", {other}"))
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
    // Callers check the text before the first slash themselves; the name behind the last slash may be empty.
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
    /// A regular expression, which this is not.
    Expression,
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
            Self::Expression => {
                "this is a regular expression: write it as `path-regex`; in `path`, * is the only wildcard"
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
    fn patterns_that_no_path_can_fit_are_refused() {
        use InvalidPath::{Empty, Encoded, Expression, NeverClean, Nul, Query, Relative};
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
            ("^/api/[0-9]+?$", Some(Expression)),
            ("~ /api", Some(Expression)),
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
    #[test]
    fn several_patterns_fit_what_one_of_them_fits() {
        let pattern = |text: &str| {
            let parts = text.split_whitespace().map(|part| part.parse().unwrap());
            PathPattern::any_of(parts.collect()).unwrap()
        };
        for (patterns, path, captures) in [
            ("/grafana /grafana/*", "/grafana", Some(&[][..])),
            ("/grafana /grafana/*", "/grafana/a/b", Some(&["a/b"])),
            ("/grafana /grafana/*", "/grafanas", None),
            ("/a/*/* *.css", "/x/y.css", Some(&["y"])),
            ("/a/*/* *.css", "/a/b/c.css", Some(&["b", "c.css"])),
        ] {
            let (pattern, path) = (pattern(patterns), path.as_bytes());
            assert_eq!(pattern.matches(path), captures.is_some(), "{patterns}");
            let expected: Vec<_> = captures.unwrap_or_default().iter().map(|text| text.as_bytes()).collect();
            assert_eq!(pattern.captures(path), expected, "{patterns}");
        }
        for (one, other, expected) in [
            ("/*", "/a /b/*", true),
            ("/a /b/*", "/b/c", true),
            ("/a /b/*", "/a /b/c", true),
            ("/a /b/*", "/a /c", false),
            ("/a", "/a /b", false),
        ] {
            assert_eq!(pattern(one).covers(&pattern(other)), expected, "{one} and {other}");
        }
        assert_eq!((pattern("/a/*/* /b/*").stars(), pattern("/a/* /a").stars()), (1, 0));
        assert_eq!(PathPattern::any_of(Vec::new()), None);
    }
}
