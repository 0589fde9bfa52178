//! How much of a representation a response has, and whether that is certain (RFC 9111 §3.3).

use serow_message::{Headers, KnownFields, KnownHeader, StatusCode, content::decimal};

use crate::{content_range::ContentRange, entity_tag, time::Time};

/// How much of a representation a response has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// A part.
    Part(ContentRange),
}

impl Extent {
    /// That of a response to GET with this status and these headers, to a request with those. Nothing for a 206 of which it
    /// is not certain what it is a part of.
    #[must_use]
    pub fn of(status: StatusCode, headers: &Headers, request: &Headers) -> Option<Self> {
        if status != StatusCode::PARTIAL_CONTENT {
            return Some(Self::Whole);
        }
        let part = ContentRange::of(headers)?;
        let length_agrees =
            headers.get_all(KnownHeader::ContentLength).all(|value| value == decimal(part.length(), &mut [0; 20]));
        // RFC 9110 §15.3.7: to If-Range, fields are left out that the client has from before. Without Range, a client
        // that gets a part is one of an origin that errs.
        let has_all_fields = request.contains(KnownHeader::Range) && !request.contains(KnownHeader::IfRange);
        (length_agrees && has_all_fields && strong_validator(headers).is_some()).then_some(Self::Part(part))
    }

    /// Whether a body of this length, if it is known, may be so much.
    #[must_use]
    pub fn may_have(&self, length: Option<u64>) -> bool {
        match self {
            Self::Whole => true,
            Self::Part(part) => length.is_none_or(|length| length == part.length()),
        }
    }
}

/// A validator that two responses share if and only if their contents are the same, byte by byte (RFC 9110 §8.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrongValidator<'a> {
    Tag(&'a [u8]),
    /// In the text of Last-Modified.
    Date(&'a [u8]),
}

/// The strong validator of a response with these headers; nothing if it has none.
pub(crate) fn strong_validator(headers: &impl KnownFields) -> Option<StrongValidator<'_>> {
    // A weak tag says that the bytes may differ, whatever the date says.
    if let Some(tag) = headers.first(KnownHeader::Etag) {
        return entity_tag::is_quoted_and_strong(tag).then_some(StrongValidator::Tag(tag));
    }
    strong_date(headers).map(StrongValidator::Date)
}

/// The text of Last-Modified, if it is a strong validator: the response was made well after that time (RFC 9110
/// §8.8.2.2).
pub(crate) fn strong_date(headers: &impl KnownFields) -> Option<&[u8]> {
    let value = headers.first(KnownHeader::LastModified)?;
    let (modified, made) = (Time::parse_date(value)?, headers.first(KnownHeader::Date).and_then(Time::parse_date)?);
    (made.since(modified).as_secs() >= 1).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::tests::headers;

    #[test]
    fn parts_of_which_it_is_certain_what_they_belong_to() {
        let (modified, later) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT");
        let cases: [(&[(&str, &str)], bool); 13] = [
            (&[("etag", "\"a\"")], true),
            (&[("etag", "\"a\""), ("content-length", "5")], true),
            (&[("etag", "\"a\""), ("content-length", "6")], false),
            (&[("etag", "\"a\""), ("content-length", "05")], false),
            // RFC 9110 §8.8.3
            (&[("etag", "W/\"a\"")], false),
            (&[("etag", "a")], false),
            (&[("etag", "\"a")], false),
            (&[("etag", "\"")], false),
            (&[("etag", "W/\"a\""), ("last-modified", modified), ("date", later)], false),
            // §8.8.2.2
            (&[("last-modified", modified), ("date", later)], true),
            (&[("last-modified", modified), ("date", modified)], false),
            (&[("last-modified", modified)], false),
            (&[], false),
        ];
        let request = headers(&[("range", "bytes=0-4")]);
        for (fields, is_certain) in cases {
            let response = headers(&[&[("content-range", "bytes 0-4/10")], fields].concat());
            let found = Extent::of(StatusCode::PARTIAL_CONTENT, &response, &request);
            let expected = ContentRange::new(0..5, 10).map(Extent::Part).filter(|_| is_certain);
            assert_eq!(found, expected, "{fields:?}");
        }
    }

    #[test]
    fn parts_whose_head_may_lack_fields_are_not_certain() {
        let response = headers(&[("content-range", "bytes 0-4/10"), ("etag", "\"a\"")]);
        for (fields, is_certain) in [
            (&[("range", "bytes=0-4")][..], true),
            (&[("range", "bytes=0-4"), ("if-range", "\"a\"")], false),
            (&[], false),
        ] {
            let found = Extent::of(StatusCode::PARTIAL_CONTENT, &response, &headers(fields));
            assert_eq!(found.is_some(), is_certain, "{fields:?}");
        }
    }

    #[test]
    fn other_responses_are_whole() {
        let response = headers(&[("content-range", "bytes 0-4/10")]);
        for status in [StatusCode::OK, StatusCode::NOT_FOUND] {
            assert_eq!(Extent::of(status, &response, &headers(&[])), Some(Extent::Whole));
        }
    }
}
