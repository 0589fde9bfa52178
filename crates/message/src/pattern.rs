//! Patterns of paths, for rules that choose by path, and templates that take over what the stars of a pattern stood
//! for.

use alloc::vec::Vec;
use core::ops::Range;

/// A pattern of request paths, in which each `*` stands for any text, slashes included.
///
/// With a slash it must match the whole path (`/assets/*`); without one, the last name of it (`*.css`).
///
/// ```
/// use serow_message::Pattern;
///
/// assert!(Pattern::new("*.css").matches(b"/assets/site.css"));
/// assert!(Pattern::new("/assets/*").matches(b"/assets/a/b.css"));
/// assert!(!Pattern::new("/assets/*").matches(b"/index.html"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The text between the stars: one piece more than there are stars.
    pieces: Vec<Vec<u8>>,
    whole_path: bool,
}

impl Pattern {
    /// Reads a pattern; every text is one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { pieces: pieces(text), whole_path: text.contains('/') }
    }

    /// Whether a decoded path, which begins with a slash, fits the pattern. Allocates nothing.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        self.fit(self.compared(path), |_| {})
    }

    /// Returns the texts that the stars stand for, in order, or `None` if the path does not fit. Each star takes as
    /// little as it can.
    #[must_use]
    pub fn captures<'path>(&self, path: &'path [u8]) -> Option<Vec<&'path [u8]>> {
        let mut captures = Vec::with_capacity(self.stars());
        self.fit(self.compared(path), |capture| captures.push(capture)).then_some(captures)
    }

    /// How many stars it has.
    #[must_use]
    pub fn stars(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Whether it is certain that all paths that fit the other pattern fit this one too.
    ///
    /// ```
    /// use serow_message::Pattern;
    ///
    /// assert!(Pattern::new("/a/*").covers(&Pattern::new("/a/*/b")));
    /// assert!(!Pattern::new("/a/*/b").covers(&Pattern::new("/a/*")));
    /// ```
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        // A byte that no pattern holds, in place of each star: only a star can take it, and a star takes any other text
        // in its place as well.
        let sample = other.pieces.join(&ANYTHING);
        match (self.whole_path, other.whole_path) {
            (true, true) | (false, false) => self.fit(&sample, |_| {}),
            // Any folder may stand before the name.
            (true, false) => self.fit(&[b"/", &[ANYTHING][..], &sample].concat(), |_| {}),
            // The text for a star may hold a slash, and then the last name begins within it.
            (false, true) => {
                let name = last_name(&sample);
                let stars = name.iter().enumerate().filter(|&(_, &byte)| byte == ANYTHING).map(|(place, _)| place);
                self.fit(name, |_| {}) && stars.into_iter().all(|place| self.fit(&name[place..], |_| {}))
            }
        }
    }

    /// The part of a path that must fit.
    fn compared<'path>(&self, path: &'path [u8]) -> &'path [u8] {
        if self.whole_path { path } else { last_name(path) }
    }

    /// Whether a text fits, and what the stars stand for.
    ///
    /// Each star takes as little as it can, and none is tried twice: the time is linear in the text for each star, so
    /// no path can make a rule expensive.
    fn fit<'text>(&self, text: &'text [u8], mut capture: impl FnMut(&'text [u8])) -> bool {
        let Some((first, others)) = self.pieces.split_first() else { return false };
        let Some(mut rest) = text.strip_prefix(first.as_slice()) else { return false };
        let Some((last, middle)) = others.split_last() else { return rest.is_empty() };
        for piece in middle {
            let Some(place) = find(rest, piece) else { return false };
            capture(&rest[..place.start]);
            rest = &rest[place.end..];
        }
        let Some(final_star) = rest.strip_suffix(last.as_slice()) else { return false };
        capture(final_star);
        true
    }
}

/// A text in which the n-th `*` is filled with what the n-th `*` of a pattern stood for.
///
/// ```
/// use serow_message::{Pattern, Template};
///
/// let captures = Pattern::new("/icon/*").captures(b"/icon/bear").unwrap();
/// assert_eq!(Template::new("/static/icon/*.png").fill(&captures), b"/static/icon/bear.png");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The text between the stars: one piece more than there are stars.
    pieces: Vec<Vec<u8>>,
}

impl Template {
    /// Reads a template; every text is one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { pieces: pieces(text) }
    }

    /// The text with its stars filled. A star beyond the captures stands for nothing.
    #[must_use]
    pub fn fill(&self, captures: &[&[u8]]) -> Vec<u8> {
        let length = self.pieces.iter().map(Vec::len).chain(captures.iter().map(|capture| capture.len())).sum();
        let mut text = Vec::with_capacity(length);
        for (index, piece) in self.pieces.iter().enumerate() {
            if let Some(capture) = index.checked_sub(1).and_then(|star| captures.get(star)) {
                text.extend_from_slice(capture);
            }
            text.extend_from_slice(piece);
        }
        text
    }

    /// How many stars it has.
    #[must_use]
    pub fn stars(&self) -> usize {
        self.pieces.len() - 1
    }
}

/// The text between the stars: one piece more than there are stars.
fn pieces(text: &str) -> Vec<Vec<u8>> {
    text.as_bytes().split(|&byte| byte == b'*').map(<[u8]>::to_vec).collect()
}

fn last_name(path: &[u8]) -> &[u8] {
    let start = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    &path[start..]
}

fn find(text: &[u8], piece: &[u8]) -> Option<Range<usize>> {
    if piece.is_empty() {
        return Some(0..0);
    }
    let start = text.windows(piece.len()).position(|window| window == piece)?;
    Some(start..start + piece.len())
}

/// Occurs in no UTF-8, so in no pattern.
const ANYTHING: u8 = 0xff;

#[cfg(test)]
mod tests {
    use std::string::String;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_and_captures() {
        let cases: [(&str, &str, Option<&[&str]>); 14] = [
            ("/a", "/a", Some(&[])),
            ("/a", "/ab", None),
            ("*", "/x/y", Some(&["y"])),
            ("*.css", "/x/y.css", Some(&["y"])),
            ("*.css", "/x.css/y", None),
            ("index.html", "/x/index.html", Some(&[])),
            ("/img/*", "/img/", Some(&[""])),
            ("/img/*", "/img", None),
            ("/img/*", "/img/a/b", Some(&["a/b"])),
            ("/u/*/p/*.jpg", "/u/7/p/x.jpg", Some(&["7", "x"])),
            ("/u/*/p/*.jpg", "/u/7/x.jpg", None),
            ("/*.*", "/a.b.c", Some(&["a", "b.c"])),
            ("/ab*ba", "/aba", None),
            ("/**", "/ab", Some(&["", "ab"])),
        ];
        for (pattern, path, captures) in cases {
            let expected = captures.map(|texts| texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
            assert_eq!(Pattern::new(pattern).captures(path.as_bytes()), expected, "{pattern} on {path}");
            assert_eq!(Pattern::new(pattern).matches(path.as_bytes()), expected.is_some(), "{pattern} on {path}");
        }
    }

    #[test]
    fn which_pattern_covers_which() {
        let cases = [
            ("/*", "/a", true),
            ("/*", "/a/*", true),
            ("/*", "*.css", true),
            ("*", "/a/*", true),
            ("*", "*.css", true),
            ("*", "index.html", true),
            ("/a", "/a", true),
            ("/a", "/b", false),
            ("/a", "/*", false),
            ("/a*", "/a/*", true),
            ("/a/*", "/a*", false),
            ("/a*c", "/ab*bc", true),
            ("/a*b*c", "/a*c", false),
            ("/**", "/*", true),
            ("/*/*", "/*", false),
            ("*.css", "/a/*.css", true),
            ("*.css", "/a/x.css", true),
            ("*.css", "/a/*", false),
            ("a*.css", "/a/*.css", false),
            ("a*.css", "/x/a*.css", false),
            ("a*.css", "/x/ab.css", true),
            ("/a/*.css", "*.css", false),
            ("/*.css", "*.css", true),
            ("index.*", "index.html", true),
            ("index.html", "index.*", false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(Pattern::new(one).covers(&Pattern::new(other)), expected, "{one} and {other}");
        }
    }

    #[test]
    fn templates() {
        let cases: [(&str, &[&[u8]], &str); 5] = [
            ("/b/*", &[b"1"], "/b/1"),
            ("/img/*-*.png", &[b"7", b"cat"], "/img/7-cat.png"),
            ("/x*y", &[], "/xy"),
            ("/x", &[b"1"], "/x"),
            ("*", &[b"/a"], "/a"),
        ];
        for (template, captures, expected) in cases {
            assert_eq!(Template::new(template).fill(captures), expected.as_bytes(), "{template}");
        }
    }

    /// Miri interprets, some hundred times slower.
    const CASES: u32 = if cfg!(miri) { 4 } else { 2_000 };

    proptest! {
        #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn paths_that_fit_a_covered_pattern_fit_the_covering_one(
            one in "/?[ab/*]{0,6}",
            other in "/?[ab/*]{0,6}",
            folder in prop_oneof![Just(""), Just("/a"), Just("/b/a")],
            texts in proptest::collection::vec("[ab/]{0,3}", 6),
        ) {
            let (one, other) = (Pattern::new(&one), Pattern::new(&other));
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            let mut path = Template { pieces: other.pieces.clone() }.fill(&texts);
            if !other.whole_path {
                path = [folder.as_bytes(), b"/", &path].concat();
            }
            if path.starts_with(b"/") && other.matches(&path) && one.covers(&other) {
                prop_assert!(one.matches(&path), "{}", path.escape_ascii());
            }
        }
    }
}
