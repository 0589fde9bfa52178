//! Names and values of header fields: the well-known names, and the rules for valid text.

use core::fmt;

/// The text of a name in the table.
const fn text(name: &[u8]) -> &str {
    match core::str::from_utf8(name) {
        Ok(text) => text,
        Err(_) => panic!("a name is ASCII"),
    }
}

/// Generates the enum and its tables from one list. The first spelling is the name; it and the others, which clients
/// send, are recognised by a tree of comparisons.
macro_rules! known_names {
    ($($variant:ident: $name:literal $($spelling:literal)*;)*) => {
        /// A well-known field name, recognised once while a head is parsed, so that later look-ups cost a comparison of
        /// one byte.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each variant is the field of that name")]
        pub enum KnownHeader {
            $($variant,)*
        }

        /// All of them, in the order of their numbers.
        pub(crate) const ALL: [KnownHeader; COUNT] = [$(KnownHeader::$variant),*];

        const NAMES: [&str; COUNT] = [$(text($name)),*];

        pub(crate) const COUNT: usize = [$(KnownHeader::$variant),*].len();

        /// Recognises the usual spellings of a name.
        #[inline]
        fn recognise_usual(name: &[u8]) -> Option<KnownHeader> {
            match name {
                $($name $(| $spelling)* => Some(KnownHeader::$variant),)*
                _ => None,
            }
        }
    };
}

known_names! {
    Accept: b"accept" b"Accept";
    AcceptEncoding: b"accept-encoding" b"Accept-Encoding";
    AcceptLanguage: b"accept-language" b"Accept-Language";
    AcceptRanges: b"accept-ranges" b"Accept-Ranges";
    Age: b"age" b"Age";
    Allow: b"allow" b"Allow";
    AltSvc: b"alt-svc" b"Alt-Svc";
    Authorization: b"authorization" b"Authorization";
    CacheControl: b"cache-control" b"Cache-Control";
    Connection: b"connection" b"Connection";
    ContentDisposition: b"content-disposition" b"Content-Disposition";
    ContentEncoding: b"content-encoding" b"Content-Encoding";
    ContentLanguage: b"content-language" b"Content-Language";
    ContentLength: b"content-length" b"Content-Length";
    ContentLocation: b"content-location" b"Content-Location";
    ContentRange: b"content-range" b"Content-Range";
    ContentSecurityPolicy: b"content-security-policy" b"Content-Security-Policy";
    ContentType: b"content-type" b"Content-Type";
    Cookie: b"cookie" b"Cookie";
    Date: b"date" b"Date";
    Etag: b"etag" b"Etag" b"ETag";
    Expect: b"expect" b"Expect";
    Expires: b"expires" b"Expires";
    Forwarded: b"forwarded" b"Forwarded";
    From: b"from" b"From";
    Host: b"host" b"Host";
    Http2Settings: b"http2-settings" b"Http2-Settings" b"HTTP2-Settings";
    IfMatch: b"if-match" b"If-Match";
    IfModifiedSince: b"if-modified-since" b"If-Modified-Since";
    IfNoneMatch: b"if-none-match" b"If-None-Match";
    IfRange: b"if-range" b"If-Range";
    IfUnmodifiedSince: b"if-unmodified-since" b"If-Unmodified-Since";
    KeepAlive: b"keep-alive" b"Keep-Alive";
    LastModified: b"last-modified" b"Last-Modified";
    Link: b"link" b"Link";
    Location: b"location" b"Location";
    MaxForwards: b"max-forwards" b"Max-Forwards";
    Origin: b"origin" b"Origin";
    Pragma: b"pragma" b"Pragma";
    Priority: b"priority" b"Priority";
    ProxyAuthenticate: b"proxy-authenticate" b"Proxy-Authenticate";
    ProxyAuthorization: b"proxy-authorization" b"Proxy-Authorization";
    ProxyConnection: b"proxy-connection" b"Proxy-Connection";
    Range: b"range" b"Range";
    Referer: b"referer" b"Referer";
    RetryAfter: b"retry-after" b"Retry-After";
    Server: b"server" b"Server";
    SetCookie: b"set-cookie" b"Set-Cookie";
    StrictTransportSecurity: b"strict-transport-security" b"Strict-Transport-Security";
    Te: b"te" b"Te" b"TE";
    Trailer: b"trailer" b"Trailer";
    TransferEncoding: b"transfer-encoding" b"Transfer-Encoding";
    Upgrade: b"upgrade" b"Upgrade";
    UserAgent: b"user-agent" b"User-Agent";
    Vary: b"vary" b"Vary";
    Via: b"via" b"Via";
    WwwAuthenticate: b"www-authenticate" b"Www-Authenticate" b"WWW-Authenticate";
    XContentTypeOptions: b"x-content-type-options" b"X-Content-Type-Options";
    XForwardedFor: b"x-forwarded-for" b"X-Forwarded-For";
    XForwardedHost: b"x-forwarded-host" b"X-Forwarded-Host";
    XForwardedProto: b"x-forwarded-proto" b"X-Forwarded-Proto";
    XRequestId: b"x-request-id" b"X-Request-Id" b"X-Request-ID";
}

// A set of names fits one word.
const _: () = assert!(COUNT <= 64);

impl KnownHeader {
    /// The name in lower case, as in HTTP/2.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Recognises a name whatever its case.
    #[must_use]
    #[inline]
    pub fn recognise(name: &[u8]) -> Option<Self> {
        Self::recognise_usual(name).or_else(|| Self::recognise_any_case(name))
    }

    /// Recognises the spellings that most programs use: lower case, and capitals at the beginning of words.
    #[must_use]
    #[inline]
    pub fn recognise_usual(name: &[u8]) -> Option<Self> {
        recognise_usual(name)
    }

    /// As [`Self::recognise`], for names that [`Self::recognise_usual`] did not recognise.
    #[must_use]
    #[cold]
    pub fn recognise_any_case(name: &[u8]) -> Option<Self> {
        let candidates = BY_LENGTH.get(name.len())?;
        let known = |number: &&u8| NAMES[**number as usize].as_bytes().eq_ignore_ascii_case(name);
        candidates.members().iter().find(known).map(|number| ALL[*number as usize])
    }

    /// The name with this number, by which it was written as `as u8`.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        ALL.get(usize::from(number)).copied()
    }

    /// The bit of this name in a set of names.
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u8
    }

    /// A set of names.
    pub(crate) const fn set(names: &[Self]) -> u64 {
        let (mut set, mut place) = (0, 0);
        while place < names.len() {
            set |= names[place].bit();
            place += 1;
        }
        set
    }
}

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
    while number < COUNT {
        let row = &mut table[NAMES[number].len()];
        row.numbers[row.count as usize] = number as u8;
        row.count += 1;
        number += 1;
    }
    table
};

/// The name of a header field: text in any case, a [`KnownHeader`], or one of `http`'s names.
pub trait FieldName {
    /// The name's bytes.
    fn bytes(&self) -> &[u8];

    /// The [`KnownHeader`], if it is one.
    fn known(&self) -> Option<KnownHeader> {
        KnownHeader::recognise(self.bytes())
    }
}

impl FieldName for KnownHeader {
    fn bytes(&self) -> &[u8] {
        self.as_str().as_bytes()
    }

    #[inline]
    fn known(&self) -> Option<KnownHeader> {
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

/// The error for an invalid header field: its name is not a token, or its value contains a control character.
///
/// This check prevents response splitting by a handler that copies untrusted text into a header field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InvalidHeader {
    /// RFC 9110 §5.1: a name is a token.
    Name,
    /// RFC 9110 §5.5: a value has neither CR, LF, NUL nor another control character but the tab.
    Value,
    /// The list has more than four gigabytes, or a name more than 64 kilobytes.
    TooLarge,
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for InvalidHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for InvalidHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Name => "the name of a header field must be a token (letters, digits and !#$%&'*+-.^_`|~)",
            Self::Value => "the value of a header field must not hold control characters",
            Self::TooLarge => "the header field is too large",
        })
    }
}

impl core::error::Error for InvalidHeader {}

/// Whether a byte is allowed in a token, such as a method or a field name (RFC 9110 §5.6.2).
#[must_use]
pub const fn is_token_byte(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'z' | b'|' | b'~' | b'0'..=b'9' | b'A'..=b'Z')
}

/// The number of bytes from the front that are text: visible characters, space, tab, and bytes from 0x80 on (RFC 9110
/// §5.5).
///
/// Eight bytes are tried at a time. A byte below 0x20 borrows when 0x20 is subtracted, and 0x7f, with its bits turned,
/// is 0x00, which borrows when 0x01 is: the high bit tells, where the byte had none itself. A borrow may make a byte
/// behind a control character look like one, never one before it; so the first is right, and a tab is passed over by
/// the slow way.
#[must_use]
#[inline]
pub fn text_length(text: &[u8]) -> usize {
    let mut place = 0;
    while let Some(chunk) = text[place..].first_chunk::<8>() {
        let found = control_bytes(u64::from_le_bytes(*chunk));
        if found == 0 {
            place += 8;
            continue;
        }
        place += found.trailing_zeros() as usize / 8;
        if text[place] != b'\t' && (text[place] < b' ' || text[place] == 0x7f) {
            return place;
        }
        place += 1;
    }
    let rest = &text[place..];
    // The last eight bytes at once, of which the first have been tried already.
    if let Some(last) = text.last_chunk::<8>()
        && control_bytes(u64::from_le_bytes(*last)) == 0
    {
        return text.len();
    }
    place + rest.iter().position(|&byte| byte < b' ' && byte != b'\t' || byte == 0x7f).unwrap_or(rest.len())
}

/// The high bit of the first byte that is a control character, and perhaps of some behind it; none where there is none.
#[inline]
fn control_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let turned = word ^ (ONES * 0x7f);
    let delete = turned.wrapping_sub(ONES) & !turned;
    (below_space | delete) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_recognised_in_any_case() {
        for (number, known) in ALL.into_iter().enumerate() {
            assert_eq!(known as usize, number);
            assert_eq!(KnownHeader::recognise(known.as_str().as_bytes()), Some(known));
            let upper = known.as_str().to_ascii_uppercase();
            assert_eq!(KnownHeader::recognise(upper.as_bytes()), Some(known));
        }
    }

    #[test]
    fn names_follow_the_variants() {
        extern crate std;
        for known in ALL {
            let joined = known.as_str().replace('-', "");
            assert_eq!(joined, std::format!("{known:?}").to_ascii_lowercase());
        }
    }

    #[test]
    fn other_names_are_not_recognised() {
        for name in ["", "x", "hos", "hosts", "content-lengthy", "strict-transport-security-and-more", "hos\u{7f}"] {
            assert_eq!(KnownHeader::recognise(name.as_bytes()), None, "{name:?}");
        }
    }

    #[test]
    fn text_ends_at_the_first_control_character_wherever_it_stands() {
        for length in 0..40 {
            for control in [0u8, 1, 0x0d, 0x0a, 0x1f, 0x7f] {
                for filler in [b'a', b' ', b'\t', 0x80, 0xff, b'~', b'!'] {
                    let mut text = alloc::vec![filler; length];
                    assert_eq!(text_length(&text), length);
                    text.push(control);
                    text.extend_from_slice(&[0, b'b', 0x7f, 0x80]);
                    assert_eq!(text_length(&text), length, "{}", text.escape_ascii());
                }
            }
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
