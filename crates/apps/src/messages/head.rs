//! Status, fields and trailers as a worker writes them: with NULs between them.

use serow_message::{Headers, InvalidHeader, KnownHeader, StatusCode};

use super::InvalidReplyError;
use crate::program::Interface;

/// Parses status and fields: `\0200\0name\0value…\0\0`; also returns the rest.
pub(crate) fn parse_head(
    content: &[u8],
    interface: Interface,
) -> Result<(StatusCode, Headers, &[u8]), InvalidReplyError> {
    let (status, mut parts) = parse_status(content)?;
    let mut headers = Headers::new();
    while let Some((name, value)) = parts.field()? {
        append(&mut headers, name, value, interface).map_err(refused)?;
    }
    Ok((status, headers, parts.rest))
}

/// Parses an informational response, which is a hint: without fields that cannot be sent, it is still useful.
pub(crate) fn parse_informational(
    content: &[u8],
    interface: Interface,
) -> Result<(StatusCode, Headers), InvalidReplyError> {
    let (status, mut parts) = parse_status(content)?;
    let mut headers = Headers::new();
    while let Some((name, value)) = parts.field()? {
        if append(&mut headers, name, value, interface).is_err() {
            let name = name.escape_ascii();
            tracing::warn!("the field {name} of an informational response contains forbidden characters; left out");
        }
    }
    Ok((status, headers))
}

/// Reads trailers: `\0name\0value…\0\0`.
pub(crate) fn parse_trailers(content: &[u8], interface: Interface) -> Result<Headers, InvalidReplyError> {
    let mut parts = Parts { rest: content.strip_prefix(b"\0").ok_or(InvalidReplyError("malformed trailers"))? };
    let mut trailers = Headers::new();
    while let Some((name, value)) = parts.field()? {
        append(&mut trailers, name, value, interface).map_err(refused)?;
    }
    Ok(trailers)
}

fn parse_status(content: &[u8]) -> Result<(StatusCode, Parts<'_>), InvalidReplyError> {
    let mut parts = Parts { rest: content.strip_prefix(b"\0").ok_or(InvalidReplyError("no status"))? };
    let status = parts.next().and_then(|status| StatusCode::from_bytes(status).ok());
    let status = status.ok_or(InvalidReplyError("the status is not a number from 100 to 999"))?;
    Ok((status, parts))
}

/// The length that an application announces for a body.
pub(crate) fn announced(headers: &Headers) -> Option<u64> {
    headers.get_str(KnownHeader::ContentLength)?.parse().ok()
}

/// Adds a field. For Rack, one whose value has several lines is several fields (Rack 2), and names that begin with
/// `rack.` are for the server (Rack's specification, "The Headers"). Elsewhere, a line break is as forbidden as other
/// control characters: it would let the author of a value add a field.
fn append(headers: &mut Headers, name: &[u8], value: &[u8], interface: Interface) -> Result<(), InvalidHeader> {
    if interface != Interface::Rack {
        return headers.append(name, trimmed(value));
    }
    if name.get(..FOR_SERVER.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(FOR_SERVER)) {
        return Ok(());
    }
    if !value.contains(&b'\n') {
        return headers.append(name, trimmed(value));
    }
    let mut lines = value.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.try_for_each(|line| headers.append(name, trimmed(line)))
}

/// Without the spaces and tabs around it (RFC 9110 §5.5); line breaks stay, and are refused.
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

fn refused(_: InvalidHeader) -> InvalidReplyError {
    InvalidReplyError("the name or value of a header field contains forbidden characters")
}

/// The beginning of names in Rack that are not for clients.
const FOR_SERVER: &[u8] = b"rack.";

/// A name and its value.
type Field<'a> = (&'a [u8], &'a [u8]);

/// An iterator over parts that are separated by NUL.
struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    /// The next name and value; nothing behind the last.
    fn field(&mut self) -> Result<Option<Field<'a>>, InvalidReplyError> {
        match self.next() {
            Some(b"") => Ok(None),
            Some(name) => match self.next() {
                Some(value) => Ok(Some((name, value))),
                None => Err(InvalidReplyError("a header field without a value")),
            },
            None => Err(InvalidReplyError("the header does not end")),
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_parsed_and_malformed_ones_refused() {
        let (status, headers, body) = parse_head(
            b"\x00404\0Content-Type\0text/plain\0Set-Cookie\0a=1\nb=2\0rack.x\0y\0Rack.\0y\0\0a\0b",
            Interface::Rack,
        )
        .unwrap();
        assert_eq!((status.as_u16(), body), (404, &b"a\0b"[..]));
        let fields: Vec<_> = headers.iter().collect();
        let expected = [(&b"Content-Type"[..], &b"text/plain"[..]), (b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=2")];
        assert_eq!(fields, expected);
        for wrong in [
            &b""[..],
            b"200\0\0",
            b"\x0020\0\0",
            b"\0abc\0\0",
            b"\x00200",
            b"\x00200\0",
            b"\x00200\0a",
            b"\x00200\0a\0",
            b"\x00200\0a\0b",
            b"\x00200\0a b\0c\0\0",
            b"\x00200\0a\0b\rc: d\0\0",
        ] {
            assert!(parse_head(wrong, Interface::Rack).is_err(), "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn line_breaks_add_no_fields_but_in_rack() {
        for interface in [Interface::Psgi, Interface::Wsgi, Interface::Asgi, Interface::PhpWorker] {
            for field in ["a\0b\nc", "a\0b\n", "a\0\nb", "a\0b\r", "a\0\r\nb: c", "a\n\0b", "\na\0b", "a\rb\0c"] {
                let head = format!("\x00200\0{field}\0\0");
                assert!(parse_head(head.as_bytes(), interface).is_err(), "{interface:?} {field:?}");
                let trailers = format!("\0{field}\0\0");
                assert!(parse_trailers(trailers.as_bytes(), interface).is_err(), "{interface:?} {field:?}");
            }
            let (_, headers, _) = parse_head(b"\x00200\0rack.x\0 y \0\0", interface).unwrap();
            assert_eq!(headers.get("rack.x"), Some(&b"y"[..]), "{interface:?}");
        }
    }

    #[test]
    fn informational_responses_lose_only_fields_that_cannot_be_sent() {
        let content = b"\x00103\0link\0</a>\0bad name\0b\0link\0</c>\rx: y\0Link\0</d>\0\0";
        for interface in [Interface::Rack, Interface::Psgi, Interface::Asgi] {
            let (status, headers) = parse_informational(content, interface).unwrap();
            let links: Vec<_> = headers.get_all(KnownHeader::Link).collect();
            assert_eq!((status.as_u16(), headers.len(), links), (103, 2, vec![&b"</a>"[..], b"</d>"]), "{interface:?}");
        }
        assert!(parse_informational(b"\x00103\0link", Interface::Rack).is_err());
    }
}
