//! The static table (RFC 7541, Appendix A).

use serow_message::KnownHeader;
use serow_streams::{
    compression::{
        Line, StaticTable,
        static_table::{known, other, pseudo},
    },
    fields::{Name, Pseudo},
};

/// The index of the first entry of this name.
#[inline]
pub(super) fn index_of_name(kind: Name, name: &[u8]) -> Option<usize> {
    TABLE.find_name(kind, name).map(|place| place + 1)
}

/// The index of the entry with this name and value. An empty value has none but a name of its own: nobody sends it
/// often.
#[inline]
pub(super) fn index_of_field(kind: Name, value: &[u8]) -> Option<u8> {
    Some(match (kind, value) {
        (Name::Pseudo(Pseudo::Method), b"GET") => 2,
        (Name::Pseudo(Pseudo::Method), b"POST") => 3,
        (Name::Pseudo(Pseudo::Path), b"/") => 4,
        (Name::Pseudo(Pseudo::Path), b"/index.html") => 5,
        (Name::Pseudo(Pseudo::Scheme), b"http") => 6,
        (Name::Pseudo(Pseudo::Scheme), b"https") => 7,
        (Name::Pseudo(Pseudo::Status), b"200") => 8,
        (Name::Pseudo(Pseudo::Status), b"204") => 9,
        (Name::Pseudo(Pseudo::Status), b"206") => 10,
        (Name::Pseudo(Pseudo::Status), b"304") => 11,
        (Name::Pseudo(Pseudo::Status), b"400") => 12,
        (Name::Pseudo(Pseudo::Status), b"404") => 13,
        (Name::Pseudo(Pseudo::Status), b"500") => 14,
        (Name::Known(KnownHeader::AcceptEncoding), b"gzip, deflate") => 16,
        _ => return None,
    })
}

/// How many entries there are.
pub(super) const COUNT: usize = 61;

/// The entry of index 1 is the first.
pub(super) static TABLE: StaticTable<COUNT> = StaticTable::new(ENTRIES);

const ENTRIES: [Line<'static>; COUNT] = [
    pseudo(Pseudo::Authority, ""),
    pseudo(Pseudo::Method, "GET"),
    pseudo(Pseudo::Method, "POST"),
    pseudo(Pseudo::Path, "/"),
    pseudo(Pseudo::Path, "/index.html"),
    pseudo(Pseudo::Scheme, "http"),
    pseudo(Pseudo::Scheme, "https"),
    pseudo(Pseudo::Status, "200"),
    pseudo(Pseudo::Status, "204"),
    pseudo(Pseudo::Status, "206"),
    pseudo(Pseudo::Status, "304"),
    pseudo(Pseudo::Status, "400"),
    pseudo(Pseudo::Status, "404"),
    pseudo(Pseudo::Status, "500"),
    other("accept-charset", ""),
    known(KnownHeader::AcceptEncoding, "gzip, deflate"),
    known(KnownHeader::AcceptLanguage, ""),
    known(KnownHeader::AcceptRanges, ""),
    known(KnownHeader::Accept, ""),
    other("access-control-allow-origin", ""),
    known(KnownHeader::Age, ""),
    known(KnownHeader::Allow, ""),
    known(KnownHeader::Authorization, ""),
    known(KnownHeader::CacheControl, ""),
    known(KnownHeader::ContentDisposition, ""),
    known(KnownHeader::ContentEncoding, ""),
    known(KnownHeader::ContentLanguage, ""),
    known(KnownHeader::ContentLength, ""),
    known(KnownHeader::ContentLocation, ""),
    known(KnownHeader::ContentRange, ""),
    known(KnownHeader::ContentType, ""),
    known(KnownHeader::Cookie, ""),
    known(KnownHeader::Date, ""),
    known(KnownHeader::Etag, ""),
    known(KnownHeader::Expect, ""),
    known(KnownHeader::Expires, ""),
    known(KnownHeader::From, ""),
    known(KnownHeader::Host, ""),
    known(KnownHeader::IfMatch, ""),
    known(KnownHeader::IfModifiedSince, ""),
    known(KnownHeader::IfNoneMatch, ""),
    known(KnownHeader::IfRange, ""),
    known(KnownHeader::IfUnmodifiedSince, ""),
    known(KnownHeader::LastModified, ""),
    known(KnownHeader::Link, ""),
    known(KnownHeader::Location, ""),
    known(KnownHeader::MaxForwards, ""),
    known(KnownHeader::ProxyAuthenticate, ""),
    known(KnownHeader::ProxyAuthorization, ""),
    known(KnownHeader::Range, ""),
    known(KnownHeader::Referer, ""),
    other("refresh", ""),
    known(KnownHeader::RetryAfter, ""),
    known(KnownHeader::Server, ""),
    known(KnownHeader::SetCookie, ""),
    known(KnownHeader::StrictTransportSecurity, ""),
    known(KnownHeader::TransferEncoding, ""),
    known(KnownHeader::UserAgent, ""),
    known(KnownHeader::Vary, ""),
    known(KnownHeader::Via, ""),
    known(KnownHeader::WwwAuthenticate, ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_name_and_by_value() {
        for (entry, index) in ENTRIES.iter().zip(1_u8..) {
            assert_eq!(Name::recognise(entry.name), entry.name_kind);
            let first = index_of_name(entry.name_kind, entry.name).expect("a name of the table");
            assert!(first <= usize::from(index) && ENTRIES[first - 1].name == entry.name);
            let expected = (!entry.value.is_empty()).then_some(index);
            assert_eq!(index_of_field(entry.name_kind, entry.value), expected);
        }
        assert_eq!(index_of_name(Name::Other, b"x-one"), None);
        assert_eq!(index_of_name(Name::Pseudo(Pseudo::Protocol), b":protocol"), None);
        assert_eq!(index_of_name(Name::Known(KnownHeader::Upgrade), b"upgrade"), None);
    }
}
