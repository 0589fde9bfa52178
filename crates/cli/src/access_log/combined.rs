//! The combined format, as nginx and Apache write it:
//! `127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] "GET / HTTP/1.1" 200 13 "referer" "agent"`.

use std::io::Write;

use serow::{Known, Peer, Served, Version};

use super::date::Date;

/// Appends the line of a request.
pub(super) fn write(served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
    match served.connection.peer() {
        // A client of IPv4 is shown as one, also where it reached a socket of IPv6. Writing to memory does not fail.
        Peer::Tcp(address) => drop(write!(line, "{}", address.ip().to_canonical())),
        Peer::Unix => line.extend_from_slice(b"unix:"),
    }
    line.extend_from_slice(b" - - [");
    line.extend_from_slice(date.common(served.began));
    line.extend_from_slice(b"] \"");
    match served.request {
        Some(request) => {
            escape(request.method.as_str().as_bytes(), line);
            line.push(b' ');
            escape(request.target.as_str().as_bytes(), line);
            line.push(b' ');
            line.extend_from_slice(version(request.version).as_bytes());
        }
        None => line.push(b'-'),
    }
    line.extend_from_slice(b"\" ");
    line.extend_from_slice(served.status.as_str().as_bytes());
    line.push(b' ');
    line.extend_from_slice(itoa::Buffer::new().format(served.body_bytes).as_bytes());
    for name in [Known::Referer, Known::UserAgent] {
        line.extend_from_slice(b" \"");
        escape(served.request.and_then(|request| request.headers.get(name)).unwrap_or(b"-"), line);
        line.push(b'"');
    }
    line.push(b'\n');
}

/// The version as it stands in a request.
pub(super) fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_11 => "HTTP/1.1",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/0.9",
    }
}

/// Appends text of a client, so that it can neither end the field nor the line nor speak to a terminal: nginx writes
/// `\xHH` for quotes, backslashes, control characters and everything beyond ASCII, and so do we.
fn escape(text: &[u8], line: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(place) = rest.iter().position(|&byte| must_be_escaped(byte)) {
        line.extend_from_slice(&rest[..place]);
        let byte = rest[place];
        line.extend_from_slice(&[b'\\', b'x', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        rest = &rest[place + 1..];
    }
    line.extend_from_slice(rest);
}

fn must_be_escaped(byte: u8) -> bool {
    matches!(byte, ..0x20 | b'"' | b'\\' | 0x7f..)
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access_log::lines::example::Example;

    fn line(example: &Example) -> String {
        let mut line = Vec::new();
        write(&example.served(), &mut Date::new(), &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn lines() {
        let mut example = Example::new("127.0.0.1:4711");
        assert_eq!(
            line(&example),
            "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET / HTTP/1.1\" 200 13 \"-\" \"-\"\n"
        );
        example.header("Referer", b"http://a/?b=\"c\"");
        example.header("User-Agent", b"curl/7.88 \\ \xff\t\xc3\xa9");
        example.target("/caf\u{e9}?\"");
        assert_eq!(
            line(&example),
            "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /caf\\xC3\\xA9?\\x22 HTTP/1.1\" 200 13 \
             \"http://a/?b=\\x22c\\x22\" \"curl/7.88 \\x5C \\xFF\\x09\\xC3\\xA9\"\n"
        );
        assert!(line(&Example::new("[::ffff:10.0.0.1]:80")).starts_with("10.0.0.1 - - ["));
        assert!(line(&Example::new("[2001:db8::1]:80")).starts_with("2001:db8::1 - - ["));
        assert!(line(&Example::unix()).starts_with("unix: - - ["));
        let mut refused = Vec::new();
        write(&Served { request: None, ..example.served() }, &mut Date::new(), &mut refused);
        assert_eq!(refused, b"127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"-\" 200 13 \"-\" \"-\"\n");
    }

    proptest! {
        /// Whatever a client sends, its text stays within its field.
        #[test]
        fn escaped_text_is_plain(text: Vec<u8>) {
            let mut line = Vec::new();
            escape(&text, &mut line);
            prop_assert!(line.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'"'));
            prop_assert_eq!(unescaped(&line), text);
        }
    }

    fn unescaped(mut line: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        while let Some((&byte, rest)) = line.split_first() {
            line = rest;
            text.push(byte);
            if byte == b'\\' {
                let hexadecimal = std::str::from_utf8(&line[1..3]).unwrap();
                *text.last_mut().unwrap() = u8::from_str_radix(hexadecimal, 16).unwrap();
                line = &line[3..];
            }
        }
        text
    }
}
