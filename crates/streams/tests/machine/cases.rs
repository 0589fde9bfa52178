//! The cases of files: what a client sends (`>`, as `script` has it), what the server's driver does (`!`), the events
//! (`=`) and the frames (`<`) it must see. Each is run with the client's bytes line by line, byte by byte, and in HTTP/3
//! with those of all streams interleaved; where nothing broke, with another request behind it.
//!
//! ```text
//! == RFC 9113 §5.1: what the case shows
//! @ streams 1                     a limit (head, fields, target, body, streams, and others that `protocol` knows)
//! @ bare                          the case begins with the connection's first byte
//! @ ordered                       interleaved, the case would be another
//! @ qpack                         what goes on the QPACK streams is shown, too
//! ! respond 1 200 hello           also: head 1 200, end 1, continue 1, informational 1 103, abandon 1, reset 1 8,
//!                                 priority 1, shutdown, finish, turns, and others that `protocol` knows
//! <3 STOP #1 100                  in a file for both versions: only of HTTP/3
//! ```
//!
//! A file of one version is in `tests/cases` of its crate; those for both are beside this one.

use std::{fs, path::Path};

use serow_message::{BodyLength, Headers, ResponseHead, StatusCode};

use super::script::{Pieces, Reading as _, Speaking as _, Talk, code, localised, number};
use crate::protocol::{self, Limits};

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
fn messages() {
    run_shared("messages.txt");
}

#[test]
fn exchanges() {
    run_shared("exchanges.txt");
}

#[test]
fn priorities() {
    run_shared("priorities.txt");
}

/// Runs a file of this version.
pub(crate) fn run(file: &str) {
    run_all(&read(Path::new("tests/cases"), file), file);
}

/// Runs a file for both versions.
fn run_shared(file: &str) {
    run_all(&localised(&read(Path::new("../streams/tests/machine/cases"), file)), file);
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(file)).expect("the file of cases")
}

fn run_all(text: &str, file: &str) {
    let cases = parse(text);
    assert!(cases.len() > 3, "few cases in {file}");
    for case in &cases {
        for pieces in protocol::PIECES {
            let fails = case.frames.iter().any(|line| protocol::is_failure(line));
            if pieces == Pieces::Interleaved && (case.ordered || fails) {
                continue;
            }
            let talk = play(case, pieces);
            let (mut events, mut frames) = (talk.events.clone(), talk.frames.clone());
            let (mut expected, mut sent) = (case.events.clone(), case.frames.clone());
            if pieces == Pieces::Interleaved {
                // Events of different streams have no order.
                for lines in [&mut events, &mut expected, &mut frames, &mut sent] {
                    sort_by_stream(lines);
                }
            }
            if protocol::SPLITS_DATA {
                (events, expected) = (joined(events), joined(expected));
            }
            assert_eq!(events, expected, "events of {:?}, {pieces:?}", case.name);
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
        if let (Some(last), Some(("data", rest))) = (joined.last_mut(), event.split_once(' '))
            && let Some((stream, data)) = rest.split_once(' ')
            && last.starts_with(&format!("data {stream} "))
        {
            last.push_str(data);
        } else {
            joined.push(event);
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
    talk.say(&localised("HEADERS #99 end | GET /t | x-tail: 1"));
    assert_eq!(talk.events, [localised("request #99 GET /t | host: a | x-tail: 1")], "behind {:?}", case.name);
}

fn play(case: &Case, pieces: Pieces) -> Talk {
    let mut talk = if case.bare { Talk::new(case.limits) } else { Talk::begun(case.limits) };
    talk.reader.show_qpack(case.qpack);
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
    let status = || StatusCode::from_u16(number(&words, 2) as u16).expect("a status");
    let stream = protocol::stream(words.get(1).and_then(|word| word.parse().ok()).unwrap_or_default());
    match words[0] {
        "respond" => talk.respond(stream, status().as_u16(), words.get(3).unwrap_or(&"")),
        "head" => {
            let _ = talk.server.send_head(stream, status(), Headers::new(), BodyLength::Unknown).expect("its turn");
            talk.turns();
        }
        "end" => talk.end(stream),
        "informational" => {
            let head = ResponseHead { status: status(), version: protocol::VERSION, headers: Headers::new() };
            talk.server.send_informational(stream, &head).expect("its turn");
        }
        "continue" => talk.server.send_continue(stream),
        "abandon" => talk.server.abandon_body(stream),
        "reset" => talk.server.reset(stream, code(words[2])),
        "shutdown" => talk.server.begin_shutdown(),
        "finish" => talk.server.finish_shutdown(),
        "priority" => talk.events.push(format!("priority {stream} {}", talk.server.priority(stream).as_str())),
        "turns" => talk.turns(),
        _ => protocol::act(&mut talk.server, stream, &words),
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
        let kind = match kind.strip_suffix(['2', '3']) {
            Some(_) if !kind.ends_with(protocol::NUMBER) => continue,
            Some(kind) => kind,
            None => kind,
        };
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
        _ => protocol::set(&mut case.limits, name, number),
    }
}
