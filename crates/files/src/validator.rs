//! What tells one version of a representation from another: entity tag and date (RFC 9110 §8.8).

use std::{
    fmt,
    time::{Duration, SystemTime},
};

/// Entity tag and modification date of one representation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validators {
    pub(crate) tag: EntityTag,
    /// In whole seconds; nothing for a file whose time has no HTTP form.
    pub(crate) modified: Option<SystemTime>,
}

/// An entity tag (RFC 9110 §8.8.3): the text with its quotation marks, and whether it is weak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag {
    weak: bool,
    opaque: String,
}

impl EntityTag {
    /// A tag from what the file system says about a file.
    ///
    /// Modification time (to the nanosecond), size and inode change with every rewrite and every replacement, so the
    /// tag may be strong: equal tags mean equal bytes (§8.8.1). The exception is a file that was written within the
    /// last tick of the file system's clock, where a second write may leave the same time: its tag is weak until it has
    /// rested. Somebody who sets a time back by hand, keeping size and inode, lies to every cache.
    ///
    /// Time and inode are mixed into one number, since a plain inode tells outsiders about the machine (CVE-2003-1418).
    pub(crate) fn of_file(modified: Duration, size: u64, inode: u64, rested: bool) -> Self {
        let mixed = mix(mix(inode) ^ mix(modified.as_secs()).rotate_left(1) ^ u64::from(modified.subsec_nanos()));
        Self { weak: !rested, opaque: format!("\"{mixed:x}-{size:x}\"") }
    }

    /// The tag as a strong one, for content that is known to be complete.
    #[must_use]
    pub fn into_strong(self) -> Self {
        Self { weak: false, ..self }
    }

    /// The tag of the same file compressed by the server: weak, since another release may compress to other bytes, and
    /// strong would gain nothing where no range is served.
    pub(crate) fn compressed(&self, coding: &str) -> Self {
        Self { weak: true, opaque: format!("{}-{coding}\"", self.opaque.trim_end_matches('"')) }
    }

    /// Whether a member of If-Match is this tag: both strong and equal (RFC 9110 §8.8.3.2).
    #[must_use]
    pub fn equals_strongly(&self, member: &[u8]) -> bool {
        !self.weak && member == self.opaque.as_bytes()
    }

    /// Whether a member of If-None-Match is this tag, strong or weak.
    #[must_use]
    pub fn equals_weakly(&self, member: &[u8]) -> bool {
        member.strip_prefix(b"W/").unwrap_or(member) == self.opaque.as_bytes()
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", if self.weak { "W/" } else { "" }, self.opaque)
    }
}

/// The members of an If-Match or If-None-Match value, as they stand, quotation marks included.
///
/// A comma may stand within a tag, so the value cannot be split at commas (RFC 9110 §8.8.3).
pub fn tags(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let start = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
        rest = &rest[start..];
        let prefix = if rest.starts_with(b"W/") { 2 } else { 0 };
        let end = match rest.get(prefix) {
            Some(b'"') => {
                let closing = rest[prefix + 1..].iter().position(|&byte| byte == b'"');
                closing.map_or(rest.len(), |place| prefix + 1 + place + 1)
            }
            _ => rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len()),
        };
        let (member, behind) = rest.split_at(end);
        rest = behind;
        Some(member.trim_ascii())
    })
}

/// A time in whole seconds, as HTTP dates have it; nothing before 1970 or after 9999.
pub(crate) fn whole_seconds(time: SystemTime) -> Option<SystemTime> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let seconds = SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs());
    (seconds < crate::freshness::latest_date()).then_some(seconds)
}

/// A date of one of the three forms of RFC 9110 §5.6.7.
pub(crate) fn date(value: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(std::str::from_utf8(value).ok()?.trim()).ok()
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): each bit of the input changes half of the output.
fn mix(input: u64) -> u64 {
    let mut number = input.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_changes_with_each_of_its_sources() {
        let tag = |seconds, nanoseconds, size, inode| {
            EntityTag::of_file(Duration::new(seconds, nanoseconds), size, inode, true).to_string()
        };
        let tags =
            [tag(1, 2, 3, 4), tag(0, 2, 3, 4), tag(1, 0, 3, 4), tag(1, 2, 0, 4), tag(1, 2, 3, 0), tag(2, 1, 3, 4)];
        for (index, one) in tags.iter().enumerate() {
            assert!(one.starts_with('"') && one.ends_with('"'));
            assert!(tags[index + 1..].iter().all(|other| other != one), "{one}");
        }
    }

    #[test]
    fn comparison_is_that_of_the_rfc() {
        // RFC 9110 §8.8.3.2, the table of examples.
        let strong = EntityTag { weak: false, opaque: "\"1\"".to_owned() };
        let weak = EntityTag { weak: true, opaque: "\"1\"".to_owned() };
        let cases: [(&EntityTag, &str, bool, bool); 4] = [
            (&weak, "W/\"1\"", false, true),
            (&weak, "W/\"2\"", false, false),
            (&weak, "\"1\"", false, true),
            (&strong, "\"1\"", true, true),
        ];
        for (tag, member, strongly, weakly) in cases {
            assert_eq!(tag.equals_strongly(member.as_bytes()), strongly, "{tag} {member}");
            assert_eq!(tag.equals_weakly(member.as_bytes()), weakly, "{tag} {member}");
        }
        assert!(!strong.equals_strongly(b"W/\"1\""));
        assert_eq!(strong.compressed("br").to_string(), "W/\"1-br\"");
    }

    #[test]
    fn lists_of_tags() {
        let cases: [(&str, &[&str]); 8] = [
            ("\"a\"", &["\"a\""]),
            ("\"a\", W/\"b\"", &["\"a\"", "W/\"b\""]),
            ("\"a,b\" ,\"c\"", &["\"a,b\"", "\"c\""]),
            (" , \"a\",,", &["\"a\""]),
            ("*", &["*"]),
            ("a, \"b\"", &["a", "\"b\""]),
            ("\"a", &["\"a"]),
            ("", &[]),
        ];
        for (value, members) in cases {
            let found: Vec<&[u8]> = tags(value.as_bytes()).collect();
            assert_eq!(found, members.iter().map(|member| member.as_bytes()).collect::<Vec<_>>(), "{value}");
        }
    }

    #[test]
    fn dates_in_three_forms() {
        let expected = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777));
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(date(text.as_bytes()), expected, "{text}");
        }
        for text in ["", "yesterday", "\"tag\"", "1994-11-06T08:49:37Z"] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }
}
