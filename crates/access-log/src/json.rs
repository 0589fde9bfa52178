//! A json object for each request, on a line of its own.

use std::{io::Write, time::Duration};

use serow_message::{KnownHeader, Peer, RequestHead, Served};
use serow_variables::values;

use super::{
    append::{digits, number},
    attempts,
    date::Date,
};

/// Appends the line of a request.
pub(super) fn write(served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
    let (second, milliseconds) = date.rfc_3339(served.began);
    line.extend_from_slice(b"{\"time\":\"");
    line.extend_from_slice(second);
    line.push(b'.');
    digits(milliseconds, 3, line);
    line.extend_from_slice(b"Z\",\"peer\":\"");
    match served.client {
        Some(address) => {
            // Writing to memory does not fail.
            let _ = write!(line, "{address}\",\"proxy\":\"");
            peer(served, line);
        }
        None => peer(served, line),
    }
    line.push(b'"');
    match served.request {
        Some(request) => request_line(request, line),
        None => line.extend_from_slice(b",\"method\":null,\"target\":null,\"host\":null,\"version\":null"),
    }
    line.extend_from_slice(b",\"status\":");
    line.extend_from_slice(served.status.as_str().as_bytes());
    line.extend_from_slice(b",\"bytes\":");
    number(served.body_bytes, line);
    line.extend_from_slice(b",\"duration\":");
    seconds(served.took, line);
    line.extend_from_slice(b",\"whole\":");
    line.extend_from_slice(if served.whole { b"true" } else { b"false" });
    if let Some(stream) = served.stream {
        line.extend_from_slice(b",\"stream\":");
        number(stream.number, line);
        line.extend_from_slice(b",\"urgency\":");
        number(stream.priority.urgency.into(), line);
    }
    attempts(served, line);
    if let Some(encryption) = served.connection.encryption() {
        line.extend_from_slice(b",\"tls\":");
        string(encryption.version.as_bytes(), line);
    }
    line.extend_from_slice(b",\"referer\":");
    field(served.request, KnownHeader::Referer, line);
    line.extend_from_slice(b",\"user_agent\":");
    field(served.request, KnownHeader::UserAgent, line);
    line.extend_from_slice(b"}\n");
}

/// Appends the address and the port of the connection's peer.
fn peer(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.connection.peer() {
        // Writing to memory does not fail.
        Peer::Tcp(address) => drop(write!(line, "{address}")),
        Peer::Unix => line.extend_from_slice(b"unix:"),
    }
}

/// Appends the attempts on upstream servers, if there were any.
fn attempts(served: &Served<'_>, line: &mut Vec<u8>) {
    let Some(attempts) = attempts::of(served) else { return };
    line.extend_from_slice(b",\"upstream\":[");
    for (number, attempt) in attempts.iter().enumerate() {
        line.extend_from_slice(if number == 0 { b"{\"server\":" } else { b",{\"server\":" });
        string(attempt.server().as_bytes(), line);
        line.extend_from_slice(b",\"status\":");
        match attempt.status {
            Some(status) => line.extend_from_slice(status.as_str().as_bytes()),
            None => line.extend_from_slice(b"null"),
        }
        for (name, time) in [
            ("queue", attempt.queue_time),
            ("connect", attempt.connect_time),
            ("header", attempt.header_time),
            ("response", attempt.response_time),
        ] {
            // Writing to memory does not fail.
            let _ = write!(line, ",\"{name}\":");
            match time {
                Some(time) => seconds(time, line),
                None => line.extend_from_slice(b"null"),
            }
        }
        line.push(b'}');
    }
    line.push(b']');
}

/// Appends what the request's first line says, and its host.
fn request_line(request: &RequestHead, line: &mut Vec<u8>) {
    line.extend_from_slice(b",\"method\":");
    string(request.method.as_str().as_bytes(), line);
    line.extend_from_slice(b",\"target\":");
    string(request.target.as_str().as_bytes(), line);
    line.extend_from_slice(b",\"host\":");
    match request.target.authority() {
        Some(host) => string(host.as_bytes(), line),
        None => field(Some(request), KnownHeader::Host, line),
    }
    line.extend_from_slice(b",\"version\":\"");
    line.extend_from_slice(values::version(request.version).as_bytes());
    line.push(b'"');
}

/// Appends a header field, or `null` where there is none.
fn field(request: Option<&RequestHead>, name: KnownHeader, line: &mut Vec<u8>) {
    match request.and_then(|request| request.headers.get(name)) {
        Some(value) => string(value, line),
        None => line.extend_from_slice(b"null"),
    }
}

/// Appends a string. Bytes that are not UTF-8 become U+FFFD; control characters are escaped, also those beyond ASCII,
/// which some terminals obey.
fn string(text: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(place) = rest.find(must_be_escaped) {
            let (before, at) = rest.split_at(place);
            line.extend_from_slice(before.as_bytes());
            let mut characters = at.chars();
            if let Some(character) = characters.next() {
                escape(character, line);
            }
            rest = characters.as_str();
        }
        line.extend_from_slice(rest.as_bytes());
        if !chunk.invalid().is_empty() {
            line.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    line.push(b'"');
}

fn must_be_escaped(character: char) -> bool {
    matches!(character, '"' | '\\') || character.is_control()
}

fn escape(character: char, line: &mut Vec<u8>) {
    match character {
        '"' | '\\' => line.extend_from_slice(&[b'\\', character as u8]),
        // Control characters have numbers below 0xa0. Writing to memory does not fail.
        _ => drop(write!(line, "\\u{:04x}", u32::from(character))),
    }
}

/// Appends a duration in seconds, to the microsecond.
fn seconds(duration: Duration, line: &mut Vec<u8>) {
    number(duration.as_secs(), line);
    line.push(b'.');
    digits(duration.subsec_micros(), 6, line);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::example::{Example, encrypted};

    fn line(example: &Example) -> String {
        let mut line = Vec::new();
        write(&example.served(), &mut Date::new(), &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn requests_become_json_lines() {
        let mut example = Example::new("127.0.0.1:4711");
        assert_eq!(
            line(&example),
            "{\"time\":\"1994-11-06T08:49:37.042Z\",\"peer\":\"127.0.0.1:4711\",\"method\":\"GET\",\"target\":\"/\",\
             \"host\":null,\"version\":\"HTTP/1.1\",\"status\":200,\"bytes\":13,\"duration\":1.000250,\"whole\":true,\
             \"referer\":null,\"user_agent\":null}\n"
        );
        example.header("Host", b"a.example");
        example.header("Referer", b"\"\\\t");
        example.header("User-Agent", b"\xff\xc3\xa9\xc2\x9b31m");
        let told = line(&example);
        assert!(told.contains(r#""host":"a.example""#), "{told}");
        assert!(told.contains(r#""referer":"\"\\\u0009""#), "{told}");
        assert!(told.contains("\"user_agent\":\"\u{fffd}é\\u009b31m\""), "{told}");
        example.client = Some([192, 0, 2, 7].into());
        assert!(line(&example).contains(r#""peer":"192.0.2.7","proxy":"127.0.0.1:4711","method""#));
        example.client = None;
        let (stream, tls) = (r#""stream":5,"urgency":1,"#, r#""tls":"TLSv1.3","#);
        assert!(line(&example.on_stream(5, "u=1, i")).contains(&format!(r#""whole":true,{stream}"referer""#)));
        assert!(line(&encrypted()).contains(&format!(r#""whole":true,{tls}"referer""#)));
    }

    #[test]
    fn servers_that_were_asked() {
        let mut example = Example::new("[::1]:1");
        example.asked_servers();
        let line = line(&example);
        let expected = concat!(
            r#""whole":true,"upstream":[{"server":"127.0.0.1:9000","status":502,"queue":null,"connect":null,"header":null,"#,
            r#""response":0.001500},{"server":"unix:/run/a.sock","status":200,"queue":0.000250,"connect":0.000000,"header":0.020000,"#,
            r#""response":1.030000}],"referer""#
        );
        assert!(line.contains(expected), "{line}");
    }

    #[test]
    fn the_host_of_an_absolute_target_counts() {
        let mut example = Example::new("[::1]:1");
        example.header("Host", b"other.example");
        example.target("http://a.example/b");
        let line = line(&example);
        assert!(line.contains(r#""peer":"[::1]:1""#), "{line}");
        assert!(line.contains(r#""target":"http://a.example/b","host":"a.example""#), "{line}");
    }

    proptest! {
        /// Whatever a client sends, it is one json string, and text comes back as it was.
        #[test]
        fn strings_are_json(text: Vec<u8>) {
            let mut line = Vec::new();
            string(&text, &mut line);
            let read: String = serde_json::from_slice(&line).unwrap();
            prop_assert!(!line.contains(&b'\n'));
            prop_assert_eq!(read, String::from_utf8_lossy(&text));
        }
    }
}
