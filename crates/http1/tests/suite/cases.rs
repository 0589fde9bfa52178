//! The cases of `tests/cases`, each read whole, in pieces, and with another message behind it.
//!
//! ```text
//! # A comment.
//! == RFC 9112 §3.2: what the case shows
//! @ head 64                a limit (head, fields, target, body, chunk_extensions), or `@ method HEAD` of the request
//! > GET / HTTP/1.1         a line of input; CR LF is added, unless the line ends in a backslash
//! >
//! = GET / HTTP/1.1         what is seen, a line for each event; the fields (`- name: value`) only where the case has some
//! = reuse
//! ```
//!
//! In the input `\r`, `\n`, `\t`, `\0`, `\\` and `\x7f` stand for these bytes.

use std::{fs, path::Path};

use serow_http1::Limits;
use serow_message::Method;

use crate::splitter::{Requests, Responses, Seen, every_way};

#[derive(Clone, Default)]
struct Case {
    name: String,
    input: Vec<u8>,
    expected: Vec<String>,
    settings: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Server,
    Client,
}

#[test]
fn requests_good() {
    run("requests.txt", Role::Server);
}

#[test]
fn requests_to_other_places() {
    run("targets.txt", Role::Server);
}

#[test]
fn requests_refused() {
    run("requests_refused.txt", Role::Server);
}

#[test]
fn line_ends() {
    run("line_ends.txt", Role::Server);
}

#[test]
fn request_framing() {
    run("request_framing.txt", Role::Server);
}

#[test]
fn chunked_bodies() {
    run("chunked.txt", Role::Server);
}

#[test]
fn trailers() {
    run("trailers.txt", Role::Server);
}

#[test]
fn limits() {
    run("limits.txt", Role::Server);
}

#[test]
fn responses() {
    run("responses.txt", Role::Client);
}

#[test]
fn responses_refused() {
    run("responses_refused.txt", Role::Client);
}

#[test]
fn response_framing() {
    run("response_framing.txt", Role::Client);
}

fn run(file: &str, role: Role) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file);
    let cases = parse(&fs::read_to_string(path).expect("a file of cases"));
    assert!(!cases.is_empty(), "{file} is empty");
    let mut wrong = 0;
    for case in &cases {
        wrong += usize::from(!case.holds(role));
    }
    assert_eq!(wrong, 0, "{wrong} of {} cases of {file} are wrong", cases.len());
}

impl Case {
    /// Whether the events are the expected ones, alone and with a tail.
    fn holds(&self, role: Role) -> bool {
        let seen = self.read(role, &self.input);
        let mut ok = self.agrees(&seen.lines, &self.expected);
        let last = self.expected.last().map(String::as_str);
        let until_close = self.expected.iter().any(|line| line.ends_with("until close"));
        let incomplete = last == Some("refused 400 Incomplete");
        if until_close || incomplete {
            return ok;
        }
        let (tail, more) = match role {
            Role::Server => (&b"GET /tail HTTP/1.1\r\nHost: t\r\n\r\n"[..], ["GET /tail HTTP/1.1", "reuse"].as_slice()),
            Role::Client => (
                &b"HTTP/1.1 404 Tail\r\nTail: t\r\nContent-Length: 0\r\n\r\n"[..],
                ["404 HTTP/1.1", "end", "reuse"].as_slice(),
            ),
        };
        let seen = self.read(role, &[&self.input, tail].concat());
        let mut expected = self.expected.clone();
        if last == Some("reuse") {
            expected.extend(more.iter().map(|line| String::from(*line)));
        } else if seen.error.is_none() && seen.left != tail {
            println!("{}: what stands behind the last message was touched", self.name);
            ok = false;
        }
        self.agrees(&seen.lines, &expected) && ok
    }

    fn agrees(&self, seen: &[String], expected: &[String]) -> bool {
        let fields = expected.iter().any(|line| line.starts_with("- "));
        let is_tail = |line: &str| ["- Host: t", "- Tail: t", "- Content-Length: 0"].contains(&line);
        let is_shown = |line: &&String| !line.starts_with("- ") || fields && !is_tail(line);
        let seen: Vec<&String> = seen.iter().filter(is_shown).collect();
        if seen == expected.iter().collect::<Vec<_>>() {
            return true;
        }
        println!("{}\n  expected {expected:#?}\n  seen {seen:#?}", self.name);
        false
    }

    fn read(&self, role: Role, input: &[u8]) -> Seen {
        let mut limits = Limits::default();
        let mut method = Method::GET;
        for (name, value) in &self.settings {
            let number = || value.parse::<usize>().expect("a number");
            match &name[..] {
                "head" => limits.head = number(),
                "fields" => limits.fields = number(),
                "target" => limits.target = number(),
                "body" => limits.body = number() as u64,
                "chunk_extensions" => limits.chunk_extensions = number(),
                "method" => method = value.parse().expect("a method"),
                _ => panic!("{}: what is {name}?", self.name),
            }
        }
        match role {
            Role::Server => every_way(|| Requests::new(limits), input),
            Role::Client => every_way(|| Responses::new(limits, &method), input),
        }
    }
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("== ") {
            cases.push(Case { name: name.into(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a name comes first");
        let (mark, rest) = line.split_at(1);
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        match mark {
            "@" => {
                let (name, value) = rest.split_once(' ').expect("name and value");
                case.settings.push((name.into(), value.into()));
            }
            ">" => unescape(rest, &mut case.input),
            "=" => case.expected.push(rest.into()),
            _ => panic!("a line of no kind: {line}"),
        }
    }
    cases
}

fn unescape(line: &str, output: &mut Vec<u8>) {
    let mut bytes = line.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            output.push(byte);
            continue;
        }
        match bytes.next() {
            None => return,
            Some(b'r') => output.push(b'\r'),
            Some(b'n') => output.push(b'\n'),
            Some(b't') => output.push(b'\t'),
            Some(b'0') => output.push(0),
            Some(b'x') => {
                let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                output.push(u8::from_str_radix(&digits, 16).expect("two hexadecimal digits"));
            }
            Some(other) => output.push(other),
        }
    }
    output.extend_from_slice(b"\r\n");
}
