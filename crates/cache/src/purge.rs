//! Purges: what is stored is removed, or becomes stale, before its time.

use std::fmt;

use serow_message::percent::{self, Octet};

use crate::time::Time;

/// The effect of a purge on responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeMode {
    /// It removes responses.
    Remove,
    /// They are stale from this moment on: they are validated before they are sent, or sent while they are validated, or in
    /// place of an error, as far as they may be.
    Outdate(Time),
}

/// Which responses a purge concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeTarget<'a> {
    /// Those of this URI, with all additions to its key.
    Uri(&'a str),
    /// Those of this URI, for both schemes, that the route with this number has stored, with all additions to its key.
    UriOfRoute(&'a str, u32),
    /// Those whose URIs begin so.
    Prefix(&'a str),
    /// Those with this tag.
    Tag(&'a [u8]),
    /// All.
    Everything,
}

/// A purge, for those stored responses that are not in memory. As text, it is a line.
///
/// ```
/// use serow_cache::PurgeRecord;
///
/// let line = "17 remove tag news%20today";
/// let record: PurgeRecord = line.parse().unwrap();
/// assert_eq!(record.to_string(), line);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeRecord {
    /// It concerns what was requested before.
    pub(crate) version: u64,
    pub(crate) mode: PurgeMode,
    kind: TargetKind,
    /// The only route that it concerns.
    scope: Option<u32>,
    /// The URI, its beginning or the tag.
    name: Box<[u8]>,
}

/// The kinds of [`PurgeTarget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetKind {
    Uri,
    Prefix,
    Tag,
    Everything,
}

/// A line that is not a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidPurgeRecord;

impl PurgeRecord {
    pub(crate) fn new(version: u64, mode: PurgeMode, target: PurgeTarget<'_>) -> Self {
        let (kind, name) = match target {
            PurgeTarget::Uri(uri) | PurgeTarget::UriOfRoute(uri, _) => (TargetKind::Uri, uri.as_bytes()),
            PurgeTarget::Prefix(prefix) => (TargetKind::Prefix, prefix.as_bytes()),
            PurgeTarget::Tag(name) => (TargetKind::Tag, name),
            PurgeTarget::Everything => (TargetKind::Everything, &b""[..]),
        };
        let scope = if let PurgeTarget::UriOfRoute(_, scope) = target { Some(scope) } else { None };
        Self { version, mode, kind, scope, name: name.into() }
    }

    /// The version at which it happened.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The tag that it is about.
    pub(crate) fn tag(&self) -> Option<&[u8]> {
        (self.kind == TargetKind::Tag).then_some(&self.name)
    }

    /// Whether it concerns a response of this URI that this route requested at this version, for another reason than a
    /// tag.
    pub(crate) fn concerns(&self, uri: &str, scope: u32, version: u64) -> bool {
        let is_named = match self.kind {
            TargetKind::Uri => *uri.as_bytes() == *self.name,
            TargetKind::Prefix => uri.as_bytes().starts_with(&self.name),
            TargetKind::Tag => false,
            TargetKind::Everything => true,
        };
        is_named && version < self.version && self.scope.is_none_or(|only| only == scope)
    }
}

impl fmt::Display for PurgeRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.version)?;
        match self.mode {
            PurgeMode::Remove => f.write_str("remove ")?,
            PurgeMode::Outdate(now) => write!(f, "outdate:{} ", now.as_millis())?,
        }
        f.write_str(match self.kind {
            TargetKind::Uri => "uri",
            TargetKind::Prefix => "prefix",
            TargetKind::Tag => "tag",
            TargetKind::Everything => "all",
        })?;
        self.scope.map_or(Ok(()), |scope| write!(f, ":{scope}"))?;
        f.write_str(" ")?;
        self.name.iter().try_for_each(|byte| match byte {
            b'%' | ..=b' ' | 0x7f.. => write!(f, "%{byte:02x}"),
            byte => write!(f, "{}", char::from(*byte)),
        })
    }
}

impl std::str::FromStr for PurgeRecord {
    type Err = InvalidPurgeRecord;

    fn from_str(line: &str) -> Result<Self, InvalidPurgeRecord> {
        let mut words = line.split(' ');
        let mut word = || words.next().ok_or(InvalidPurgeRecord);
        let version = word()?.parse().map_err(|_| InvalidPurgeRecord)?;
        let mode = match word()?.split_once(':') {
            Some(("outdate", millis)) => {
                PurgeMode::Outdate(Time::from_millis(millis.parse().map_err(|_| InvalidPurgeRecord)?))
            }
            None => PurgeMode::Remove,
            Some(_) => return Err(InvalidPurgeRecord),
        };
        let kind = word()?;
        let (kind, scope) = match kind.split_once(':') {
            Some(("uri", scope)) => ("uri", Some(scope.parse().map_err(|_| InvalidPurgeRecord)?)),
            _ => (kind, None),
        };
        let kind = match kind {
            "uri" => TargetKind::Uri,
            "prefix" => TargetKind::Prefix,
            "tag" => TargetKind::Tag,
            "all" => TargetKind::Everything,
            _ => return Err(InvalidPurgeRecord),
        };
        let name = percent::decode(word()?.as_bytes()).map(|octet| octet.map(Octet::byte));
        let name = name.collect::<Result<_, _>>().map_err(|_| InvalidPurgeRecord)?;
        match (words.next(), line.split(' ').nth(1)) {
            (None, Some(mode_word)) if mode != PurgeMode::Remove || mode_word == "remove" => {
                Ok(Self { version, mode, kind, scope, name })
            }
            _ => Err(InvalidPurgeRecord),
        }
    }
}

impl fmt::Display for InvalidPurgeRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the line is not a purge")
    }
}

impl std::error::Error for InvalidPurgeRecord {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let outdate = PurgeMode::Outdate(Time::from_millis(12));
        for (mode, target, expected) in [
            (PurgeMode::Remove, PurgeTarget::Uri("http://a/%20?b"), "5 remove uri http://a/%2520?b"),
            (outdate, PurgeTarget::Prefix("https://a/"), "5 outdate:12 prefix https://a/"),
            (PurgeMode::Remove, PurgeTarget::UriOfRoute("http://a/", 7), "5 remove uri:7 http://a/"),
            (PurgeMode::Remove, PurgeTarget::Tag(b"a b\n\xff"), "5 remove tag a%20b%0a%ff"),
            (outdate, PurgeTarget::Everything, "5 outdate:12 all "),
        ] {
            let record = PurgeRecord::new(5, mode, target);
            assert_eq!(record.to_string(), expected);
            assert_eq!(expected.parse(), Ok(record));
        }
        for line in [
            "",
            "5",
            "5 remove",
            "5 remove uri",
            "x remove uri a",
            "5 remove uri a b",
            "5 remove uri:x a",
            "5 remove tag:7 a",
            "5 remove uri %2",
            "5 drop uri a",
            "5 outdate:x all ",
            "5 remove host a",
        ] {
            assert_eq!(line.parse::<PurgeRecord>(), Err(InvalidPurgeRecord), "{line}");
        }
    }

    #[test]
    fn purges_concern_what_was_requested_before() {
        let record = |target| PurgeRecord::new(5, PurgeMode::Remove, target);
        for (record, uri, expected) in [
            (record(PurgeTarget::Uri("http://a/b")), "http://a/b", true),
            (record(PurgeTarget::Uri("http://a/b")), "http://a/b?c", false),
            (record(PurgeTarget::UriOfRoute("http://a/b", 1)), "http://a/b", true),
            (record(PurgeTarget::UriOfRoute("http://a/b", 2)), "http://a/b", false),
            (record(PurgeTarget::Prefix("http://a/b")), "http://a/b?c", true),
            (record(PurgeTarget::Tag(b"http://a/b")), "http://a/b", false),
            (record(PurgeTarget::Everything), "http://a/b", true),
        ] {
            let concerns = |version| record.concerns(uri, 1, version);
            assert_eq!((concerns(4), concerns(5)), (expected, false), "{record} {uri}");
        }
    }
}
