//! Conditional requests and ranges, answered by a stored response (RFC 9111 §4.3.2, RFC 9110 §13, §14).

use std::ops::Range;

use serow_message::{Headers, KnownFields, KnownHeader, Method, StatusCode};

use crate::{content_range::ContentRange, entity_tag, extent::strong_date, stored::StoredHead, time::Time};

/// The part of a stored response that a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of it.
    Whole,
    /// 304: the client has it.
    NotModified,
    /// 206 with these bytes.
    Part(Range<u64>),
    /// 416: there are no such bytes.
    NotSatisfiable,
}

/// Decides what of a stored response with a content of this length a request with this method, GET or HEAD, and these
/// headers gets. Without a length, while the content is arriving, ranges are not looked at; nor are they for HEAD, whose
/// answer is that of a GET without them (RFC 9110 §14.2).
#[must_use]
pub fn select(method: &Method, request: &Headers, stored: &StoredHead, length: Option<u64>) -> Selection {
    // RFC 9110 §13.2.1: conditions are about responses that would be successful.
    if !stored.status.is_success() {
        return Selection::Whole;
    }
    if is_not_modified(request, stored) {
        return Selection::NotModified;
    }
    match (request.get(KnownHeader::Range), length) {
        (Some(value), Some(length))
            if *method == Method::GET
                && stored.status == StatusCode::OK
                && is_range_current(request, &stored.headers) =>
        {
            part(value, length)
        }
        _ => Selection::Whole,
    }
}

/// Decides what of a stored part a request with these headers gets: bytes of it, or that the client has them. Nothing if it
/// wants others (RFC 9111 §3.3): then its conditions are for the origin, too (§4.3.2).
#[must_use]
pub fn select_of_part(request: &Headers, stored: &StoredHead, place: ContentRange) -> Option<Selection> {
    let value = request.get(KnownHeader::Range)?;
    let selection = match is_range_current(request, &stored.headers) {
        true => part(value, place.complete_length()),
        false => Selection::Whole,
    };
    match selection {
        Selection::Part(range) if !place.covers(&range) => None,
        Selection::Part(_) if is_not_modified(request, stored) => Some(Selection::NotModified),
        Selection::Part(range) => Some(Selection::Part(range)),
        Selection::Whole | Selection::NotModified | Selection::NotSatisfiable => None,
    }
}

/// RFC 9110 §13.1.2, §13.1.3, RFC 9111 §4.3.2.
fn is_not_modified(request: &Headers, stored: &StoredHead) -> bool {
    if request.contains(KnownHeader::IfNoneMatch) {
        let is_match = |tag: &[u8]| {
            tag == b"*" || stored.etag().is_some_and(|etag| entity_tag::equal_weakly(tag.trim_ascii(), etag))
        };
        return request.get_all(KnownHeader::IfNoneMatch).flat_map(entity_tag::members).any(is_match);
    }
    let Some(since) = request.get(KnownHeader::IfModifiedSince).and_then(Time::parse_date) else { return false };
    // §4.3.2: without Last-Modified, Date counts; it is always there.
    let modified = stored.last_modified().and_then(Time::parse_date).unwrap_or_else(|| stored.date());
    modified <= since
}

/// Whether a range of a response with these headers is what the client wants, and not all of it (RFC 9110 §13.1.5).
#[must_use]
pub fn is_range_current(request: &Headers, response: &impl KnownFields) -> bool {
    let Some(value) = request.get(KnownHeader::IfRange) else { return true };
    if value.starts_with(b"\"") || value.starts_with(b"W/") {
        return response.first(KnownHeader::Etag).is_some_and(|etag| entity_tag::equal_strongly(value, etag));
    }
    strong_date(response) == Some(value)
}

/// RFC 9110 §14.1.2, §14.2. Several ranges are ignored, which a server may do: the client gets the whole.
fn part(value: &[u8], length: u64) -> Selection {
    let Some(specifier) = specifier(value) else { return Selection::Whole };
    let Some(dash) = specifier.iter().position(|byte| *byte == b'-') else { return Selection::Whole };
    let (first, last) = (number(&specifier[..dash]), number(&specifier[dash + 1..]));
    let range = match (first, last) {
        (Number::Digits(first), Number::Nothing) => first..length,
        (Number::Digits(first), Number::Digits(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Number::Nothing, Number::Digits(suffix)) => length.saturating_sub(suffix)..length,
        _ => return Selection::Whole,
    };
    match range.start < range.end {
        true => Selection::Part(range),
        // As for files: some clients bound the size of whatever they fetch by a range.
        false if length == 0 => Selection::Whole,
        false => Selection::NotSatisfiable,
    }
}

/// Returns the text behind `bytes=`, if that is one range.
fn specifier(value: &[u8]) -> Option<&[u8]> {
    let (unit, rest) = value.split_at_checked(5)?;
    let specifier = rest.strip_prefix(b"=").filter(|_| unit.eq_ignore_ascii_case(b"bytes"))?;
    (!specifier.contains(&b',')).then(|| specifier.trim_ascii())
}

enum Number {
    Nothing,
    Digits(u64),
    Invalid,
}

/// A number of any length; one that is too large lies behind every end.
fn number(digits: &[u8]) -> Number {
    match digits {
        [] => Number::Nothing,
        digits if digits.iter().all(u8::is_ascii_digit) => Number::Digits(
            digits.iter().fold(0, |sum: u64, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))),
        ),
        _ => Number::Invalid,
    }
}

#[cfg(test)]
#[allow(clippy::type_complexity, reason = "tables of cases")]
mod tests {
    use super::*;
    use crate::stored::tests::stored;

    fn selection(request: &[(&str, &str)], response: &[(&str, &str)], status: u16) -> Selection {
        let mut headers = Headers::new();
        request.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
        select(&Method::GET, &headers, &stored(status, response), Some(10))
    }

    #[test]
    fn ranges_are_for_get_only() {
        let (head, headers) = (stored(200, &[("etag", "\"a\"")]), [("range", "bytes=2-3"), ("if-none-match", "\"a\"")]);
        for (method, fields, expected) in [
            (Method::GET, &headers[..1], Selection::Part(2..4)),
            (Method::HEAD, &headers[..1], Selection::Whole),
            (Method::HEAD, &headers[..], Selection::NotModified),
        ] {
            let mut request = Headers::new();
            fields.iter().for_each(|(name, value)| request.append(*name, value).unwrap());
            assert_eq!(select(&method, &request, &head, Some(10)), expected, "{method} {fields:?}");
        }
    }

    #[test]
    fn conditions_and_their_outcome() {
        use Selection::{NotModified, Whole};
        let (early, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT");
        let tagged: &[(&str, &str)] = &[("etag", "\"a\""), ("last-modified", late)];
        let cases: [(&[(&str, &str)], &[(&str, &str)], Selection); 13] = [
            (&[], tagged, Whole),
            // RFC 9110 §13.1.2
            (&[("if-none-match", "\"a\"")], tagged, NotModified),
            (&[("if-none-match", "\"b\", W/\"a\"")], tagged, NotModified),
            (&[("if-none-match", "\"b\"")], tagged, Whole),
            (&[("if-none-match", "*")], tagged, NotModified),
            (&[("if-none-match", "\"a\"")], &[], Whole),
            (&[("if-none-match", "\"b\""), ("if-modified-since", late)], tagged, Whole),
            // §13.1.3
            (&[("if-modified-since", late)], tagged, NotModified),
            (&[("if-modified-since", early)], tagged, Whole),
            (&[("if-modified-since", "yesterday")], tagged, Whole),
            // RFC 9111 §4.3.2
            (&[("if-modified-since", early)], &[("date", early)], NotModified),
            (&[("if-modified-since", early)], &[("date", late)], Whole),
            (&[("if-none-match", "\"a\""), ("range", "bytes=0-0")], tagged, NotModified),
        ];
        for (request, response, expected) in cases {
            assert_eq!(selection(request, response, 200), expected, "{request:?} {response:?}");
        }
        assert_eq!(selection(&[("if-none-match", "\"a\"")], tagged, 404), Whole);
    }

    #[test]
    fn ranges_and_their_outcome() {
        use Selection::{NotSatisfiable, Part, Whole};
        // RFC 9110 §14.1.2, §14.2; the content has ten bytes.
        for (value, expected) in [
            ("bytes=0-0", Part(0..1)),
            ("bytes=0-9", Part(0..10)),
            ("bytes=5-", Part(5..10)),
            ("bytes=-3", Part(7..10)),
            ("bytes=-30", Part(0..10)),
            ("Bytes=2-99999999999999999999999", Part(2..10)),
            ("bytes=10-", NotSatisfiable),
            ("bytes=99999999999999999999999-", NotSatisfiable),
            ("bytes=-0", NotSatisfiable),
            ("bytes=3-2", Whole),
            ("bytes=-", Whole),
            ("bytes=a-b", Whole),
            ("bytes=0-0,2-3", Whole),
            ("lines=0-0", Whole),
            ("bytes 0-0", Whole),
        ] {
            assert_eq!(selection(&[("range", value)], &[], 200), expected, "{value}");
        }
        assert_eq!(selection(&[("range", "bytes=0-0")], &[], 404), Whole);
    }

    #[test]
    fn ranges_of_a_stored_part_and_their_outcome() {
        use Selection::{NotModified, Part};
        // Bytes 2 to 5 of ten.
        let place = ContentRange::new(2..6, 10).unwrap();
        let (etag, other) = (("if-range", "\"a\""), ("if-range", "\"b\""));
        let cases: [(&[(&str, &str)], Option<Selection>); 19] = [
            (&[("range", "bytes=2-5")], Some(Part(2..6))),
            (&[("range", "bytes=3-4")], Some(Part(3..5))),
            (&[("range", "bytes=2-6")], None),
            (&[("range", "bytes=1-5")], None),
            (&[("range", "bytes=0-9")], None),
            (&[("range", "bytes=6-7")], None),
            (&[("range", "bytes=3-")], None),
            (&[("range", "bytes=-4")], None),
            (&[("range", "bytes=3-4,5-5")], None),
            (&[("range", "lines=3-4")], None),
            // There may be more of it now.
            (&[("range", "bytes=10-")], None),
            // The whole.
            (&[], None),
            (&[("if-none-match", "\"a\"")], None),
            // RFC 9110 §13.1.5
            (&[("range", "bytes=3-4"), etag], Some(Part(3..5))),
            (&[("range", "bytes=3-4"), other], None),
            // §13.1.2
            (&[("range", "bytes=3-4"), ("if-none-match", "\"a\"")], Some(NotModified)),
            (&[("range", "bytes=3-4"), ("if-none-match", "\"b\"")], Some(Part(3..5))),
            (&[("range", "bytes=7-8"), ("if-none-match", "\"a\"")], None),
            (&[("range", "bytes=3-4"), other, ("if-none-match", "\"a\"")], None),
        ];
        let of = |request: &[(&str, &str)], place| {
            let mut headers = Headers::new();
            request.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
            select_of_part(&headers, &stored(200, &[("etag", "\"a\"")]), place)
        };
        for (request, expected) in cases {
            assert_eq!(of(request, place), expected, "{request:?}");
        }
        // The end of ten.
        let end = ContentRange::new(6..10, 10).unwrap();
        for (value, expected) in [
            ("bytes=-3", Some(Part(7..10))),
            ("bytes=-5", None),
            ("bytes=8-", Some(Part(8..10))),
            ("bytes=8-99", Some(Part(8..10))),
            ("bytes=5-", None),
        ] {
            assert_eq!(of(&[("range", value)], end), expected, "{value}");
        }
    }

    #[test]
    fn ranges_of_what_the_client_has_a_part_of() {
        use Selection::{Part, Whole};
        // RFC 9110 §13.1.5.
        let (early, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT");
        for (condition, response, expected) in [
            ("\"a\"", vec![("etag", "\"a\"")], Part(0..1)),
            ("\"b\"", vec![("etag", "\"a\"")], Whole),
            ("W/\"a\"", vec![("etag", "W/\"a\"")], Whole),
            (early, vec![("last-modified", early), ("date", late)], Part(0..1)),
            (early, vec![("last-modified", early), ("date", early)], Whole),
            (late, vec![("last-modified", early), ("date", late)], Whole),
            (late, vec![], Whole),
        ] {
            let found = selection(&[("range", "bytes=0-0"), ("if-range", condition)], &response, 200);
            assert_eq!(found, expected, "{condition} {response:?}");
        }
    }
}
