//! Where a body ends (RFC 9112 §6.3), and what becomes of the connection behind it (§9.3).

use serow_message::{Headers, KnownHeader, Method, StatusCode, Version, content};

use crate::ProtocolError;

/// How the end of a received body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// It has this many bytes.
    Length(u64),
    /// It comes in chunks.
    Chunked,
    /// It ends with the connection; responses only.
    UntilClose,
}

impl Framing {
    /// The length of the body, where it is known before its end.
    #[must_use]
    pub fn length(self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Length(length) => Some(length),
            Self::Chunked | Self::UntilClose => None,
        }
    }

    /// The framing of a request. RFC 9112 §6.3, with both lengths at once refused as §6.1 allows.
    pub(crate) fn of_request(headers: &Headers, version: Version) -> Result<Self, ProtocolError> {
        if !headers.contains_any(&[KnownHeader::ContentLength, KnownHeader::TransferEncoding]) {
            return Ok(Self::None);
        }
        Ok(match explicit(headers, version)? {
            None | Some(Self::Length(0)) => Self::None,
            Some(framing) => framing,
        })
    }

    /// The framing of a response to a request with this method. RFC 9112 §6.3, rules 1 to 8.
    pub(crate) fn of_response(
        headers: &Headers,
        version: Version,
        status: StatusCode,
        method: &Method,
    ) -> Result<Self, ProtocolError> {
        let explicit = explicit(headers, version)?;
        let tunnel = method == Method::CONNECT && status.is_success();
        if method == Method::HEAD || !content::is_possible(status) || tunnel {
            return Ok(Self::None);
        }
        Ok(match explicit {
            Some(Self::Length(0)) => Self::None,
            Some(framing) => framing,
            None => Self::UntilClose,
        })
    }
}

/// The framing by the two fields, `Content-Length` and `Transfer-Encoding`; `None` where neither is there.
fn explicit(headers: &Headers, version: Version) -> Result<Option<Framing>, ProtocolError> {
    let length = content::length(headers).map_err(|_| ProtocolError::ContentLength)?;
    if !headers.contains(KnownHeader::TransferEncoding) {
        return Ok(length.map(Framing::Length));
    }
    // RFC 9112 §6.1: a sender must not send both; one that does may be smuggling.
    if length.is_some() {
        return Err(ProtocolError::BothLengths);
    }
    // RFC 9112 §6.1: in HTTP/1.0 the framing is faulty.
    if version != Version::HTTP_11 {
        return Err(ProtocolError::TransferEncoding);
    }
    transfer_encoding(headers).map(Some)
}

/// RFC 9112 §6.1, §6.3 rule 4, §7: `chunked` is the last coding, stands there once, and is the only one understood.
fn transfer_encoding(headers: &Headers) -> Result<Framing, ProtocolError> {
    let codings = headers.list(KnownHeader::TransferEncoding);
    let (mut chunked, mut other_known) = (false, false);
    for coding in codings {
        if chunked {
            return Err(ProtocolError::TransferEncoding);
        }
        if coding.eq_ignore_ascii_case(b"chunked") {
            chunked = true;
        } else if REGISTERED.iter().any(|known| coding.eq_ignore_ascii_case(known)) {
            other_known = true;
        } else {
            return Err(ProtocolError::TransferEncoding);
        }
    }
    match (chunked, other_known) {
        (true, false) => Ok(Framing::Chunked),
        (true, true) => Err(ProtocolError::UnsupportedCoding),
        (false, _) => Err(ProtocolError::TransferEncoding),
    }
}

/// RFC 9112 §7.2 and the registry: codings that exist besides `chunked`.
const REGISTERED: [&[u8]; 5] = [b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress"];

/// Whether a message leaves the connection open (RFC 9112 §9.3).
pub(crate) fn is_persistent(headers: &Headers, version: Version) -> bool {
    if !headers.contains(KnownHeader::Connection) {
        return version == Version::HTTP_11;
    }
    if has_option(headers, b"close") {
        return false;
    }
    version == Version::HTTP_11 || has_option(headers, b"keep-alive")
}

/// Whether `Connection` names this option.
pub(crate) fn has_option(headers: &Headers, option: &[u8]) -> bool {
    headers.list(KnownHeader::Connection).any(|member| member.eq_ignore_ascii_case(option))
}

/// The next step of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A message is still on its way.
    Unfinished,
    /// Both sides are done; the next message may come.
    Reuse,
    /// Everything is sent; the connection is to be closed.
    Close,
    /// The connection no longer speaks HTTP: an upgrade or CONNECT was agreed on.
    Tunnel,
}
