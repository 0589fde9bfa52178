//! Rules that serve one path from the place of another, unseen by the client.

use serow_message::{Pattern, Template};

/// One rule: a request whose path fits the pattern is answered as if it had asked for another path.
///
/// The n-th `*` of the target stands for what the n-th `*` of the pattern matched.
///
/// ```
/// use serow_files::Rewrite;
///
/// let rule = Rewrite::new("/icon/*", "/static/icon/*.png");
/// assert_eq!(rule.apply(b"/icon/bear").as_deref(), Some(&b"/static/icon/bear.png"[..]));
/// assert_eq!(rule.apply(b"/other"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    from: Pattern,
    to: Template,
}

impl Rewrite {
    /// A rule from a pattern and a target.
    #[must_use]
    pub fn new(from: &str, to: &str) -> Self {
        Self { from: Pattern::new(from), to: Template::new(to) }
    }

    /// The path to serve in place of this decoded one, if it fits the pattern. A star of the target without a star in
    /// the pattern stands for nothing.
    #[must_use]
    pub fn apply(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.from.captures(path).map(|captures| self.to.fill(&captures))
    }
}

/// Applies the first rule that fits, once: rules do not see each other's targets, so they cannot run in circles.
pub(crate) fn rewritten(rules: &[Rewrite], path: &[u8]) -> Option<Vec<u8>> {
    rules.iter().find_map(|rule| rule.apply(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_is_applied_once() {
        let rules = [
            Rewrite::new("/a/*", "/b/*"),
            Rewrite::new("/b/*", "/c/*"),
            Rewrite::new("/u/*/*.png", "/img/*-*.png"),
            Rewrite::new("/fixed", "/x*y"),
        ];
        let cases = [
            ("/a/1", Some("/b/1")),
            ("/b/1", Some("/c/1")),
            ("/u/7/cat.png", Some("/img/7-cat.png")),
            ("/fixed", Some("/xy")),
            ("/d", None),
        ];
        for (path, expected) in cases {
            assert_eq!(rewritten(&rules, path.as_bytes()), expected.map(|text| text.as_bytes().to_vec()), "{path}");
        }
    }
}
