//! The combined format, as nginx and Apache write it:
//! `127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] "GET / HTTP/1.1" 200 13 "referer" "agent"`.

use serow_message::{KnownHeader, Served};

use super::{
    append::{client, number, request_line},
    date::Date,
    escape, user,
};

/// Appends the line of a request.
pub(super) fn write(served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
    client(served, line);
    line.extend_from_slice(b" - ");
    user::write(served, line);
    line.extend_from_slice(b" [");
    line.extend_from_slice(date.common(served.began));
    line.extend_from_slice(b"] \"");
    request_line(served, line);
    line.extend_from_slice(b"\" ");
    line.extend_from_slice(served.status.as_str().as_bytes());
    line.push(b' ');
    number(served.body_bytes, line);
    for name in [KnownHeader::Referer, KnownHeader::UserAgent] {
        line.extend_from_slice(b" \"");
        escape::text(served.request.and_then(|request| request.headers.get(name)).unwrap_or(b"-"), line);
        line.push(b'"');
    }
    line.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::Example;

    fn line(example: &Example) -> String {
        let mut line = Vec::new();
        write(&example.served(), &mut Date::new(), &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn requests_become_combined_lines() {
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
        let mut behind = Example::unix();
        behind.client = Some("2001:db8::7".parse().unwrap());
        assert!(line(&behind).starts_with("2001:db8::7 - - ["));
        let mut named = Example::unix();
        named.header("Authorization", b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(line(&named).starts_with("unix: - Aladdin ["));
        let mut refused = Vec::new();
        write(&Served { request: None, ..example.served() }, &mut Date::new(), &mut refused);
        assert_eq!(refused, b"127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"-\" 200 13 \"-\" \"-\"\n");
    }
}
