//! `serow bench waterfall`: against real servers, and against one that goes wrong.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::{Output, Stdio},
    sync::mpsc,
    thread::{self, JoinHandle},
};

use crate::running::{Running, output, serow, site};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PICTURE: u64 = 24_000_000;
const SCRIPT: u64 = 300_000;

/// A server of a large picture and a script, and its URL.
fn server(folder: &Path, options: &[&str]) -> (Running, String) {
    for (name, length) in [("picture.bin", PICTURE), ("script.bin", SCRIPT)] {
        File::create(folder.join(name)).unwrap().set_len(length).unwrap();
    }
    let running = Running::start(folder, options);
    let url = running.urls()[0].split(' ').next().unwrap().to_owned();
    (running, url)
}

fn waterfall(arguments: &[&str]) -> Output {
    output([&["bench", "waterfall"], arguments].concat())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The only line of standard error.
fn line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    text.trim_end().strip_prefix("serow: ").unwrap().to_owned()
}

/// The recording of each resource by a run.
fn resources(arguments: &[&str]) -> Vec<Value> {
    let output = waterfall(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["ending"], "complete");
    value["resources"].as_array().unwrap().clone()
}

fn seconds(resource: &Value, name: &str) -> f64 {
    resource[name].as_f64().unwrap()
}

#[test]
fn an_urgent_resource_overtakes() {
    let folder = site();
    let tls: &[&str] = &["--tls", "self-signed"];
    for options in [&[][..], tls] {
        let (_running, url) = server(folder.path(), options);
        for signals in ["rfc9218", "rfc7540"] {
            let found = resources(&["-k", "--signals", signals, &format!("{url}picture.bin,u=5"), "/script.bin,u=1"]);
            let [picture, script] = &found[..] else { panic!("{found:?}") };
            assert_eq!([&picture["bytes"], &script["bytes"]], [PICTURE, SCRIPT]);
            assert!(seconds(script, "end") < seconds(picture, "end"), "{options:?}, {signals}");
            // Some of the picture may have been on its way before the script's file was open.
            let of_picture = picture["pieces"].as_array().unwrap().iter();
            let before = of_picture.filter(|piece| piece[0].as_f64().unwrap() < seconds(script, "end"));
            let before: u64 = before.map(|piece| piece[1].as_u64().unwrap()).sum();
            assert!(
                before < PICTURE / 2,
                "{options:?}, {signals}: {before} bytes of the picture came before the script's end"
            );
        }
    }
}

#[test]
fn delays_hold() {
    let folder = site();
    let (_running, url) = server(folder.path(), &[]);
    let found =
        resources(&["-H", "X-One: 1", &format!("{url}a.txt,after=120ms"), "/index.html,at=60ms,u=1", "/none?a"]);
    let [late, first, missing] = &found[..] else { panic!("{found:?}") };
    assert!(seconds(late, "asked") >= 0.12 && seconds(late, "first_byte") >= seconds(late, "asked"));
    assert!(seconds(first, "asked") < seconds(late, "asked") && first["priority"].is_null());
    assert_eq!([&late["status"], &first["status"], &missing["status"]], [200, 200, 404]);
    assert!(seconds(late, "end") >= seconds(late, "first_byte"));
}

#[test]
fn drawings() {
    let folder = site();
    let (_running, url) = server(folder.path(), &[]);
    let file = folder.path().join("drawing.svg");
    fs::write(&file, "what was there before".repeat(1000)).unwrap();
    let drawing = file.to_str().unwrap();
    let first = format!("{url}script.bin,u=1,i");
    let found = waterfall(&[&first, "/none", "--svg", drawing, "--title", "A <title>"]);
    assert!(found.status.success() && found.stderr.is_empty(), "{found:?}");
    let text = stdout(&found);
    let table: Vec<_> = text.lines().filter(|line| line.ends_with(" 300000")).collect();
    assert!(table.len() == 1 && table[0].starts_with("/script.bin  u=1, i    200"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("/none") && line.contains(" 404 ")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let drawn = fs::read_to_string(&file).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"), "{drawn}");
    assert!(drawn.contains(">A &lt;title&gt;</text>") && drawn.contains(">/none</text>"), "{drawn}");
}

#[test]
fn over_a_unix_socket() {
    let folder = site();
    let socket = folder.path().join("socket");
    let listen = format!("unix:{}", socket.display());
    let mut command = serow([folder.path()]);
    command.args(["--listen", &listen]);
    let _running = Running::of(command);
    let found = waterfall(&["-P", socket.to_str().unwrap(), "http://localhost/a.txt"]);
    assert!(found.status.success(), "{found:?}");
}

#[test]
fn mistakes() {
    let folder = site();
    let (_http1, plain) = server(folder.path(), &["--http", "1"]);
    let (_tls1, tls) = server(folder.path(), &["--http", "1", "--tls", "self-signed"]);
    let (_tls2, https) = server(folder.path(), &["--tls", "self-signed"]);
    let closed = serow_ports::refusing_address();
    let cases: [(&[&str], &str, i32); 13] = [
        (&["http://no-such-host.invalid/"], "cannot find the host no-such-host.invalid: ", 1),
        (&[&format!("http://{closed}/")], &format!("cannot connect to {closed}: connection refused; is the server"), 1),
        (&["-P", "/none/a.sock", "http://a/"], "cannot connect to unix:/none/a.sock: there is no such socket", 1),
        (&[&plain], "the server does not speak HTTP/2; its response begins with \"HTTP/1.1 ", 1),
        (&["-k", &tls], "the server did not select HTTP/2 (ALPN)", 1),
        (&[&https], "cannot connect to 127.0.0.1:", 1),
        (&[&plain, "--svg", "/none/a.svg"], "cannot write the drawing /none/a.svg: No such file or directory", 1),
        (&[], "a URL is missing; write one, as in http://127.0.0.1:8080/; see serow bench waterfall --help", 2),
        (&["/a"], "\"/a\" has no server: write it in front, as in https://example.com/a", 2),
        (&["http://a/", "http://b/"], "\"http://b/\" is of another server than http://a", 2),
        (&["http://a/,u=8"], "\"u=8\" is not one of u=0 (most urgent) to u=7", 2),
        (&["http://a/,at=1s,u=1", "--signals", "rfc7540"], "at= is sent as PRIORITY_UPDATE, which RFC 7540", 2),
        (&["http://a/", "--jsn"], "there is no option --jsn; did you mean --json?", 2),
    ];
    for (arguments, expected, code) in cases {
        let found = waterfall(arguments);
        let line = line(&found);
        assert!(line.starts_with(expected), "{arguments:?}: {line}");
        assert_eq!((found.status.code(), &found.stdout[..]), (Some(code), &b""[..]), "{arguments:?}");
    }
    let advice = "; -k goes on without checking the certificate, --ca FILE trusts another authority";
    for arguments in [&[&https[..]][..], &["--http3", &https]] {
        let line = line(&waterfall(arguments));
        let reason = "the peer's certificate is self-signed, and not trusted here";
        assert!(line.starts_with("cannot connect to ") && line.ends_with(&format!("{reason}{advice}")), "{line}");
    }
}

/// A server that sends these bytes as soon as a connection comes, and no more; its address.
fn canned(frames: &'static [&[u8]], end: impl FnOnce(&mut TcpStream) + Send + 'static) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // The requests are there: the first frames leave together.
        let length = stream.read(&mut [0; 4096]).unwrap();
        assert!(length > 24, "a preface of 24 bytes, and requests");
        stream.write_all(&frames.concat()).unwrap();
        end(&mut stream);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (format!("http://{address}"), thread)
}

/// RFC 9113 §6.5, empty.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// HEADERS of the first stream: `:status: 200`.
const HEAD: &[u8] = &[0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
/// DATA of the first stream: two bytes, not the last.
const DATA: &[u8] = &[0, 0, 2, 0, 0, 0, 0, 0, 1, b'a', b'b'];
/// RST_STREAM of the second: INTERNAL_ERROR.
const RESET: &[u8] = &[0, 0, 4, 3, 0, 0, 0, 0, 3, 0, 0, 0, 2];

#[test]
fn bytes_that_came_before_the_end_are_drawn() {
    let (url, server) = canned(&[SETTINGS, HEAD, DATA, RESET], |stream| stream.shutdown(Shutdown::Write).unwrap());
    let found = waterfall(&[&format!("{url}/first"), "/second,u=1", "/third,after=1m"]);
    server.join().unwrap();
    assert_eq!(found.status.code(), Some(1));
    assert_eq!(line(&found), "3 of 3 did not come whole");
    let text = stdout(&found);
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("The connection ended after ") && last.ends_with(": the server closed the connection."));
    for (name, outcome, bytes) in
        [("/first", "not whole", " 2"), ("/second", "reset: INTERNAL_ERROR", " 0"), ("/third", "not asked for", " 0")]
    {
        let row = text.lines().find(|line| line.starts_with(name) && line.contains(outcome));
        assert!(row.is_some_and(|row| row.ends_with(bytes)), "{text}");
    }
}

#[test]
fn a_silent_server_is_given_up_after_the_timeout() {
    let (url, server) = canned(&[SETTINGS, HEAD, DATA], |_| {});
    let found = waterfall(&[&url, "--timeout", "100ms"]);
    server.join().unwrap();
    assert_eq!((found.status.code(), line(&found).as_str()), (Some(1), "1 of 1 did not come whole"));
    assert!(stdout(&found).ends_with(": nothing came for 100 ms.\n"), "{}", stdout(&found));
}

#[test]
fn bytes_that_came_before_ctrl_c_are_drawn() {
    let (sender, process) = mpsc::channel();
    let (url, server) = canned(&[SETTINGS, HEAD, DATA], move |stream| {
        // A client that acknowledges the settings has read the response that came with them.
        let mut received = Vec::new();
        while !received.ends_with(&[0, 0, 0, 4, 1, 0, 0, 0, 0]) {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            received.extend(byte);
        }
        kill_process(process.recv().unwrap(), Signal::INT).unwrap();
    });
    let mut command = serow(["bench", "waterfall", &url]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sender.send(Pid::from_child(&child)).unwrap();
    let found = child.wait_with_output().unwrap();
    server.join().unwrap();
    assert_eq!((found.status.code(), line(&found).as_str()), (Some(1), "1 of 1 did not come whole"));
    let text = stdout(&found);
    assert!(
        text.lines().last().unwrap().starts_with("Stopped after ") && text.contains("not whole      2\n"),
        "{text}"
    );
}
