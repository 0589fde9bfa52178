//! The static table (RFC 9204, Appendix A).

use serow_message::KnownHeader;
use serow_streams::{
    compression::{
        Line, StaticTable,
        static_table::{known, other, pseudo},
    },
    fields::Pseudo,
};

/// An entry's place is its index.
pub(super) static TABLE: StaticTable<COUNT> = StaticTable::new(ENTRIES);

/// How many entries there are.
const COUNT: usize = 99;

const ENTRIES: [Line<'static>; COUNT] = [
    pseudo(Pseudo::Authority, ""),
    pseudo(Pseudo::Path, "/"),
    known(KnownHeader::Age, "0"),
    known(KnownHeader::ContentDisposition, ""),
    known(KnownHeader::ContentLength, "0"),
    known(KnownHeader::Cookie, ""),
    known(KnownHeader::Date, ""),
    known(KnownHeader::Etag, ""),
    known(KnownHeader::IfModifiedSince, ""),
    known(KnownHeader::IfNoneMatch, ""),
    known(KnownHeader::LastModified, ""),
    known(KnownHeader::Link, ""),
    known(KnownHeader::Location, ""),
    known(KnownHeader::Referer, ""),
    known(KnownHeader::SetCookie, ""),
    pseudo(Pseudo::Method, "CONNECT"),
    pseudo(Pseudo::Method, "DELETE"),
    pseudo(Pseudo::Method, "GET"),
    pseudo(Pseudo::Method, "HEAD"),
    pseudo(Pseudo::Method, "OPTIONS"),
    pseudo(Pseudo::Method, "POST"),
    pseudo(Pseudo::Method, "PUT"),
    pseudo(Pseudo::Scheme, "http"),
    pseudo(Pseudo::Scheme, "https"),
    pseudo(Pseudo::Status, "103"),
    pseudo(Pseudo::Status, "200"),
    pseudo(Pseudo::Status, "304"),
    pseudo(Pseudo::Status, "404"),
    pseudo(Pseudo::Status, "503"),
    known(KnownHeader::Accept, "*/*"),
    known(KnownHeader::Accept, "application/dns-message"),
    known(KnownHeader::AcceptEncoding, "gzip, deflate, br"),
    known(KnownHeader::AcceptRanges, "bytes"),
    other("access-control-allow-headers", "cache-control"),
    other("access-control-allow-headers", "content-type"),
    other("access-control-allow-origin", "*"),
    known(KnownHeader::CacheControl, "max-age=0"),
    known(KnownHeader::CacheControl, "max-age=2592000"),
    known(KnownHeader::CacheControl, "max-age=604800"),
    known(KnownHeader::CacheControl, "no-cache"),
    known(KnownHeader::CacheControl, "no-store"),
    known(KnownHeader::CacheControl, "public, max-age=31536000"),
    known(KnownHeader::ContentEncoding, "br"),
    known(KnownHeader::ContentEncoding, "gzip"),
    known(KnownHeader::ContentType, "application/dns-message"),
    known(KnownHeader::ContentType, "application/javascript"),
    known(KnownHeader::ContentType, "application/json"),
    known(KnownHeader::ContentType, "application/x-www-form-urlencoded"),
    known(KnownHeader::ContentType, "image/gif"),
    known(KnownHeader::ContentType, "image/jpeg"),
    known(KnownHeader::ContentType, "image/png"),
    known(KnownHeader::ContentType, "text/css"),
    known(KnownHeader::ContentType, "text/html; charset=utf-8"),
    known(KnownHeader::ContentType, "text/plain"),
    known(KnownHeader::ContentType, "text/plain;charset=utf-8"),
    known(KnownHeader::Range, "bytes=0-"),
    known(KnownHeader::StrictTransportSecurity, "max-age=31536000"),
    known(KnownHeader::StrictTransportSecurity, "max-age=31536000; includesubdomains"),
    known(KnownHeader::StrictTransportSecurity, "max-age=31536000; includesubdomains; preload"),
    known(KnownHeader::Vary, "accept-encoding"),
    known(KnownHeader::Vary, "origin"),
    known(KnownHeader::XContentTypeOptions, "nosniff"),
    other("x-xss-protection", "1; mode=block"),
    pseudo(Pseudo::Status, "100"),
    pseudo(Pseudo::Status, "204"),
    pseudo(Pseudo::Status, "206"),
    pseudo(Pseudo::Status, "302"),
    pseudo(Pseudo::Status, "400"),
    pseudo(Pseudo::Status, "403"),
    pseudo(Pseudo::Status, "421"),
    pseudo(Pseudo::Status, "425"),
    pseudo(Pseudo::Status, "500"),
    known(KnownHeader::AcceptLanguage, ""),
    other("access-control-allow-credentials", "FALSE"),
    other("access-control-allow-credentials", "TRUE"),
    other("access-control-allow-headers", "*"),
    other("access-control-allow-methods", "get"),
    other("access-control-allow-methods", "get, post, options"),
    other("access-control-allow-methods", "options"),
    other("access-control-expose-headers", "content-length"),
    other("access-control-request-headers", "content-type"),
    other("access-control-request-method", "get"),
    other("access-control-request-method", "post"),
    known(KnownHeader::AltSvc, "clear"),
    known(KnownHeader::Authorization, ""),
    known(KnownHeader::ContentSecurityPolicy, "script-src 'none'; object-src 'none'; base-uri 'none'"),
    other("early-data", "1"),
    other("expect-ct", ""),
    known(KnownHeader::Forwarded, ""),
    known(KnownHeader::IfRange, ""),
    known(KnownHeader::Origin, ""),
    other("purpose", "prefetch"),
    known(KnownHeader::Server, ""),
    other("timing-allow-origin", "*"),
    other("upgrade-insecure-requests", "1"),
    known(KnownHeader::UserAgent, ""),
    known(KnownHeader::XForwardedFor, ""),
    other("x-frame-options", "deny"),
    other("x-frame-options", "sameorigin"),
];

#[cfg(test)]
mod tests {
    use serow_streams::fields::Name;

    use super::*;

    #[test]
    fn entries_are_found_by_name_and_by_value() {
        for (index, entry) in ENTRIES.iter().enumerate() {
            assert_eq!(Name::recognise(entry.name), entry.name_kind);
            assert_eq!(TABLE.find_field(entry.name_kind, entry.name, entry.value), Some(index));
            assert_eq!(TABLE.find_field(entry.name_kind, entry.name, b"something else"), None);
            let first = ENTRIES.iter().position(|other| other.name == entry.name);
            assert_eq!(TABLE.find_name(entry.name_kind, &entry.name.to_ascii_uppercase()), first);
        }
        assert_eq!(TABLE.find_name(Name::Other, b"x-one"), None);
        assert_eq!(TABLE.find_name(Name::Pseudo(Pseudo::Protocol), b":protocol"), None);
        assert_eq!(TABLE.find_name(Name::Known(KnownHeader::Host), b"host"), None);
    }
}
