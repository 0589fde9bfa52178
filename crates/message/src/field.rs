//! Names of header fields: which are well known, and which text may be a name or a value at all.

use core::fmt;

/// A well-known field name, recognised once while a head is parsed, so that later questions cost a comparison of one
/// byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each variant is the field of that name")]
pub enum Known {
    Accept,
    AcceptEncoding,
    AcceptLanguage,
    AcceptRanges,
    Age,
    Allow,
    AltSvc,
    Authorization,
    CacheControl,
    Connection,
    ContentDisposition,
    ContentEncoding,
    ContentLanguage,
    ContentLength,
    ContentLocation,
    ContentRange,
    ContentSecurityPolicy,
    ContentType,
    Cookie,
    Date,
    Etag,
    Expect,
    Expires,
    Forwarded,
    From,
    Host,
    Http2Settings,
    IfMatch,
    IfModifiedSince,
    IfNoneMatch,
    IfRange,
    IfUnmodifiedSince,
    KeepAlive,
    LastModified,
    Link,
    Location,
    MaxForwards,
    Origin,
    Pragma,
    Priority,
    ProxyAuthenticate,
    ProxyAuthorization,
    ProxyConnection,
    Range,
    Referer,
    RetryAfter,
    Server,
    SetCookie,
    StrictTransportSecurity,
    Te,
    Trailer,
    TransferEncoding,
    Upgrade,
    UserAgent,
    Vary,
    Via,
    WwwAuthenticate,
    XContentTypeOptions,
    XForwardedFor,
    XForwardedHost,
    XForwardedProto,
    XRequestId,
}

impl Known {
    /// All of them, in the order of their numbers. At most 64, so that a set of them fits one word.
    const ALL: [Self; 62] = {
        use Known::*;
        [
            Accept,
            AcceptEncoding,
            AcceptLanguage,
            AcceptRanges,
            Age,
            Allow,
            AltSvc,
            Authorization,
            CacheControl,
            Connection,
            ContentDisposition,
            ContentEncoding,
            ContentLanguage,
            ContentLength,
            ContentLocation,
            ContentRange,
            ContentSecurityPolicy,
            ContentType,
            Cookie,
            Date,
            Etag,
            Expect,
            Expires,
            Forwarded,
            From,
            Host,
            Http2Settings,
            IfMatch,
            IfModifiedSince,
            IfNoneMatch,
            IfRange,
            IfUnmodifiedSince,
            KeepAlive,
            LastModified,
            Link,
            Location,
            MaxForwards,
            Origin,
            Pragma,
            Priority,
            ProxyAuthenticate,
            ProxyAuthorization,
            ProxyConnection,
            Range,
            Referer,
            RetryAfter,
            Server,
            SetCookie,
            StrictTransportSecurity,
            Te,
            Trailer,
            TransferEncoding,
            Upgrade,
            UserAgent,
            Vary,
            Via,
            WwwAuthenticate,
            XContentTypeOptions,
            XForwardedFor,
            XForwardedHost,
            XForwardedProto,
            XRequestId,
        ]
    };

    /// The name in lower case, as HTTP/2 writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Recognises a name whatever its case.
    #[must_use]
    #[inline]
    #[allow(clippy::too_many_lines, reason = "a table")]
    pub fn recognise(name: &[u8]) -> Option<Self> {
        // The spellings that clients send are found by a tree of comparisons; others are compared one by one.
        Some(match name {
            b"accept" | b"Accept" => Self::Accept,
            b"accept-encoding" | b"Accept-Encoding" => Self::AcceptEncoding,
            b"accept-language" | b"Accept-Language" => Self::AcceptLanguage,
            b"accept-ranges" | b"Accept-Ranges" => Self::AcceptRanges,
            b"age" | b"Age" => Self::Age,
            b"allow" | b"Allow" => Self::Allow,
            b"alt-svc" | b"Alt-Svc" => Self::AltSvc,
            b"authorization" | b"Authorization" => Self::Authorization,
            b"cache-control" | b"Cache-Control" => Self::CacheControl,
            b"connection" | b"Connection" => Self::Connection,
            b"content-disposition" | b"Content-Disposition" => Self::ContentDisposition,
            b"content-encoding" | b"Content-Encoding" => Self::ContentEncoding,
            b"content-language" | b"Content-Language" => Self::ContentLanguage,
            b"content-length" | b"Content-Length" => Self::ContentLength,
            b"content-location" | b"Content-Location" => Self::ContentLocation,
            b"content-range" | b"Content-Range" => Self::ContentRange,
            b"content-security-policy" | b"Content-Security-Policy" => Self::ContentSecurityPolicy,
            b"content-type" | b"Content-Type" => Self::ContentType,
            b"cookie" | b"Cookie" => Self::Cookie,
            b"date" | b"Date" => Self::Date,
            b"etag" | b"Etag" | b"ETag" => Self::Etag,
            b"expect" | b"Expect" => Self::Expect,
            b"expires" | b"Expires" => Self::Expires,
            b"forwarded" | b"Forwarded" => Self::Forwarded,
            b"from" | b"From" => Self::From,
            b"host" | b"Host" => Self::Host,
            b"http2-settings" | b"Http2-Settings" | b"HTTP2-Settings" => Self::Http2Settings,
            b"if-match" | b"If-Match" => Self::IfMatch,
            b"if-modified-since" | b"If-Modified-Since" => Self::IfModifiedSince,
            b"if-none-match" | b"If-None-Match" => Self::IfNoneMatch,
            b"if-range" | b"If-Range" => Self::IfRange,
            b"if-unmodified-since" | b"If-Unmodified-Since" => Self::IfUnmodifiedSince,
            b"keep-alive" | b"Keep-Alive" => Self::KeepAlive,
            b"last-modified" | b"Last-Modified" => Self::LastModified,
            b"link" | b"Link" => Self::Link,
            b"location" | b"Location" => Self::Location,
            b"max-forwards" | b"Max-Forwards" => Self::MaxForwards,
            b"origin" | b"Origin" => Self::Origin,
            b"pragma" | b"Pragma" => Self::Pragma,
            b"priority" | b"Priority" => Self::Priority,
            b"proxy-authenticate" | b"Proxy-Authenticate" => Self::ProxyAuthenticate,
            b"proxy-authorization" | b"Proxy-Authorization" => Self::ProxyAuthorization,
            b"proxy-connection" | b"Proxy-Connection" => Self::ProxyConnection,
            b"range" | b"Range" => Self::Range,
            b"referer" | b"Referer" => Self::Referer,
            b"retry-after" | b"Retry-After" => Self::RetryAfter,
            b"server" | b"Server" => Self::Server,
            b"set-cookie" | b"Set-Cookie" => Self::SetCookie,
            b"strict-transport-security" | b"Strict-Transport-Security" => Self::StrictTransportSecurity,
            b"te" | b"Te" | b"TE" => Self::Te,
            b"trailer" | b"Trailer" => Self::Trailer,
            b"transfer-encoding" | b"Transfer-Encoding" => Self::TransferEncoding,
            b"upgrade" | b"Upgrade" => Self::Upgrade,
            b"user-agent" | b"User-Agent" => Self::UserAgent,
            b"vary" | b"Vary" => Self::Vary,
            b"via" | b"Via" => Self::Via,
            b"www-authenticate" | b"Www-Authenticate" | b"WWW-Authenticate" => Self::WwwAuthenticate,
            b"x-content-type-options" | b"X-Content-Type-Options" => Self::XContentTypeOptions,
            b"x-forwarded-for" | b"X-Forwarded-For" => Self::XForwardedFor,
            b"x-forwarded-host" | b"X-Forwarded-Host" => Self::XForwardedHost,
            b"x-forwarded-proto" | b"X-Forwarded-Proto" => Self::XForwardedProto,
            b"x-request-id" | b"X-Request-Id" | b"X-Request-ID" => Self::XRequestId,
            _ => return Self::recognise_any_case(name),
        })
    }

    #[cold]
    fn recognise_any_case(name: &[u8]) -> Option<Self> {
        let candidates = BY_LENGTH.get(name.len())?;
        let known = |number: &&u8| NAMES[**number as usize].as_bytes().eq_ignore_ascii_case(name);
        candidates.members().iter().find(known).map(|number| Self::ALL[*number as usize])
    }

    /// The place of this name in a set of names kept in one word.
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u8
    }
}

const NAMES: [&str; 62] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "authorization",
    "cache-control",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-security-policy",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expect",
    "expires",
    "forwarded",
    "from",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "last-modified",
    "link",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "priority",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "referer",
    "retry-after",
    "server",
    "set-cookie",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "www-authenticate",
    "x-content-type-options",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-request-id",
];

/// The numbers of the names of one length.
#[derive(Clone, Copy)]
struct Candidates {
    numbers: [u8; 8],
    count: u8,
}

impl Candidates {
    fn members(&self) -> &[u8] {
        &self.numbers[..self.count as usize]
    }
}

/// One more than the longest name: `strict-transport-security` has 25 letters.
const LENGTHS: usize = 26;

const BY_LENGTH: [Candidates; LENGTHS] = {
    let mut table = [Candidates { numbers: [0; 8], count: 0 }; LENGTHS];
    let mut number = 0;
    while number < NAMES.len() {
        let row = &mut table[NAMES[number].len()];
        row.numbers[row.count as usize] = number as u8;
        row.count += 1;
        number += 1;
    }
    table
};

/// Something that names a header field: text in any case, a [`Known`] name, or one of `http`'s.
pub trait FieldName {
    /// The name's bytes.
    fn bytes(&self) -> &[u8];

    /// The well-known name this is, if it is one.
    fn known(&self) -> Option<Known> {
        Known::recognise(self.bytes())
    }
}

impl FieldName for Known {
    fn bytes(&self) -> &[u8] {
        self.as_str().as_bytes()
    }

    #[inline]
    fn known(&self) -> Option<Known> {
        Some(*self)
    }
}

impl FieldName for &str {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl FieldName for &[u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl FieldName for http::HeaderName {
    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }
}

impl FieldName for &http::HeaderName {
    fn bytes(&self) -> &[u8] {
        AsRef::<[u8]>::as_ref(self)
    }
}

/// A header field that must not be sent: its name is no token, or its value holds a control character.
///
/// Refusing it here is what keeps a handler that copies outside text into a header from splitting the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidHeader {
    /// RFC 9110 §5.1: a name is a token.
    Name,
    /// RFC 9110 §5.5: a value has neither CR, LF, NUL nor another control character but the tab.
    Value,
    /// The list holds more than four gigabytes or a name more than 64 kilobytes.
    TooLarge,
}

impl fmt::Display for InvalidHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "the name of a header field must be a token (letters, digits and !#$%&'*+-.^_`|~)",
            Self::Value => "the value of a header field must not hold control characters",
            Self::TooLarge => "the header field is too large",
        })
    }
}

impl core::error::Error for InvalidHeader {}

/// RFC 9110 §5.6.2: the characters of a token.
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'z' | b'|' | b'~' | b'0'..=b'9' | b'A'..=b'Z')
}

/// RFC 9110 §5.5: visible characters, space, tab and obs-text.
pub(crate) const fn is_value_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_recognised_in_any_case() {
        for (number, known) in Known::ALL.into_iter().enumerate() {
            assert_eq!(known as usize, number);
            assert_eq!(Known::recognise(known.as_str().as_bytes()), Some(known));
            let upper = known.as_str().to_ascii_uppercase();
            assert_eq!(Known::recognise(upper.as_bytes()), Some(known));
        }
    }

    #[test]
    fn names_follow_the_variants() {
        extern crate std;
        for known in Known::ALL {
            let joined = known.as_str().replace('-', "");
            assert_eq!(joined, std::format!("{known:?}").to_ascii_lowercase());
        }
    }

    #[test]
    fn other_names_are_not_recognised() {
        for name in ["", "x", "hos", "hosts", "content-lengthy", "strict-transport-security-and-more", "hos\u{7f}"] {
            assert_eq!(Known::recognise(name.as_bytes()), None, "{name:?}");
        }
    }

    #[test]
    fn tokens_are_those_of_the_rfc() {
        let allowed = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for byte in 0..=255u8 {
            assert_eq!(is_token_byte(byte), allowed.contains(&byte), "{byte:#x}");
        }
    }
}
