//! How long clients and proxies may keep what they got: `Cache-Control` and `Expires`.

use std::time::{Duration, SystemTime};

use serow_message::Pattern;

/// One rule: the freshness of the files whose path fits a pattern. The first rule that fits counts.
///
/// ```
/// use std::time::Duration;
/// use serow_files::{Freshness, FreshnessRule, Pattern};
///
/// let rule = FreshnessRule {
///     pattern: Pattern::new("/assets/*"),
///     freshness: Freshness::For(Duration::from_secs(24 * 60 * 60)),
/// };
/// assert!(rule.pattern.matches(b"/assets/site.css"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshnessRule {
    /// Which paths it is for: as the client asked for them, or where the file lies. So `*.html` holds for the index of
    /// `/` as well.
    pub pattern: Pattern,
    /// The freshness that responses with these files state.
    pub freshness: Freshness,
}

/// How long a response may be cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// `Cache-Control: max-age=…` (RFC 9111 §5.2.2.1), and `Expires` (§5.3) for caches of HTTP/1.0. Whole seconds.
    For(Duration),
    /// `Cache-Control: no-cache`: keep it, but ask each time (§5.2.2.4).
    Revalidate,
    /// `Cache-Control` with this text, for instance `public, max-age=31536000, immutable`.
    Directives(String),
}

impl Freshness {
    /// The value of `Cache-Control`, and that of `Expires` if there is one.
    pub(crate) fn fields(&self, now: SystemTime) -> (String, Option<String>) {
        match self {
            Self::For(duration) => {
                // A date beyond the year 9999 has no HTTP form; max-age says it all then.
                let expires = now.checked_add(*duration).filter(|&date| date < latest_date());
                (format!("max-age={}", duration.as_secs()), expires.map(httpdate::fmt_http_date))
            }
            Self::Revalidate => ("no-cache".to_owned(), None),
            Self::Directives(text) => (text.clone(), None),
        }
    }
}

/// Returns the freshness of the first rule that fits one of the decoded paths.
pub(crate) fn freshness_of<'rules>(rules: &'rules [FreshnessRule], paths: &[&[u8]]) -> Option<&'rules Freshness> {
    let fits = |rule: &&FreshnessRule| paths.iter().any(|path| rule.pattern.matches(path));
    rules.iter().find(fits).map(|rule| &rule.freshness)
}

/// The first second that an HTTP date cannot say: 1 January 10000.
pub(crate) fn latest_date() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_each_kind() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let cases = [
            (Freshness::For(Duration::from_secs(60)), "max-age=60", Some("Sun, 06 Nov 1994 08:50:37 GMT")),
            (Freshness::For(Duration::ZERO), "max-age=0", Some("Sun, 06 Nov 1994 08:49:37 GMT")),
            (Freshness::For(Duration::from_secs(1 << 40)), "max-age=1099511627776", None),
            (Freshness::Revalidate, "no-cache", None),
            (Freshness::Directives("private".to_owned()), "private", None),
        ];
        for (freshness, cache_control, expires) in cases {
            assert_eq!(freshness.fields(now), (cache_control.to_owned(), expires.map(str::to_owned)));
        }
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let rule = |pattern, freshness| FreshnessRule { pattern: Pattern::new(pattern), freshness };
        let rules = [rule("*.css", Freshness::Revalidate), rule("/a/*", Freshness::Directives("private".to_owned()))];
        assert_eq!(freshness_of(&rules, &[b"/a/x.css"]), Some(&Freshness::Revalidate));
        assert_eq!(freshness_of(&rules, &[b"/a/x.js"]), Some(&Freshness::Directives("private".to_owned())));
        assert_eq!(freshness_of(&rules, &[b"/", b"/index.css"]), Some(&Freshness::Revalidate));
        assert_eq!(freshness_of(&rules, &[b"/x.js"]), None);
    }
}
