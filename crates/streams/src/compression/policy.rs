//! Which fields are worth an entry of the table, and which must not have one.
//!
//! Tried with the stories of hpack-test-case, 1,162,372 bytes in 3,384 blocks: an entry for whatever may have one makes
//! them 371,000 bytes, this choice 359,000 (nghttp2: 360,000). An entry for each date is worth 5,000 of them, since the
//! responses of one second share it, one for each referer 2,000; one for each content-length, last-modified, path or
//! etag costs 8,000, 6,000, 1,000 and 1,000.

use serow_message::KnownHeader;

use crate::fields::{Name, Pseudo};

/// The treatment of a field that the table does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It gets an entry: it will come again.
    Index,
    /// It gets an entry when it comes for the second time. Values that differ from message to message would push out
    /// those that do not; a value that comes twice (in the fields of a file that is requested again and again) comes
    /// often.
    IndexRepeated,
    /// It must not have an entry, here or at an intermediary (RFC 7541 §7.1.3): an attacker that can have fields
    /// compressed beside a secret, and sees the lengths, guesses it entry by entry.
    Never,
}

/// The policy for a field.
pub fn of(name: Name, value: &[u8]) -> Policy {
    match name {
        Name::Pseudo(Pseudo::Path) => Policy::IndexRepeated,
        Name::Pseudo(_) | Name::Other => Policy::Index,
        Name::Known(known) => of_known(known, value),
    }
}

fn of_known(known: KnownHeader, value: &[u8]) -> Policy {
    match known {
        KnownHeader::Authorization | KnownHeader::ProxyAuthorization | KnownHeader::SetCookie => Policy::Never,
        KnownHeader::Cookie if value.len() < GUESSABLE => Policy::Never,
        KnownHeader::Age
        | KnownHeader::AltSvc
        | KnownHeader::ContentDisposition
        | KnownHeader::ContentLength
        | KnownHeader::ContentLocation
        | KnownHeader::ContentRange
        | KnownHeader::Etag
        | KnownHeader::Expires
        | KnownHeader::Forwarded
        | KnownHeader::IfMatch
        | KnownHeader::IfModifiedSince
        | KnownHeader::IfNoneMatch
        | KnownHeader::IfRange
        | KnownHeader::IfUnmodifiedSince
        | KnownHeader::LastModified
        | KnownHeader::Link
        | KnownHeader::Location
        | KnownHeader::Range
        | KnownHeader::RetryAfter
        | KnownHeader::WwwAuthenticate
        | KnownHeader::XForwardedFor
        | KnownHeader::XRequestId => Policy::IndexRepeated,
        _ => Policy::Index,
    }
}

/// A cookie of fewer bytes holds so little that guessing it whole is feasible; longer ones are worth an entry, since
/// each request repeats them. nghttp2 and Chromium draw the line here too.
const GUESSABLE: usize = 20;
