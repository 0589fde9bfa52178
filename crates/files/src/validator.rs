//! Validators, which tell one version of a representation from another: entity tag and date (RFC 9110 §8.8).

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use serow_coding::Coding;
use serow_message::FileVersion;

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

/// The data that identify the version of a file.
///
/// Two requirements meet here. Copies of a file on several servers (`rsync -a`, images of containers) must have one tag, or
/// a download that another server continues begins again: so neither inode nor time of the last change of attributes
/// (ctime) may be in it, which differ on each machine. And equal strong tags mean equal bytes (RFC 9110 §8.8.1), also after
/// `cp -a` of a reproducible build over an earlier one, when modification time, size and inode may be the same, and ctime
/// alone differs. No function of these does both, but the content does, and is read anyway for the memory.
///
/// The content of a large file would take too long. A modification time that the kernel set, to the nanosecond, is that of
/// one content; one that a program chose is usually that of a commit or of the original, and another content of the same
/// size has another. It says nothing only where it is a constant, before all web servers: then ctime decides, which no
/// program can choose, and each machine has tags of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionSource {
    /// The content, of a small file.
    Content,
    /// Modification time and size, as in nginx.
    Times,
    /// Also ctime: the modification time is a constant.
    LastChange,
}

impl VersionSource {
    /// Decides by modification time and size alone, so that it is the same for all copies.
    pub(crate) fn of(version: &FileVersion) -> Self {
        match version {
            FileVersion { length: 0..=MAX_HASHED, .. } => Self::Content,
            FileVersion { modified, .. } if *modified < EARLIEST_TRUE_TIME => Self::LastChange,
            _ => Self::Times,
        }
    }
}

impl EntityTag {
    /// A tag from what the file system says about a file.
    ///
    /// It is weak for a file that was written within the last tick of the file system's clock, where a second write may
    /// leave the same time, until it has rested.
    pub(crate) fn of_times(version: &FileVersion, rested: bool) -> Self {
        Self::of_number(mix(version.modified as u64), version.length, !rested)
    }

    /// The same with the time of the last change of content or attributes.
    pub(crate) fn of_last_change(version: &FileVersion, rested: bool) -> Self {
        let mixed = mix(version.changed as u64 ^ mix(version.modified as u64));
        Self::of_number(mixed, version.length, !rested)
    }

    /// A tag from the content. It is weak, too, where a second write may leave the times by which the next look would notice
    /// it.
    pub(crate) fn of_content(content: &[u8], rested: bool) -> Self {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let digest = content.chunks(8).fold(0, |digest, bytes| mix(digest ^ word(bytes)));
        Self::of_number(digest, content.len() as u64, !rested)
    }

    fn of_number(number: u64, size: u64, weak: bool) -> Self {
        Self { weak, opaque: format!("\"{number:x}-{size:x}\"") }
    }

    /// The tag of a file that holds another one compressed, which may have the same time and size.
    pub(crate) fn compressed_beforehand(self, coding: Coding) -> Self {
        Self { opaque: format!("{}{}\"", self.opaque.trim_end_matches('"'), coding.suffix()), ..self }
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

/// A time, in nanoseconds since 1970, in whole seconds, as HTTP dates have it; nothing after 9999, and nothing that is the
/// constant of a build: by a tenth of its age, caches may take a page for fresh for years (RFC 9111 §4.2.2), and it would be
/// the same after each change.
pub(crate) fn modification_date(nanoseconds: i128) -> Option<SystemTime> {
    let since = u64::try_from(nanoseconds.div_euclid(1_000_000_000)).ok()?;
    let seconds = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(since))?;
    (nanoseconds >= EARLIEST_TRUE_TIME && seconds < crate::freshness::latest_date()).then_some(seconds)
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

/// Before 1990, nothing was served by HTTP; but reproducible builds and archives give files the times 1970-01-01 (Nix), 1980
/// (zip, buildpacks, Gradle) and 1985-10-26 (npm). In nanoseconds since 1970.
const EARLIEST_TRUE_TIME: i128 = 631_152_000_000_000_000;

/// The bytes of a file that are read for its tag: those of a file that is kept in memory by default, which takes some dozen
/// microseconds once.
pub(crate) const MAX_HASHED: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_changes_with_each_of_its_sources() {
        let version =
            |modified, length, changed, inode| FileVersion { identity: (1, inode), length, modified, changed };
        let of_times = |modified, length| EntityTag::of_times(&version(modified, length, 5, 6), true);
        let of_change =
            |modified, length, changed| EntityTag::of_last_change(&version(modified, length, changed, 6), true);
        let of_content = |content: &str| EntityTag::of_content(content.as_bytes(), true);
        let tags = [
            vec![of_times(1, 2), of_times(2, 1), of_times(0, 2), of_times(1, 0)],
            vec![of_change(1, 2, 3), of_change(0, 2, 3), of_change(1, 0, 3), of_change(1, 2, 0), of_change(3, 2, 1)],
            ["", "\0", "\0\0", "a", "b", "ab", "ba", "12345678", "123456789", "87654321", "123456781"]
                .map(of_content)
                .to_vec(),
        ];
        for tags in tags {
            for (index, one) in tags.iter().enumerate() {
                let text = one.to_string();
                assert!(text.starts_with('"') && text.ends_with('"'));
                assert!(tags[index + 1..].iter().all(|other| other != one), "{one}");
            }
        }
        // Those of another machine.
        assert_eq!(of_times(1, 2), EntityTag::of_times(&version(1, 2, 50, 60), true));
        assert_eq!(of_times(1, 2).compressed_beforehand(Coding::Gzip).to_string(), "\"910a2dec89025cc1-2.gz\"");
    }

    #[test]
    fn the_content_decides_for_small_files_and_the_last_change_where_the_time_is_a_constant() {
        use VersionSource::{Content, LastChange, Times};
        let second = 1_000_000_000;
        for (modified, large) in [
            (1_700_000_000 * second + 1, Times),
            (1_700_000_000 * second, Times),
            (631_152_000 * second, Times),
            (631_152_000 * second - 1, LastChange),
            (499_162_500 * second, LastChange),
            (315_532_800 * second, LastChange),
            (second, LastChange),
            (0, LastChange),
            (-1, LastChange),
        ] {
            for (length, expected) in [(0, Content), (64 << 10, Content), ((64 << 10) + 1, large)] {
                let version = FileVersion { identity: (1, 1), length, modified, changed: 0 };
                assert_eq!(VersionSource::of(&version), expected, "{modified} {length}");
            }
        }
    }

    #[test]
    fn constants_of_builds_are_not_dates() {
        let second = 1_000_000_000;
        for (modified, expected) in [
            (-1, None),
            (second, None),
            (499_162_500 * second, None),
            (631_152_000 * second - 1, None),
            (631_152_000 * second, Some(631_152_000)),
            (784_111_777 * second + 999_999_999, Some(784_111_777)),
            (253_402_300_799 * second, Some(253_402_300_799)),
            (253_402_300_800 * second, None),
            (i128::MAX, None),
        ] {
            let expected = expected.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(modification_date(modified), expected, "{modified}");
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
