//! A chunked body gives the data that a naive decoder finds, wherever the bytes are split.

use serow_http1::Limits;

use crate::splitter::{Requests, split_at, whole};

const HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The target.
pub fn target(body: &[u8]) {
    let limits = Limits { chunk_extensions: 64, ..Limits::default() };
    let input = [HEAD, body].concat();
    let seen = whole(Requests::new(limits), &input);
    let split = split_at(Requests::new(limits), &input, HEAD.len()..input.len());
    assert_eq!(split, seen, "byte by byte");
    if seen.complete() == 1 {
        let (data, rest) = decode(body).expect("what was read whole can be decoded");
        let line = format!("data {}", data.escape_ascii());
        assert_eq!(seen.lines.contains(&line), !data.is_empty(), "other data");
        assert_eq!(seen.left, rest, "another end");
    }
}

/// RFC 9112 §7.1.3, as simple as it can be: the data, and what stands behind the body.
fn decode(mut text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut data = Vec::new();
    loop {
        let line = take_line(&mut text)?;
        let digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
        let size = u64::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()?;
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).ok()?;
        data.extend_from_slice(text.get(..size)?);
        text = text[size..].strip_prefix(b"\r\n")?;
    }
    while !take_line(&mut text)?.is_empty() {}
    Some((data, text))
}

fn take_line<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = text.windows(2).position(|pair| pair == b"\r\n")?;
    let line = &text[..end];
    *text = &text[end + 2..];
    Some(line)
}
