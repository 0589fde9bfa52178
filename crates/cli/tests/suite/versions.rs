//! `--http`: which versions of HTTP are spoken, with TLS and without, as curl sees it.

use std::{io::Read, io::Write, process::Command};

use crate::running::{Running, output, site};
use serow_requirements::requires;

/// The version that curl got an answer in and its status; its exit code if it got none.
fn curl(server: &Running, option: &str) -> Result<String, i32> {
    let url = format!("{}a.txt", server.urls()[0].split(' ').next().unwrap());
    let mut command = Command::new("curl");
    command.args(["-sk", "--max-time", "20", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", option, &url]);
    let output = command.output().unwrap();
    match output.status.code() {
        Some(0) => Ok(String::from_utf8(output.stdout).unwrap()),
        code => Err(code.unwrap()),
    }
}

/// curl(1): 16 is an error of HTTP/2's framing, 52 and 56 are nothing received, or not to the end.
const NOT_HTTP2: [i32; 3] = [16, 52, 56];
/// curl(1): 1 and 8 are an answer that is not one of HTTP/1.
const NOT_HTTP1: [i32; 4] = [1, 8, 52, 56];
/// curl(1): the handshake of TLS failed.
const NO_TLS: [i32; 1] = [35];

type Outcome = Result<&'static str, &'static [i32]>;

#[track_caller]
fn check(options: &[&str], cases: [(&str, Outcome); 3]) {
    let folder = site();
    let mut server = Running::start(folder.path(), options);
    for (option, expected) in cases {
        let got = curl(&server, option);
        let fits = match (&got, expected) {
            (Ok(got), Ok(expected)) => got == expected,
            (Err(got), Err(expected)) => expected.contains(got),
            _ => false,
        };
        assert!(fits, "{options:?} {option}: {got:?} instead of {expected:?}");
    }
    assert_eq!(server.stop().code(), Some(0));
}

const H1: &str = "--http1.1";
const UPGRADE: &str = "--http2";
const H2: &str = "--http2-prior-knowledge";

#[test]
fn both_without_tls() {
    requires!("program:curl");
    check(&["--http", "both"], [(H1, Ok("1.1 200")), (UPGRADE, Ok("1.1 200")), (H2, Ok("2 200"))]);
}

#[test]
fn http1_without_tls() {
    requires!("program:curl");
    check(&["--http", "1"], [(H1, Ok("1.1 200")), (UPGRADE, Ok("1.1 200")), (H2, Err(&NOT_HTTP2))]);
}

#[test]
fn http2_without_tls() {
    requires!("program:curl");
    check(&["--http", "2"], [(H1, Err(&NOT_HTTP1)), (UPGRADE, Err(&NOT_HTTP1)), (H2, Ok("2 200"))]);
}

const TLS: [&str; 2] = ["--tls", "self-signed"];

#[test]
fn both_with_tls() {
    requires!("program:curl");
    let options = [&["--http", "both"][..], &TLS].concat();
    check(&options, [(H1, Ok("1.1 200")), (UPGRADE, Ok("2 200")), ("--no-alpn", Ok("1.1 200"))]);
}

#[test]
fn http1_with_tls() {
    requires!("program:curl");
    let options = [&["--http", "1"][..], &TLS].concat();
    check(&options, [(H1, Ok("1.1 200")), (UPGRADE, Ok("1.1 200")), ("--no-alpn", Ok("1.1 200"))]);
}

#[test]
fn http2_with_tls() {
    requires!("program:curl");
    let options = [&["--http", "2"][..], &TLS].concat();
    check(&options, [(H1, Err(&NO_TLS)), (UPGRADE, Ok("2 200")), ("--no-alpn", Err(&NOT_HTTP1))]);
}

/// The answer to bytes, up to the end of the connection.
fn answer(options: &[&str], bytes: &[u8]) -> Vec<u8> {
    let folder = site();
    let server = Running::start(folder.path(), options);
    let mut stream = server.connect();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn a_version_that_is_off_is_refused_in_one_that_is_on() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let refusal = answer(&["--http", "1"], preface);
    let refusal = String::from_utf8_lossy(&refusal);
    assert!(refusal.starts_with("HTTP/1.1 505 ") || refusal.starts_with("HTTP/1.1 400 "), "{refusal}");
    // RFC 9113 §3.4: GOAWAY (kind 7) of no stream with PROTOCOL_ERROR, as the last frame of three or fewer.
    let refusal = answer(&["--http", "2"], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut frames = Vec::new();
    let mut rest = &refusal[..];
    while let [high, middle, low, kind, after @ ..] = rest {
        let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        frames.push((*kind, after[5..5 + length].to_vec()));
        rest = &after[5 + length..];
    }
    let (kind, payload) = frames.last().expect("a frame");
    assert_eq!((*kind, &payload[..8]), (7, &[0, 0, 0, 0, 0, 0, 0, 1][..]), "{frames:?}");
}

#[test]
fn pacing_is_what_it_is() {
    requires!("program:curl");
    let folder = site();
    for pacing in ["adaptive", "off", "16k"] {
        let server = Running::start(folder.path(), &["--pacing", pacing]);
        assert_eq!(curl(&server, H2).unwrap(), "2 200", "{pacing}");
    }
    let refused = output(["--pacing", "fast"]);
    let line = String::from_utf8(refused.stderr).unwrap();
    assert!(line.starts_with(r#"serow: --pacing: "fast" is not adaptive, off or a size"#), "{line}");
}
