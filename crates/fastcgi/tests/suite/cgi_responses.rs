//! CGI responses, each read whole, byte by byte, and in two pieces at every place.

use serow_fastcgi::{ResponseForm, SectionLimits};
use serow_message::Method;

use crate::readers::{CgiReader, every_way, split_at};

const LIMITS: SectionLimits = SectionLimits { bytes: 256, fields: 8 };

fn seen(input: &[u8], form: ResponseForm, method: &Method) -> Vec<String> {
    every_way(|| CgiReader::new(LIMITS, form, method), input)
}

fn assert_seen(form: ResponseForm, method: &Method, cases: &[(&str, &[&str])]) {
    for (input, expected) in cases {
        assert_eq!(seen(input.as_bytes(), form, method), *expected, "{input:?}");
    }
}

#[test]
fn statuses_are_those_of_the_table() {
    assert_seen(
        ResponseForm::Cgi,
        &Method::GET,
        &[
            ("\r\n", &["200", "end"]),
            ("\n", &["200", "end"]),
            ("\r\nbody", &["200", "data body", "end"]),
            ("Content-type: text/html\r\n\r\n", &["200", "Content-type: text/html", "end"]),
            ("A: 1\nB: 2\r\n\nbody\n", &["200", "A: 1", "B: 2", "data body\\n", "end"]),
            ("Status: 404\n\n", &["404", "end"]),
            ("status: 404 Not Found\n\n", &["404", "end"]),
            ("Status:404 \n\n", &["404", "end"]),
            ("Status: 418 Teapot\nStatus: 500\n\n", &["418", "end"]),
            ("Status: 404\nStatus: nonsense\n\n", &["404", "end"]),
            ("Status: 599\n\n", &["599", "end"]),
            ("Location: /a\n\n", &["302", "Location: /a", "end"]),
            ("Location: https://a.example/\n\n", &["302", "Location: https://a.example/", "end"]),
            ("Location:\n\n", &["200", "Location: ", "end"]),
            ("Status: 201\nLocation: /a\n\n", &["201", "Location: /a", "end"]),
            ("Location: /a\nStatus: 200\n\n", &["200", "Location: /a", "end"]),
            ("Status: 100\n\n", &["InformationalStatus(100)"]),
            ("Status: 103 Early Hints\n\n", &["InformationalStatus(103)"]),
            ("Status: 099\n\n", &["Status"]),
            ("Status: 600 Odd\n\n", &["Status"]),
            ("Status: 999\n\n", &["Status"]),
            ("Status: 2000\n\n", &["Status"]),
            ("Status: 20\n\n", &["Status"]),
            ("Status: 404x\n\n", &["Status"]),
            ("Status: +404\n\n", &["Status"]),
            ("Status: HTTP/2 404\n\n", &["Status"]),
            ("Status:\n\n", &["Status"]),
        ],
    );
}

#[test]
fn fields_are_as_strict_as_those_of_http() {
    assert_seen(
        ResponseForm::Cgi,
        &Method::GET,
        &[
            ("X-A:v\r\nX-B:\t v w \t\r\n\r\n", &["200", "X-A: v", "X-B: v w", "end"]),
            ("X-A: \u{e9}\nx_b: 1\n\n", &["200", "X-A: \\xc3\\xa9", "x_b: 1", "end"]),
            ("X-A : v\n\n", &["Field(1)"]),
            ("A: 1\n X-B: v\n\n", &["Field(2)"]),
            ("A: 1\n\tfolded\n\n", &["Field(2)"]),
            ("A: 1\n \n\n", &["Field(2)"]),
            (": v\n\n", &["Field(1)"]),
            ("no colon\n\n", &["Field(1)"]),
            ("<html>\n", &["Field(1)"]),
            ("A: 1\nB", &["NoSection"]),
            ("X\u{e9}: 1\n\n", &["Field(1)"]),
            ("A: x\0y\n\n", &["Field(1)"]),
            ("A: x\ry\n\n", &["Field(1)"]),
            ("A: x\r\r\n\n", &["Field(1)"]),
            ("\r\r\n\n", &["Field(1)"]),
            ("A: x\u{7f}\n\n", &["Field(1)"]),
            ("HTTP/1.1 200 OK\n\n", &["Field(1)"]),
            ("", &["NoSection"]),
            ("\r", &["NoSection"]),
            ("A: 1\r\n", &["NoSection"]),
            ("A: 1\r\n\r", &["NoSection"]),
        ],
    );
}

#[test]
fn fields_of_the_connection_are_dropped() {
    let names = ["Connection", "Transfer-Encoding", "Keep-Alive", "upgrade", "Proxy-Connection", "TE", "TRAILER"];
    for name in names {
        let input = format!("A: 1\n{name}: chunked\nB: 2\n\nbody");
        let expected = ["200", "A: 1", "B: 2", "data body", "end"];
        assert_eq!(seen(input.as_bytes(), ResponseForm::Cgi, &Method::GET), expected, "{name}");
    }
}

#[test]
fn bodies_have_the_announced_length() {
    assert_seen(
        ResponseForm::Cgi,
        &Method::GET,
        &[
            ("Content-Length: 4\n\nbody", &["200 length 4", "data body", "end"]),
            ("Content-Length: 0\n\n", &["200 length 0", "end"]),
            ("Content-Length: 5\n\nbody", &["200 length 5", "data body", "Short { expected: 5, received: 4 }"]),
            ("Content-Length: 5\n\n", &["200 length 5", "Short { expected: 5, received: 0 }"]),
            ("Content-Length: 2\n\nbody", &["200 length 2", "data bo", "excess", "end"]),
            ("Content-Length: 0\n\nbody", &["200 length 0", "excess", "end"]),
            ("Content-Length: 1\nContent-Length: 1\n\n", &["ContentLength"]),
            ("Content-Length: 1, 1\n\n", &["ContentLength"]),
            ("Content-Length: -1\n\n", &["ContentLength"]),
            ("Content-Length:\n\n", &["ContentLength"]),
            ("Content-Length: 9223372036854775808\n\n", &["ContentLength"]),
            ("Status: 204\nContent-Length: 4\n\nbody", &["204", "end"]),
            ("Status: 304\nContent-Length: 4\n\nbody", &["304 length 4", "end"]),
            ("Status: 304\n\nbody", &["304", "end"]),
        ],
    );
    assert_seen(
        ResponseForm::Cgi,
        &Method::HEAD,
        &[("Content-Length: 9\n\nbody", &["200 length 9", "end"]), ("A: 1\n\nbody", &["200", "A: 1", "end"])],
    );
}

#[test]
fn status_lines_are_an_option() {
    assert_seen(
        ResponseForm::CgiOrHttp,
        &Method::GET,
        &[
            ("HTTP/1.1 404 Not Found\r\nA: 1\r\n\r\nbody", &["404", "A: 1", "data body", "end"]),
            ("HTTP/1.0 200\r\n\r\n", &["200", "end"]),
            ("HTTP/1.1 200 OK\r\nStatus: 500\r\nLocation: /\r\n\r\n", &["200", "Location: /", "end"]),
            ("Status: 404\r\n\r\n", &["404", "end"]),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", &["InformationalStatus(100)"]),
            ("HTTP/2 200\r\n\r\n", &["StatusLine"]),
            ("HTTP/1.1  200\r\n\r\n", &["Status"]),
            ("HTTP/1.1 200 x\0\r\n\r\n", &["StatusLine"]),
            ("HTTP/1.1\r\n\r\n", &["StatusLine"]),
            ("A: 1\r\nHTTP/1.1 200 OK\r\n\r\n", &["Field(2)"]),
            ("\r\nHTTP/1.1 200 OK\r\n\r\n", &["200", "data HTTP/1.1 200 OK\\r\\n\\r\\n", "end"]),
        ],
    );
}

#[test]
fn sections_are_limited_in_bytes_and_fields() {
    // `A: ` and both line ends have five bytes.
    for (length, expected) in [(LIMITS.bytes, "end"), (LIMITS.bytes + 1, "SectionTooLong")] {
        let input = format!("A: {}\n\n", "x".repeat(length - 5));
        let seen = seen(input.as_bytes(), ResponseForm::Cgi, &Method::GET);
        assert_eq!(seen.last().map(String::as_str), Some(expected), "{length}");
    }
    for (count, expected) in [(LIMITS.fields, "end"), (LIMITS.fields + 1, "TooManyFields")] {
        // Dropped fields count as well; a status line does not.
        for first in ["", "HTTP/1.1 200 OK\n"] {
            let input = [first, &"TE: x\n".repeat(count - 1), "A: 1\n\n"].concat();
            let seen = seen(input.as_bytes(), ResponseForm::CgiOrHttp, &Method::GET);
            assert_eq!(seen.last().map(String::as_str), Some(expected), "{first}{count}");
        }
    }
    // A script that never ends a line.
    let reader = CgiReader::new(LIMITS, ResponseForm::Cgi, &Method::GET);
    assert_eq!(split_at(reader, &[b'x'; 100_000], [1, 2]), ["SectionTooLong"]);
}
