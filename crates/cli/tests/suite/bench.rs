//! `serow bench`: what it prints, and how it ends. Whole runs are tested in crates/load, and with other programs by
//! tests/load.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use crate::running::{Running, output, serow, site};
use rustix::process::{Pid, Signal, kill_process};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs it with these options, and those of a short run.
fn bench(options: &[&str], url: &str) -> Output {
    output([&["bench", "-n", "20", "-c", "2"], options, &[url]].concat())
}

#[test]
fn the_results_come_in_the_form_that_was_asked_for() {
    let folder = site();
    let page = folder.path().join("page.html");
    let server = Running::start(folder.path(), &[]);
    let (url, missing) = (server.urls()[0].to_owned(), format!("{}missing", server.urls()[0]));
    let cases: [(&[&str], &str, &[&str]); 6] = [
        (&[], &url, &["Running test @ http://", "\n  20 requests in ", "\nRequests/sec: ", "\nTransfer/sec: "]),
        (&["--latency"], &url, &["\n  Latency Distribution\n     50% "]),
        (&["--http2", "-m", "4"], &url, &["\n  Protocol: HTTP/2, 4 requests at a time on each connection\n"]),
        (&["--json"], &missing, &["{\n", "\"statuses\": {\n    \"404\": 20\n  }", "\"status\": 20\n"]),
        (&["--csv"], &url, &["start_s,length_s,requests,"]),
        (&["--html", page.to_str().unwrap()], &url, &["\n  20 requests in "]),
    ];
    for (options, url, expected) in cases {
        let output = bench(options, url);
        let printed = text(&output.stdout);
        assert!(expected.iter().all(|part| printed.contains(part)), "{options:?}: {printed}");
        assert!(
            printed.starts_with(expected[0].trim_start_matches('\n')) || expected[0].starts_with('\n'),
            "{printed}"
        );
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{options:?}");
    }
    assert!(fs::read_to_string(page).unwrap().contains("</html>"));
}

#[test]
fn fail_on_error_makes_the_exit_code_1_if_requests_fail() {
    let folder = site();
    let server = Running::start(folder.path(), &[]);
    let url = server.urls()[0];
    for (path, options, code, line) in [
        ("", &["--fail-on-error"][..], 0, ""),
        ("missing", &[], 0, ""),
        (
            "missing",
            &["--fail-on-error"],
            1,
            "serow: requests failed: 20 had a status of 400 or above (--fail-on-error)\n",
        ),
    ] {
        let output = bench(options, &format!("{url}{path}"));
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(code), line), "{path} {options:?}");
    }
}

#[test]
fn invalid_options_and_failed_connections_are_reported_in_one_line() {
    let folder = site();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("script.lua"), "\nfunction request() return 5 end").unwrap();
    let closed = serow_ports::refusing_address();
    let server = Running::start(folder.path(), &[]);
    let (nobody, url) = (format!("http://{closed}/"), server.urls()[0]);
    let encrypted = url.replace("http://", "https://");
    let (none, script, page) = (path("none"), path("script.lua"), path("none/page.html"));
    let cases: [(&[&str], i32, &str); 14] = [
        (&[], 2, "a URL is missing; write one, as in http://127.0.0.1:8080/"),
        (&[url, "b"], 2, "\"b\" is an unexpected argument"),
        (&["-c", "1", "-t", "2", url], 2, "2 threads need at least 2 connections"),
        (&["-d", "0", url], 2, "--duration: 0 is too short for any request"),
        (&["-T", "0", url], 2, "--timeout: 0 is too short for any request"),
        (&["-m", "2", url], 2, "--http2 or --http3 is missing"),
        (&["-3", url], 1, "--http3 needs an https:// URL"),
        (&["ftp://a/"], 1, "\"ftp://a/\" is not one of http:// and https://"),
        (&[&nobody], 1, "cannot connect to 127.0.0.1:"),
        (&["-P", &none, "http://a/"], 1, "cannot connect to unix:"),
        (&[&encrypted], 1, "cannot connect to 127.0.0.1:"),
        (&["-s", &none, url], 1, "cannot read the script "),
        (&["-s", &script, url], 1, "script.lua:2: request() must return the text of a request, and returned 5"),
        (&["--html", &page, url], 1, "--html: cannot write "),
    ];
    for (arguments, code, expected) in cases {
        let output = output([&["bench"], arguments].concat());
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.matches('\n').count()), (Some(code), 1), "{arguments:?}: {said}");
        assert!(said.starts_with("serow: ") && said.contains(expected), "{arguments:?}: {said}");
    }
}

/// Runs a long one until it has printed its first line, and interrupts it at that moment.
fn interrupted(mut bench: Command) -> (String, Option<i32>) {
    let mut bench = bench.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(bench.stdout.take().unwrap());
    let mut printed = String::new();
    output.read_line(&mut printed).unwrap();
    kill_process(Pid::from_child(&bench), Signal::INT).unwrap();
    output.read_to_string(&mut printed).unwrap();
    (printed, bench.wait().unwrap().code())
}

#[test]
fn an_interrupt_at_the_first_line_brings_the_report() {
    let folder = site();
    let server = Running::start(folder.path(), &[]);
    let arguments = ["bench", "-d", "60s", server.urls()[0]];
    for _ in 0..10 {
        // A process that a shell starts in the background without job control begins with SIGINT ignored: a signal that
        // came before it is caught would be lost, not end the process.
        let mut background = Command::new("sh");
        background.args(["-c", "trap '' INT; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_serow")]).args(arguments);
        for command in [serow(arguments), background] {
            let (printed, code) = interrupted(command);
            assert!(printed.contains("\n  Interrupted before its end\n"), "{printed}");
            assert!(printed.contains("\nRequests/sec: "), "{printed}");
            assert_eq!(code, Some(0));
        }
    }
}

#[test]
fn an_interrupt_before_the_run_ends_the_process() {
    // A server that accepts and says nothing: the TLS handshake of the first connection waits for it.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    // Several times: it must not matter how far the handshake is.
    for _ in 0..20 {
        let mut bench = serow(["bench", "-d", "60s", &url]).stdout(Stdio::piped()).spawn().unwrap();
        let _connection = silent.accept().unwrap();
        kill_process(Pid::from_child(&bench), Signal::INT).unwrap();
        assert_eq!(bench.wait().unwrap().code(), Some(130));
    }
}
