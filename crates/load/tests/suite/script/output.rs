//! The output of scripts, as a process prints it.

use std::process::{Command, Stdio};

use super::stage::Run;

/// The output of one of the tests below, which plays its script in a process of its own.
fn printed(test: &str) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "--ignored", "--nocapture", "--test-threads=1", test]).stdin(Stdio::null());
    let output = command.output().expect("a process");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    let (_, text) = text.split_once("BEGIN\n").expect("the beginning");
    text.split_once("END\n").expect("the end").0.into()
}

fn play(script: &str) {
    println!("BEGIN");
    Run::of(script).play().expect("a script without errors");
    println!("END");
}

#[test]
fn setup() {
    let expected = "thread 1 is ready\nthread 2 is ready\n\
        thread 1 made 3 requests and saw 3 responses\nthread 2 made 3 requests and saw 3 responses\n";
    assert_eq!(printed("script::output::play_setup"), expected);
}

#[test]
#[ignore = "the other half of `setup`"]
fn play_setup() {
    play(include_str!("../../script/setup.lua"));
}

#[test]
fn report() {
    // Values are known to three digits, and an equal one may be a little higher.
    let expected = "50%,2001\n75%,2001\n99.9%,10002\n4 requests, 400 bytes, 2000000 us\n";
    assert_eq!(printed("script::output::play_report"), expected);
}

#[test]
#[ignore = "the other half of `report`"]
fn play_report() {
    play(include_str!("../../script/report.lua"));
}

#[test]
fn in_order() {
    let expected = "loaded\nloaded\nsetup\ninit\nask 1\nanswered\nseen\nask 2\nanswered\nseen\ndone without an end\n";
    assert_eq!(printed("script::output::play_in_order"), expected);
}

#[test]
#[ignore = "the other half of `in_order`"]
fn play_in_order() {
    let script = "print('loaded')
        function setup() print('setup') end
        function init() print('init') end
        function request() n = (n or 0) + 1 print('ask ' .. n) return 'text' end
        function response() io.write('seen\\n') end
        function done() io.write('done without an end') end";
    let mut run = Run::of(script);
    (run.threads, run.requests) = (1, 2);
    run.answer = |_| {
        println!("answered");
        (200, Vec::new(), b"")
    };
    println!("BEGIN");
    run.play().expect("a script without errors");
    println!("\nEND");
}
