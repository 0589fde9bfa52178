//! llhttp's cases: what it accepts in its strict mode we accept as the same messages, what it refuses we refuse.
//! `llhttp/exceptions.rs` names each exception; one that no longer occurs fails the test.
//!
//! Most of its requests have no `Host` (RFC 9112 §3.2 refuses them); one is added to them, so that the outcome is that
//! of the subject of the case. Its lenient modes are not tested here.

mod case;
mod exceptions;
mod outline;

use crate::splitter::{Requests, Responses, Seen, every_way};
use crate::suites::Suite;
use case::{Case, Entry, What};
use exceptions::{Difference, EXCEPTIONS};
use outline::{End, HOST, Outline};
use serow_http1::Limits;
use serow_message::{Method, Target};

#[test]
fn llhttp_cases() {
    let Some(suite) = Suite::unpack("llhttp-cases") else { return };
    let files = suite.files("nodejs+llhttp/test");
    let cases = files.iter().filter(|(name, _)| name.ends_with(".md"));
    let cases: Vec<Case> = cases.flat_map(|(name, text)| case::parse(name, &String::from_utf8_lossy(text))).collect();
    assert!(cases.len() > 250, "only {} cases", cases.len());

    let (mut same, mut lenient, mut wrong) = (0, 0, Vec::new());
    for case in &cases {
        let named = EXCEPTIONS.iter().find(|(name, ..)| *name == case.name);
        if case.kind.contains("lenient") {
            lenient += 1;
            continue;
        }
        let (difference, detail) = compare(case);
        match (difference, named) {
            (_, Some((_, Difference::OutOfScope, _))) if difference.is_some() => {}
            (None, None) => same += 1,
            (difference, named) if difference == named.map(|(_, difference, _)| *difference) => {}
            (difference, named) => {
                wrong.push(case.name.clone());
                println!("{}\n  {difference:?}, but named {:?}\n{detail}", case.name, named.map(|named| named.1));
            }
        }
    }
    for (name, ..) in EXCEPTIONS {
        if !cases.iter().any(|case| case.name == *name) {
            wrong.push(format!("{name}: no such case"));
        }
    }
    println!("{same} cases alike, {} exceptions, {lenient} of lenient modes", EXCEPTIONS.len());
    assert!(wrong.is_empty(), "{} differ otherwise than named: {wrong:#?}", wrong.len());
}

fn compare(case: &Case) -> (Option<Difference>, String) {
    if case.kind == "url" {
        return compare_url(case);
    }
    let theirs = Outline::of_log(case);
    let refuses = |outline: &Outline| outline.end == End::Refused;
    let mut seen = read(case, b"");
    if refuses(&theirs) && Outline::of_seen(&seen).end == End::Within {
        // Where the input ends within the line that is wrong, the verdict comes with the end of the line.
        seen = read(case, b"\r\n\r\n");
    }
    let until_close = seen.lines.iter().any(|line| line.ends_with("until close"));
    let mut ours = Outline::of_seen(&seen);
    if until_close && theirs.end == End::Within && ours.end == End::Closed {
        // The end of the input is the end of the body; llhttp's cases do not always tell it.
        ours.end = End::Within;
        ours.messages.iter_mut().for_each(|message| message.complete = false);
    }
    let difference = match (refuses(&theirs), refuses(&ours)) {
        (true, true) => None,
        (true, false) => Some(Difference::Laxer),
        (false, true) => Some(Difference::Stricter),
        (false, false) if agree(&theirs, &ours) => None,
        (false, false) => Some(Difference::Other),
    };
    (difference, format!("  {}\n  theirs {theirs:#?}\n  ours {ours:#?}\n  {:?}", case.input.escape_ascii(), seen.lines))
}

fn read(case: &Case, tail: &[u8]) -> Seen {
    match &case.kind[..] {
        "request" | "request-finish" => {
            every_way(|| Requests::new(Limits::default()), &[&with_host(case), tail].concat())
        }
        "response" | "response-finish" => {
            let method = if case.skips_body { Method::HEAD } else { Method::GET };
            every_way(|| Responses::new(Limits::default(), &method), &[&case.input, tail].concat())
        }
        kind => panic!("{}: a case of type {kind:?}", case.name),
    }
}

fn agree(theirs: &Outline, ours: &Outline) -> bool {
    // llhttp tells that a connection closes only by what it says of bytes behind it.
    let end = theirs.end == ours.end || theirs.end == End::Open && ours.end == End::Closed;
    // Of a head that is not whole nothing is said by us.
    let whole = theirs.messages.len().min(ours.messages.len());
    end && theirs.messages[..whole] == ours.messages[..whole] && theirs.messages.len() == ours.messages.len()
}

fn compare_url(case: &Case) -> (Option<Difference>, String) {
    let theirs = !case.log.iter().any(|entry| matches!(entry.what, What::Error(_)));
    let parsed = Target::parse(case.input.clone().into(), case.name.contains("CONNECT"));
    let difference = match (theirs, parsed.is_ok()) {
        (true, false) => Some(Difference::Stricter),
        (false, true) => Some(Difference::Laxer),
        _ => None,
    };
    (difference, format!("  {:?} {parsed:?}", case.input.escape_ascii().to_string()))
}

/// The input with a `Host` behind each request line that has none in its head.
fn with_host(case: &Case) -> Vec<u8> {
    let mut input = case.input.clone();
    let mut places = Vec::new();
    let mut line_end = None;
    let mut has_host = false;
    let is_host =
        |entry: &Entry, length: usize| case.input[entry.offset..entry.offset + length].eq_ignore_ascii_case(b"host");
    for entry in &case.log {
        match &entry.what {
            What::Other(text) if text == "version complete" => {
                places.extend(line_end.take().filter(|_| !has_host));
                (line_end, has_host) = (Some(entry.offset), false);
            }
            What::Span(part, length) if part == "header_field" => has_host |= is_host(entry, *length),
            _ => {}
        }
    }
    places.extend(line_end.filter(|_| !has_host));
    for place in places.into_iter().rev() {
        if input[place..].starts_with(b"\r\n") {
            input.splice(place..place, format!("\r\n{HOST}").bytes());
        }
    }
    input
}
