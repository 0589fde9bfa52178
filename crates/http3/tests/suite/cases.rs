//! The cases of `tests/cases`: what a client sends (`>`, as `script` has it), what the server's driver does (`!`), the
//! events (`=`) and the frames (`<`) it must see. Each is run with the client's bytes line by line, byte by byte, and
//! with the bytes of all streams interleaved; where nothing broke, with another request behind it.
//!
//! ```text
//! == RFC 9114 §4.1: what the case shows
//! @ streams 1                     a limit (head, fields, target, body, streams, sections, table, blocked)
//! @ bare                          the case begins with the connection's first byte
//! @ ordered                       interleaved, the case would be another
//! @ qpack                         what goes on the QPACK streams is shown, too
//! ! respond 0 200 hello           also: head 0 200, end 0, continue 0, informational 0 103, abandon 0, reset 0 10c,
//!                                 shutdown, finish, turns, credit 10, writable 0, unwritable 0
//! ```

use std::{fs, path::Path};

use serow_http3::{BodyLength, ErrorCode, Limits, StreamId};
use serow_message::{Headers, ResponseHead, StatusCode, Version};

use crate::script::{Pieces, Talk};

#[derive(Clone, Default)]
struct Case {
    name: String,
    limits: Limits,
    bare: bool,
    ordered: bool,
    qpack: bool,
    /// `>` and `!` lines, in order.
    script: Vec<(char, String)>,
    events: Vec<String>,
    frames: Vec<String>,
}

#[test]
fn streams() {
    run("streams.txt");
}

#[test]
fn frames() {
    run("frames.txt");
}

#[test]
fn messages() {
    run("messages.txt");
}

#[test]
fn settings() {
    run("settings.txt");
}

#[test]
fn qpack() {
    run("qpack.txt");
}

#[test]
fn priorities() {
    run("priorities.txt");
}

fn run(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file);
    let text = fs::read_to_string(path).expect("the file of cases");
    let cases = parse(&text);
    assert!(cases.len() > 3, "few cases in {file}");
    for case in &cases {
        for pieces in [Pieces::Whole, Pieces::Bytes, Pieces::Interleaved] {
            let fails = case.frames.iter().any(|line| line.starts_with("CLOSE"));
            if pieces == Pieces::Interleaved && (case.ordered || fails) {
                continue;
            }
            let talk = play(case, pieces);
            let (mut events, mut frames) = (talk.events.clone(), talk.frames.clone());
            let (mut expected, mut sent) = (case.events.clone(), case.frames.clone());
            if pieces == Pieces::Interleaved {
                // Events of different streams have no order. Data come in pieces of any size.
                for lines in [&mut events, &mut expected, &mut frames, &mut sent] {
                    sort_by_stream(lines);
                }
            }
            assert_eq!(joined(events), joined(expected), "events of {:?}, {pieces:?}", case.name);
            assert_eq!(frames, sent, "frames of {:?}, {pieces:?}", case.name);
            assert_eq!(talk.error.is_some(), fails, "{:?}", case.name);
            follow(talk, case);
        }
    }
}

/// By what is behind the first word, as far as that is a number.
fn sort_by_stream(lines: &mut [String]) {
    lines.sort_by_key(|line| line.split(' ').nth(1).and_then(|word| word.parse::<u64>().ok()));
}

/// Pieces of a body that follow each other are one.
fn joined(events: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for event in events {
        match (joined.last_mut(), event.split_once(' ')) {
            (Some(last), Some(("data", rest))) if last.starts_with("data ") => {
                let (stream, data) = rest.split_once(' ').expect("data");
                if last.split(' ').nth(1) == Some(stream) {
                    last.push_str(data);
                    continue;
                }
                joined.push(event);
            }
            _ => joined.push(event),
        }
    }
    joined
}

/// The connection goes on with the next request, as if nothing had been, or not at all.
fn follow(mut talk: Talk, case: &Case) {
    if talk.error.is_some() || talk.server.is_shutting_down() || case.limits.streams < 100 || case.limits.fields < 4 {
        return;
    }
    talk.events.clear();
    talk.say("HEADERS 400 end | GET /t | x-tail: 1");
    assert_eq!(talk.events, ["request 400 GET /t | host: a | x-tail: 1"], "behind {:?}", case.name);
}

fn play(case: &Case, pieces: Pieces) -> Talk {
    let mut talk = if case.bare { Talk::new(case.limits) } else { Talk::begun(case.limits) };
    talk.notes_qpack = case.qpack;
    let mut said: Vec<&str> = Vec::new();
    for (kind, line) in &case.script {
        if *kind == '>' {
            said.push(line);
        } else {
            talk.say_all(&std::mem::take(&mut said), pieces);
            act(&mut talk, line);
        }
    }
    talk.say_all(&said, pieces);
    talk
}

fn act(talk: &mut Talk, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |place: usize| words[place].parse::<u64>().expect("a number");
    let status = || StatusCode::from_u16(number(2) as u16).expect("a status");
    let stream = StreamId::of_quic(words.get(1).and_then(|word| word.parse().ok()).unwrap_or_default());
    match words[0] {
        "respond" => talk.respond(number(1), number(2) as u16, words.get(3).unwrap_or(&"")),
        "head" => {
            let _ = talk.server.send_head(stream, status(), Headers::new(), BodyLength::Unknown).expect("its turn");
            talk.turns();
        }
        "end" => {
            let mut output = Vec::new();
            let follows = talk.server.write_data(stream, b"", true, &mut output).expect("its turn");
            talk.take(stream.get(), &output, follows);
        }
        "informational" => {
            let head = ResponseHead { status: status(), version: Version::HTTP_3, headers: Headers::new() };
            talk.server.send_informational(stream, &head).expect("its turn");
        }
        "continue" => talk.server.send_continue(stream),
        "abandon" => talk.server.abandon_body(stream),
        "reset" => talk.server.reset(stream, ErrorCode(u64::from_str_radix(words[2], 16).expect("a code"))),
        "shutdown" => talk.server.begin_shutdown(),
        "finish" => talk.server.finish_shutdown(),
        "credit" => talk.server.set_stream_credit(number(1)),
        "writable" => talk.server.set_writable(stream, true),
        "unwritable" => talk.server.set_writable(stream, false),
        "priority" => talk.events.push(format!("priority {stream} {}", talk.server.priority(stream).as_str())),
        "turns" => talk.turns(),
        other => panic!("the driver does not know {other}"),
    }
    talk.take_events();
    talk.drain();
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        if kind == "==" {
            cases.push(Case { name: rest.into(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case begins with its name");
        match kind {
            ">" => case.script.push(('>', rest.into())),
            "!" => case.script.push(('!', rest.into())),
            "=" => case.events.push(rest.into()),
            "<" => case.frames.push(rest.into()),
            "@" => set(case, rest),
            other => panic!("a line that begins with {other:?}"),
        }
    }
    cases
}

fn set(case: &mut Case, setting: &str) {
    let (name, value) = setting.split_once(' ').unwrap_or((setting, "0"));
    let number: usize = value.parse().expect("a number");
    match name {
        "bare" => case.bare = true,
        "ordered" => case.ordered = true,
        "qpack" => case.qpack = true,
        "head" => case.limits.head = number,
        "fields" => case.limits.fields = number,
        "target" => case.limits.target = number,
        "body" => case.limits.body = number as u64,
        "streams" => case.limits.streams = number as u32,
        "sections" => case.limits.sections = number,
        "table" => case.limits.qpack_table = number as u32,
        "blocked" => case.limits.qpack_blocked = number as u16,
        other => panic!("no limit is named {other}"),
    }
}
