//! Conditional requests: the five headers and their order (RFC 9110 §13.2.2).

use std::time::{Duration, SystemTime};

use serow_message::{Headers, KnownHeader};

use crate::validator::{Validators, date, tags};

/// The fields that make a request conditional, but for If-Range, which only matters with Range.
pub(crate) const CONDITIONS: [KnownHeader; 4] =
    [KnownHeader::IfMatch, KnownHeader::IfUnmodifiedSince, KnownHeader::IfNoneMatch, KnownHeader::IfModifiedSince];

/// The outcome of the conditions of a GET or HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Answer as if there were none.
    Proceed,
    /// 304: the client has it already.
    NotModified,
    /// 412: the client has another version than it wants to go on with.
    Failed,
}

/// Evaluates the conditions of a GET or HEAD against the representation that would be sent.
pub(crate) fn evaluate(headers: &Headers, validators: &Validators) -> Outcome {
    // Steps 1 and 2: If-Match rules out If-Unmodified-Since.
    if headers.contains(KnownHeader::IfMatch) {
        if !names_tag(headers, KnownHeader::IfMatch, |member| validators.tag.equals_strongly(member)) {
            return Outcome::Failed;
        }
    } else if let (Some(since), Some(modified)) =
        (only_date(headers, KnownHeader::IfUnmodifiedSince), validators.modified)
        && modified > since
    {
        return Outcome::Failed;
    }
    // Steps 3 and 4: If-None-Match rules out If-Modified-Since.
    let client_has_it = if headers.contains(KnownHeader::IfNoneMatch) {
        names_tag(headers, KnownHeader::IfNoneMatch, |member| validators.tag.equals_weakly(member))
    } else {
        match (only_date(headers, KnownHeader::IfModifiedSince), validators.modified) {
            (Some(since), Some(modified)) => modified <= since,
            _ => false,
        }
    };
    if client_has_it { Outcome::NotModified } else { Outcome::Proceed }
}

/// Step 5: whether a Range header is to be heeded, as far as If-Range says (§13.1.5).
pub(crate) fn allows_range(headers: &Headers, validators: &Validators, now: SystemTime) -> bool {
    let mut values = headers.get_all(KnownHeader::IfRange);
    let Some(value) = values.next() else {
        return true;
    };
    // It has one value. Where it is unclear which the client means, the whole is right for each.
    if values.next().is_some() {
        return false;
    }
    let value = value.trim_ascii();
    if value.starts_with(b"\"") || value.starts_with(b"W/") {
        return validators.tag.equals_strongly(value);
    }
    // A date must match exactly, and be strong: a file may change twice within the second that the date says, so the
    // second must have passed (§8.8.2.2).
    match (date(value), validators.modified) {
        (Some(date), Some(modified)) => date == modified && now >= modified + Duration::from_secs(1),
        _ => false,
    }
}

/// Whether one of the tags, or `*`, stands for the representation; `*` does since there is one (§13.1.1).
fn names_tag(headers: &Headers, field: KnownHeader, is_equal: impl Fn(&[u8]) -> bool) -> bool {
    headers.get_all(field).flat_map(tags).any(|member| member == b"*" || is_equal(member))
}

/// The date of a field that occurs once; several, or no valid date, count as none (§13.1.3, §13.1.4).
fn only_date(headers: &Headers, field: KnownHeader) -> Option<SystemTime> {
    let mut values = headers.get_all(field);
    let value = values.next()?;
    if values.next().is_some() { None } else { date(value) }
}

#[cfg(test)]
mod tests {
    use httpdate::fmt_http_date;
    use proptest::prelude::*;
    use serow_message::FileVersion;

    use super::*;
    use crate::validator::EntityTag;

    const MODIFIED: Duration = Duration::from_secs(1_000_000_000);

    fn validators(rested: bool) -> Validators {
        let modified = MODIFIED.as_nanos() as i128;
        let version = FileVersion { identity: (1, 7), length: 10, modified, changed: modified };
        Validators { tag: EntityTag::of_times(&version, rested), modified: Some(SystemTime::UNIX_EPOCH + MODIFIED) }
    }

    fn at(offset: i64) -> String {
        fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs((1_000_000_000 + offset) as u64))
    }

    fn headers(fields: &[(KnownHeader, &str)]) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.append(*name, value).unwrap();
        }
        headers
    }

    #[test]
    fn conditions_and_their_precedence() {
        use KnownHeader::{IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince};
        use Outcome::{Failed, NotModified, Proceed};
        let validators = validators(true);
        let tag = validators.tag.to_string();
        let weak = format!("W/{tag}");
        let list = format!("\"other\", {tag}");
        let (before, same, after) = (at(-1), at(0), at(1));
        let cases: [(&[(KnownHeader, &str)], Outcome); 24] = [
            (&[], Proceed),
            (&[(IfMatch, &tag)], Proceed),
            (&[(IfMatch, "*")], Proceed),
            (&[(IfMatch, &list)], Proceed),
            (&[(IfMatch, "\"other\""), (IfMatch, &tag)], Proceed),
            (&[(IfMatch, &weak)], Failed),
            (&[(IfMatch, "\"other\"")], Failed),
            (&[(IfMatch, "")], Failed),
            (&[(IfUnmodifiedSince, &same)], Proceed),
            (&[(IfUnmodifiedSince, &before)], Failed),
            (&[(IfUnmodifiedSince, "nonsense")], Proceed),
            (&[(IfNoneMatch, &tag)], NotModified),
            (&[(IfNoneMatch, &weak)], NotModified),
            (&[(IfNoneMatch, "*")], NotModified),
            (&[(IfNoneMatch, "\"other\"")], Proceed),
            (&[(IfModifiedSince, &same)], NotModified),
            (&[(IfModifiedSince, &after)], NotModified),
            (&[(IfModifiedSince, &before)], Proceed),
            (&[(IfModifiedSince, &same), (IfModifiedSince, &same)], Proceed),
            // The precedence.
            (&[(IfMatch, &tag), (IfUnmodifiedSince, &before)], Proceed),
            (&[(IfNoneMatch, "\"other\""), (IfModifiedSince, &same)], Proceed),
            (&[(IfNoneMatch, &tag), (IfModifiedSince, &before)], NotModified),
            (&[(IfMatch, "\"other\""), (IfNoneMatch, &tag)], Failed),
            (&[(IfMatch, &tag), (IfNoneMatch, &tag)], NotModified),
        ];
        for (fields, outcome) in cases {
            assert_eq!(evaluate(&headers(fields), &validators), outcome, "{fields:?}");
        }
    }

    #[test]
    fn if_range() {
        let now = SystemTime::UNIX_EPOCH + MODIFIED + Duration::from_secs(60);
        let strong = validators(true);
        let tag = strong.tag.to_string();
        let cases = [
            (tag.clone(), true),
            (format!("W/{tag}"), false),
            ("\"other\"".to_owned(), false),
            (at(0), true),
            (at(-1), false),
            (at(1), false),
            ("nonsense".to_owned(), false),
        ];
        for (value, allowed) in cases {
            assert_eq!(allows_range(&headers(&[(KnownHeader::IfRange, &value)]), &strong, now), allowed, "{value}");
        }
        assert!(allows_range(&Headers::new(), &strong, now));
        assert!(!allows_range(&headers(&[(KnownHeader::IfRange, &tag), (KnownHeader::IfRange, &tag)]), &strong, now));
        // Too young to be strong: the tag is weak, and the date's second is not over.
        let young = SystemTime::UNIX_EPOCH + MODIFIED;
        assert!(!allows_range(&headers(&[(KnownHeader::IfRange, &tag)]), &validators(false), young));
        assert!(!allows_range(&headers(&[(KnownHeader::IfRange, &at(0))]), &validators(false), young));
    }

    proptest! {
        /// The steps of §13.2.2 written out word by word, against every combination of headers.
        #[test]
        fn the_order_is_that_of_the_rfc(
            if_match in proptest::option::of(0_usize..3),
            if_unmodified_since in proptest::option::of(-1_i64..2),
            if_none_match in proptest::option::of(0_usize..3),
            if_modified_since in proptest::option::of(-1_i64..2),
        ) {
            let validators = validators(true);
            let members = [validators.tag.to_string(), format!("W/{}", validators.tag), "\"other\"".to_owned()];
            let mut fields = Vec::new();
            if let Some(member) = if_match { fields.push((KnownHeader::IfMatch, members[member].clone())); }
            if let Some(date) = if_unmodified_since { fields.push((KnownHeader::IfUnmodifiedSince, at(date))); }
            if let Some(member) = if_none_match { fields.push((KnownHeader::IfNoneMatch, members[member].clone())); }
            if let Some(date) = if_modified_since { fields.push((KnownHeader::IfModifiedSince, at(date))); }
            let mut headers = Headers::new();
            for (name, value) in fields { headers.append(name, value).unwrap(); }

            let expected = 'steps: {
                match (if_match, if_unmodified_since) {
                    (Some(0), _) => {}
                    (Some(_), _) => break 'steps Outcome::Failed,
                    (None, Some(-1)) => break 'steps Outcome::Failed,
                    (None, _) => {}
                }
                match (if_none_match, if_modified_since) {
                    (Some(0 | 1), _) => Outcome::NotModified,
                    (Some(_), _) => Outcome::Proceed,
                    (None, Some(0 | 1)) => Outcome::NotModified,
                    (None, _) => Outcome::Proceed,
                }
            };
            prop_assert_eq!(evaluate(&headers, &validators), expected);
        }
    }
}
