//! Responses of HTTP/1, as tolerantly as possible.

use super::{Answer, Outcome};

/// The response in what has come so far.
pub(super) enum Parsed {
    Whole(Answer, bool),
    Part,
    Invalid,
}

/// The response at the beginning of what came.
pub(super) fn parsed(bytes: &[u8], is_head: bool) -> Parsed {
    if bytes.is_empty() || b"HTTP/1.".starts_with(bytes) {
        return Parsed::Part;
    }
    if !bytes.starts_with(b"HTTP/1.") {
        return Parsed::Invalid;
    }
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Parsed::Part };
    let Some(mut answer) = head(&bytes[..end]) else { return Parsed::Invalid };
    let behind = &bytes[end + 4..];
    if (100..200).contains(&answer.status) && answer.status != 101 {
        return parsed(behind, is_head);
    }
    let has =
        |name: &str, part: &str| answer.field(name).is_some_and(|value| value.to_ascii_lowercase().contains(part));
    let is_kept = !has("connection", "close") && bytes.starts_with(b"HTTP/1.1");
    if is_head || matches!(answer.status, 101 | 204 | 304) {
        return Parsed::Whole(answer, is_kept);
    }
    let body = if has("transfer-encoding", "chunked") {
        match chunks(behind) {
            Ok(body) => body,
            Err(()) => return Parsed::Invalid,
        }
    } else {
        match answer.field("content-length").and_then(|length| length.parse::<usize>().ok()) {
            Some(length) => behind.get(..length).map(<[u8]>::to_vec),
            // It ends with the connection.
            None => None,
        }
    };
    match body {
        Some(body) => {
            answer.body = body;
            Parsed::Whole(answer, is_kept)
        }
        None => Parsed::Part,
    }
}

fn head(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let fields = lines.filter_map(|line| line.split_once(':'));
    let fields = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    Some(Answer { status, fields, body: Vec::new() })
}

/// The body in chunks, if it is whole.
fn chunks(mut rest: &[u8]) -> Result<Option<Vec<u8>>, ()> {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
        let digits = std::str::from_utf8(&rest[..end]).map_err(|_| ())?;
        let length = usize::from_str_radix(digits.split(';').next().unwrap_or_default().trim(), 16).map_err(|_| ())?;
        rest = &rest[end + 2..];
        if length == 0 {
            return Ok(rest.windows(2).any(|window| window == b"\r\n").then_some(body));
        }
        let Some(part) = rest.get(..length) else { return Ok(None) };
        body.extend_from_slice(part);
        let Some(behind) = rest.get(length + 2..) else { return Ok(None) };
        rest = behind;
    }
}

/// The outcome when a connection has ended.
pub(super) fn ended(bytes: &[u8]) -> Outcome {
    if bytes.is_empty() {
        return Outcome::Closed;
    }
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    match end.and_then(|end| Some((head(&bytes[..end])?, end))) {
        Some((mut answer, end)) => {
            answer.body = bytes[end + 4..].to_vec();
            Outcome::Answered(answer)
        }
        None => Outcome::Failed(format!("a part of a response: {}", excerpt(bytes))),
    }
}

/// The beginning of a body or a response, on one line.
pub(in super::super) fn excerpt(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).chars().take(70).collect();
    text.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_whole_at_their_end() {
        let text = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for end in 0..text.len() {
            assert!(matches!(parsed(&text[..end], false), Parsed::Part), "{end}");
        }
        let Parsed::Whole(answer, is_kept) = parsed(text, false) else { panic!("it is whole") };
        assert_eq!((answer.status, answer.body.as_slice(), is_kept), (200, b"abc".as_slice(), true));
        assert_eq!(answer.field("x-a").as_deref(), Some("1"));
    }

    #[test]
    fn a_response_to_head_has_no_body() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n";
        assert!(matches!(parsed(text, true), Parsed::Whole(_, false)));
        assert!(matches!(parsed(text, false), Parsed::Part));
    }
}
