//! The cases of `tests/cases`: what a client sends (`>`, as `script` has it), what the server's driver does (`!`), the
//! events (`=`) and the frames (`<`) it must see. Each is run with the client's bytes frame by frame, byte by byte,
//! and, where nothing broke, with another request behind it.
//!
//! ```text
//! == RFC 9113 §5.1: what the case shows
//! @ streams 1                     a limit (head, fields, target, body, streams)
//! @ bare                          the case begins with the connection's first byte
//! ! respond 1 200 hello           also: head 1 200, continue 1, abandon 1, consumed 1 100, reset 1 8, shutdown, turns
//! ```

use std::{fs, path::Path};

use serow_http2::{BodyLength, ErrorCode, Limits, StreamId};
use serow_message::{Headers, StatusCode};

use crate::script::{Pieces, Talk};

#[derive(Clone, Default)]
struct Case {
    name: String,
    limits: Limits,
    bare: bool,
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
fn windows() {
    run("windows.txt");
}

fn run(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file);
    let text = fs::read_to_string(path).expect("the file of cases");
    let cases = parse(&text);
    assert!(cases.len() > 3, "few cases in {file}");
    for case in &cases {
        for pieces in [Pieces::Frames, Pieces::Bytes] {
            let talk = play(case, pieces);
            assert_eq!(talk.events, case.events, "events of {:?}, {pieces:?}", case.name);
            assert_eq!(talk.frames, case.frames, "frames of {:?}, {pieces:?}", case.name);
            assert_eq!(
                talk.error.is_some(),
                case.frames.iter().any(|line| line.starts_with("GOAWAY") && !line.ends_with("NO_ERROR")),
                "{:?}",
                case.name
            );
            follow(talk, case);
        }
    }
}

/// The connection goes on with the next request, as if nothing had been, or not at all.
fn follow(mut talk: Talk, case: &Case) {
    if talk.error.is_some() || talk.server.is_shutting_down() || case.limits.streams < 100 || case.limits.fields < 4 {
        return;
    }
    talk.events.clear();
    talk.say("HEADERS 99 end | GET /t | x-tail: 1");
    assert_eq!(talk.events, ["request 99 GET /t | host: a | x-tail: 1"], "behind {:?}", case.name);
}

fn play(case: &Case, pieces: Pieces) -> Talk {
    let mut talk = if case.bare { Talk::new(case.limits) } else { Talk::begun(case.limits) };
    for (kind, line) in &case.script {
        match kind {
            '>' => talk.say_in(line, pieces),
            _ => act(&mut talk, line),
        }
    }
    talk
}

fn act(talk: &mut Talk, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |place: usize| words[place].parse::<u32>().expect("a number");
    let stream = StreamId::new(words.get(1).and_then(|word| word.parse().ok()).unwrap_or_default());
    match words[0] {
        "respond" => talk.respond(number(1), number(2) as u16, words.get(3).unwrap_or(&"")),
        "head" => {
            let status = StatusCode::from_u16(number(2) as u16).expect("a status");
            let _ = talk.server.send_head(stream, status, Headers::new(), BodyLength::Unknown).expect("its turn");
            talk.turns();
        }
        "end" => {
            let mut output = Vec::new();
            talk.server.write_data(stream, b"", true, &mut output).expect("its turn");
            talk.take(&output);
        }
        "continue" => talk.server.send_continue(stream),
        "abandon" => talk.server.abandon_body(stream),
        "consumed" => talk.server.note_consumed(stream, number(2) as usize),
        "reset" => talk.server.reset(stream, ErrorCode(number(2))),
        "shutdown" => talk.server.begin_shutdown(),
        "turns" => talk.turns(),
        other => panic!("the driver does not know {other}"),
    }
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
        "head" => case.limits.head = number,
        "fields" => case.limits.fields = number,
        "target" => case.limits.target = number,
        "body" => case.limits.body = number as u64,
        "streams" => case.limits.streams = number as u32,
        other => panic!("no limit is named {other}"),
    }
}
