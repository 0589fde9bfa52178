//! The static table (RFC 7541, Appendix A).

use serow_message::Known;

use super::name::{Name, Pseudo};

/// An entry.
pub(super) struct Entry {
    pub(super) name: &'static [u8],
    pub(super) value: &'static [u8],
    pub(super) name_kind: Name,
}

/// The index of the first entry of this name.
pub(super) fn index_of_name(kind: Name, name: &[u8]) -> Option<usize> {
    let index = match kind {
        Name::Pseudo(pseudo) => usize::from(OF_PSEUDO[pseudo as usize]),
        Name::Known(known) => usize::from(OF_KNOWN[known as usize]),
        Name::Other => *UNKNOWN.iter().find(|index| ENTRIES[**index - 1].name.eq_ignore_ascii_case(name))?,
    };
    (index != 0).then_some(index)
}

/// How many entries there are.
pub(super) const COUNT: usize = 61;

/// Those whose names have no [`Known`] of their own.
const UNKNOWN: [usize; 3] = [15, 20, 52];

const PSEUDO_NAMES: usize = 6;

/// `serow_message` sees to it that there are no more.
const KNOWN_NAMES: usize = 64;

static OF_PSEUDO: [u8; PSEUDO_NAMES] = {
    let mut table = [0; PSEUDO_NAMES];
    let mut index = COUNT;
    while index > 0 {
        if let Name::Pseudo(pseudo) = ENTRIES[index - 1].name_kind {
            table[pseudo as usize] = index as u8;
        }
        index -= 1;
    }
    table
};

static OF_KNOWN: [u8; KNOWN_NAMES] = {
    let mut table = [0; KNOWN_NAMES];
    let mut index = COUNT;
    while index > 0 {
        if let Name::Known(known) = ENTRIES[index - 1].name_kind {
            table[known as usize] = index as u8;
        }
        index -= 1;
    }
    table
};

const fn pseudo(pseudo: Pseudo, value: &'static str) -> Entry {
    Entry { name: pseudo.as_str().as_bytes(), value: value.as_bytes(), name_kind: Name::Pseudo(pseudo) }
}

const fn known(known: Known) -> Entry {
    Entry { name: known.as_str().as_bytes(), value: b"", name_kind: Name::Known(known) }
}

const fn other(name: &'static str) -> Entry {
    Entry { name: name.as_bytes(), value: b"", name_kind: Name::Other }
}

/// The entry of index 1 is the first.
pub(super) static ENTRIES: [Entry; COUNT] = TABLE;

const TABLE: [Entry; COUNT] = [
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
    other("accept-charset"),
    Entry { name: b"accept-encoding", value: b"gzip, deflate", name_kind: Name::Known(Known::AcceptEncoding) },
    known(Known::AcceptLanguage),
    known(Known::AcceptRanges),
    known(Known::Accept),
    other("access-control-allow-origin"),
    known(Known::Age),
    known(Known::Allow),
    known(Known::Authorization),
    known(Known::CacheControl),
    known(Known::ContentDisposition),
    known(Known::ContentEncoding),
    known(Known::ContentLanguage),
    known(Known::ContentLength),
    known(Known::ContentLocation),
    known(Known::ContentRange),
    known(Known::ContentType),
    known(Known::Cookie),
    known(Known::Date),
    known(Known::Etag),
    known(Known::Expect),
    known(Known::Expires),
    known(Known::From),
    known(Known::Host),
    known(Known::IfMatch),
    known(Known::IfModifiedSince),
    known(Known::IfNoneMatch),
    known(Known::IfRange),
    known(Known::IfUnmodifiedSince),
    known(Known::LastModified),
    known(Known::Link),
    known(Known::Location),
    known(Known::MaxForwards),
    known(Known::ProxyAuthenticate),
    known(Known::ProxyAuthorization),
    known(Known::Range),
    known(Known::Referer),
    other("refresh"),
    known(Known::RetryAfter),
    known(Known::Server),
    known(Known::SetCookie),
    known(Known::StrictTransportSecurity),
    known(Known::TransferEncoding),
    known(Known::UserAgent),
    known(Known::Vary),
    known(Known::Via),
    known(Known::WwwAuthenticate),
];
