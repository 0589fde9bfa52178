//! Patterns of paths, for the rules that choose by path.

use std::ops::Range;

/// A pattern of request paths, in which each `*` stands for any text, slashes included.
///
/// With a slash it must match the whole path (`/assets/*`); without one, the last name of it (`*.css`).
///
/// ```
/// use serow_files::Pattern;
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
        Self {
            pieces: text.as_bytes().split(|&byte| byte == b'*').map(<[u8]>::to_vec).collect(),
            whole_path: text.contains('/'),
        }
    }

    /// Whether a decoded path, which begins with a slash, fits the pattern.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        self.captures(path).is_some()
    }

    /// What the stars stand for, in order, or nothing if the path does not fit.
    ///
    /// Each star takes as little as it can, and none is tried twice: the time is linear in the path for each star, so
    /// no path can make a rule expensive.
    pub(crate) fn captures<'path>(&self, path: &'path [u8]) -> Option<Vec<&'path [u8]>> {
        let text = if self.whole_path { path } else { last_name(path) };
        let (first, others) = self.pieces.split_first()?;
        let mut rest = text.strip_prefix(first.as_slice())?;
        let mut captures = Vec::with_capacity(others.len());
        let Some((last, middle)) = others.split_last() else {
            return rest.is_empty().then_some(captures);
        };
        for piece in middle {
            let place = find(rest, piece)?;
            captures.push(&rest[..place.start]);
            rest = &rest[place.end..];
        }
        captures.push(rest.strip_suffix(last.as_slice())?);
        Some(captures)
    }
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

#[cfg(test)]
mod tests {
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
        }
    }
}
