//! Status, fields and trailers as a worker writes them: with NULs between them.

use serow_message::{Headers, KnownHeader, StatusCode};

use super::InvalidReplyError;

/// Reads status and fields: `\0200\0name\0value…\0\0`, and says what stands behind.
pub(crate) fn parse_head(content: &[u8]) -> Result<(StatusCode, Headers, &[u8]), InvalidReplyError> {
    let mut parts = Parts { rest: content.strip_prefix(b"\0").ok_or(InvalidReplyError("no status"))? };
    let status = parts.next().and_then(|status| StatusCode::from_bytes(status).ok());
    let status = status.ok_or(InvalidReplyError("the status is not a number from 100 to 999"))?;
    let (headers, body) = parse_fields(parts)?;
    Ok((status, headers, body))
}

/// Reads trailers: `\0name\0value…\0\0`.
pub(crate) fn parse_trailers(content: &[u8]) -> Result<Headers, InvalidReplyError> {
    let parts = Parts { rest: content.strip_prefix(b"\0").ok_or(InvalidReplyError("malformed trailers"))? };
    parse_fields(parts).map(|(headers, _)| headers)
}

fn parse_fields(mut parts: Parts<'_>) -> Result<(Headers, &[u8]), InvalidReplyError> {
    let mut headers = Headers::new();
    loop {
        match parts.next() {
            Some(b"") => return Ok((headers, parts.rest)),
            Some(name) => {
                let value = parts.next().ok_or(InvalidReplyError("a header field without a value"))?;
                append(&mut headers, name, value)?;
            }
            None => return Err(InvalidReplyError("the header does not end")),
        }
    }
}

/// How long an application says that a body is.
pub(crate) fn announced(headers: &Headers) -> Option<u64> {
    headers.get_str(KnownHeader::ContentLength)?.parse().ok()
}

/// Adds a field; one whose value has several lines is several fields (Rack 2's way of saying so).
fn append(headers: &mut Headers, name: &[u8], value: &[u8]) -> Result<(), InvalidReplyError> {
    let refused = |_| InvalidReplyError("the name or value of a header field contains forbidden characters");
    if !value.contains(&b'\n') {
        return headers.append(name, value.trim_ascii()).map_err(refused);
    }
    let lines = value.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.into_iter().try_for_each(|line| headers.append(name, line.trim_ascii()).map_err(refused))
}

/// What stands between NULs.
struct Parts<'a> {
    rest: &'a [u8],
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
    fn heads() {
        let (status, headers, body) =
            parse_head(b"\x00404\0Content-Type\0text/plain\0Set-Cookie\0a=1\nb=2\0\0a\0b").unwrap();
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
            assert!(parse_head(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
