//! The access log: its formats, its files, and what becomes of it where it cannot be written.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    net::UdpSocket,
    path::Path,
    process::Stdio,
};

use crate::running::{Running, TIMEOUT, eventually, lines_of, output, received, serow, site};
use rustix::process::{Pid, Signal, getpgid};

/// Header fields that a hostile client might send to forge a line.
const HOSTILE: &str = "Referer: \" 200 1 \"\r\nUser-Agent: \x1b[31m\u{e9}\\\x01\r\n";

fn logging(folder: &Path, log: &Path, format: &str) -> Running {
    Running::start(folder, &["--access-log", log.to_str().unwrap(), "--access-log-format", format])
}

#[test]
fn combined() {
    let folder = site();
    let log = folder.path().join("access.log");
    let server = logging(folder.path(), &log, "combined");
    server.ask("/a.txt?q=%22", "Referer: http://a/\r\nUser-Agent: test/1\r\n");
    let line = lines_of(&log, 1).remove(0);
    let (before, rest) = line.split_once(" [").unwrap();
    let (time, rest) = rest.split_once("] ").unwrap();
    assert_eq!(before, "127.0.0.1 - -");
    assert_eq!(time.len(), "06/Nov/1994:08:49:37 +0000".len());
    assert!(time.ends_with(" +0000"));
    assert_eq!(rest, r#""GET /a.txt?q=%22 HTTP/1.1" 200 1 "http://a/" "test/1""#);
    server.get("/missing");
    assert!(lines_of(&log, 2)[1].contains(r#""GET /missing HTTP/1.1" 404 "#));
    drop(server);

    // It is appended to.
    let server = logging(folder.path(), &log, "combined");
    let mut stream = server.connect();
    write!(stream, "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nReferer: \" 200 1 \"\r\n").unwrap();
    stream.write_all(b"User-Agent: \xff\xc3\xa9\\\t\r\n\r\n").unwrap();
    received(stream);
    let lines = lines_of(&log, 3);
    assert_eq!(lines.len(), 3);
    assert!(lines[2].ends_with(r#" 200 1 "\x22 200 1 \x22" "\xFF\xC3\xA9\x5C""#), "{}", lines[2]);
}

#[test]
fn json() {
    let folder = site();
    let log = folder.path().join("access.log");
    let server = logging(folder.path(), &log, "json");
    server.ask("/a.txt", "User-Agent: \"\\ \u{e9}\r\n");
    let line = lines_of(&log, 1).remove(0);
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    let expected = [
        ("method", "GET".into()),
        ("target", "/a.txt".into()),
        ("host", "localhost".into()),
        ("version", "HTTP/1.1".into()),
        ("status", 200.into()),
        ("bytes", 1.into()),
        ("whole", true.into()),
        ("referer", serde_json::Value::Null),
        ("user_agent", "\"\\ \u{e9}".into()),
    ];
    for (key, value) in expected {
        assert_eq!(object[key], value, "{key}");
    }
    assert!(object["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(object["time"].as_str().unwrap().ends_with('Z'));
    assert!(object["duration"].as_f64().unwrap() < 10.0);
    assert_eq!(object.as_object().unwrap().len(), 12);
}

#[test]
fn a_format_of_ones_own() {
    let folder = site();
    let log = folder.path().join("access.log");
    let format =
        "$remote_addr|$server_addr:$server_port|$request|$status|$http_x_id|$sent_http_etag|$connection_requests";
    let server = logging(folder.path(), &log, format);
    let answer = server.ask("/a.txt?q", "X-Id: 7\r\n");
    let (port, etag) = (server.address().rsplit_once(':').unwrap().1, answer.field("etag").unwrap());
    let expected = format!("127.0.0.1|127.0.0.1:{port}|GET /a.txt?q HTTP/1.1|200|7|{}|1", etag.replace('"', "\\x22"));
    assert_eq!(lines_of(&log, 1), [expected]);
}

#[test]
fn a_command_has_every_line() {
    let folder = site();
    let log = folder.path().join("access.log");
    let mut server = Running::start(folder.path(), &["--access-log", &format!("| cat >>{}", log.display())]);
    server.get("/a.txt?1");
    // While it runs, and not only at its end.
    assert!(lines_of(&log, 1)[0].contains("GET /a.txt?1 HTTP/1.1"));
    server.get("/a.txt?2");
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(lines_of(&log, 0).len(), 2);
    assert_eq!(server.last_lines(), [""; 0]);
}

#[test]
fn a_command_has_nothing_of_the_server() {
    let folder = site();
    let (pid, log) = (folder.path().join("pid"), folder.path().join("access.log"));
    let command = format!("| echo $$ >{}; cat >>{}", pid.display(), log.display());
    let server = Running::start(folder.path(), &["--access-log", &command]);
    server.get("/1");
    lines_of(&log, 1);
    let pid: i32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    // The server may keep the keys of TLS: only root sees its descriptors (PR_SET_DUMPABLE).
    let readable = fs::read_dir(format!("/proc/{}/fd", server.child.id()));
    if !serow_requirements::is_permitted(&readable, "reading the server's descriptors") {
        return;
    }
    let sockets = |process: u32| -> BTreeSet<_> {
        let descriptors = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        let opened = descriptors.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        opened.filter(|opened| opened.to_str().unwrap().starts_with("socket:")).collect()
    };
    let of_the_server = &sockets(server.child.id()) - &sockets(std::process::id());
    assert!(!of_the_server.is_empty());
    assert!(sockets(pid.as_raw_nonzero().get() as u32).is_disjoint(&of_the_server));
    // Ctrl-C in the terminal is for the server.
    assert_eq!(getpgid(Some(pid)).unwrap(), pid);
}

#[test]
fn messages_for_syslog() {
    let folder = site();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let address = format!("syslog:udp://{}?tag=web&severity=notice", socket.local_addr().unwrap());
    let server = Running::start(folder.path(), &["--access-log", &address, "--access-log-format", "$request $status"]);
    server.get("/a.txt");
    let mut buffer = [0; 2048];
    let length = socket.recv(&mut buffer).unwrap();
    let message = std::str::from_utf8(&buffer[..length]).unwrap();
    let fields: Vec<_> = message.splitn(8, ' ').collect();
    let pid = server.child.id().to_string();
    assert_eq!([fields[0], fields[3], fields[4], fields[5], fields[6]], ["<189>1", "web", &pid, "access", "-"]);
    assert_eq!(fields[7], "GET /a.txt HTTP/1.1 200");
    assert_eq!(fields[1].len(), "2026-01-01T00:00:00.000Z".len());
    assert_eq!(fields[2], rustix::system::uname().nodename().to_str().unwrap());
}

#[test]
fn invalid_access_log_options_are_refused_at_the_start() {
    for (option, value, expected) in [
        ("--access-log", "|", "a | has no command behind it: write one, as in '| cat >>access.log'"),
        (
            "--access-log",
            "syslog:udp://",
            r#""syslog:udp://": write nothing (for /dev/log), unix:/path, udp://host:514 or"#,
        ),
        ("--access-log-format", "comined", r#""comined": unknown format; did you mean combined?"#),
        ("--access-log-format", "$stats", r#""$stats": there is no $stats; did you mean $status?"#),
    ] {
        let output = output([option, value]);
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(line.starts_with(&format!("serow: {option}: {expected}")), "{line}");
        assert_eq!((line.lines().count(), output.status.code()), (1, Some(2)));
    }
}

#[test]
fn lines_and_losses_are_counted() {
    let folder = site();
    let admin = format!("unix:{}", folder.path().join("admin.sock").display());
    let (log, fifo) = (folder.path().join("access.log"), folder.path().join("fifo"));
    let counts = || {
        let output = output(["status", "--json", "--admin", &admin]);
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        ["lines", "waiting", "lost"].map(|fate| status["access_log"][fate].as_u64().unwrap())
    };
    for (destination, kept) in [("off", 0), (log.to_str().unwrap(), 3)] {
        let server = Running::start(folder.path(), &["--access-log", destination, "--admin", &admin]);
        (0..3).for_each(|_| drop(server.get("/a.txt")));
        eventually("they are counted", || (counts() == [kept, 0, 0]).then_some(()));
    }
    // A pipe that nobody reads holds some, more wait, and the rest is lost.
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let options = ["--access-log", fifo.to_str().unwrap(), "--admin", &admin, "--max-head", "64k"];
    let mut server = Running::start(folder.path(), &options);
    let requests = 400;
    let agent = format!("User-Agent: {}\r\n", "\u{e9}".repeat(15_000));
    (0..requests).for_each(|_| drop(server.ask("/a.txt", &agent)));
    server.line_with("lines of the access log are lost");
    let [written, waiting, lost] = counts();
    assert!(written == 0 && waiting > 0 && (1..requests).contains(&lost), "{written} {waiting} {lost}");
    // Somebody reads: all that was not lost comes, and then the number is told.
    let reading = fs::File::open(&fifo).unwrap();
    let mut lines = BufReader::new(reading).split(b'\n').map(|line| line.unwrap().len());
    let first = lines.next().unwrap();
    assert!((1..requests - lost).all(|_| lines.next().unwrap() == first));
    assert!(server.line_with("the access log has caught up").contains("lines="));
    assert_eq!(counts(), [requests - lost, 0, lost]);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn control_characters_never_reach_the_log() {
    let folder = site();
    for format in ["combined", "json"] {
        let log = folder.path().join(format);
        let server = logging(folder.path(), &log, format);
        let mut stream = server.connect();
        write!(stream, "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{HOSTILE}\r\n").unwrap();
        received(stream);
        server.get("/a.txt");
        let lines = lines_of(&log, 2);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(!lines.concat().contains(char::is_control), "{lines:?}");
    }
}

#[test]
fn standard_output() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--access-log", "-"]).stdout(Stdio::piped());
    let mut server = Running::of(command);
    let mut lines = BufReader::new(server.child.stdout.take().unwrap()).lines();
    server.get("/a.txt");
    // While it runs, and not only at its end.
    assert!(lines.next().unwrap().unwrap().contains("GET /a.txt HTTP/1.1"));
    server.get("/b.txt");
    server.stop();
    assert!(lines.next().unwrap().unwrap().contains("GET /b.txt HTTP/1.1"));
    assert!(lines.next().is_none());
}

#[test]
fn every_request_of_every_worker_has_a_line() {
    let folder = site();
    let log = folder.path().join("access.log");
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--workers", "3", "--access-log"]).arg(&log);
    let mut server = Running::of(command);
    std::thread::scope(|scope| {
        for client in 0..8 {
            let mut stream = server.connect();
            scope.spawn(move || {
                let request = format!("GET /{client} HTTP/1.1\r\nHost: a\r\nUser-Agent: {}\r\n\r\n", "u".repeat(500));
                stream.write_all(request.repeat(250).as_bytes()).unwrap();
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                let answers = std::io::read_to_string(stream).unwrap();
                assert_eq!(answers.matches("HTTP/1.1 404").count(), 250);
            });
        }
    });
    assert_eq!(server.stop().code(), Some(0));
    let lines = lines_of(&log, 0);
    assert_eq!(lines.len(), 8 * 250);
    assert!(lines.iter().all(|line| line.starts_with("127.0.0.1 - - [") && line.ends_with("uuuu\"")));
}

#[test]
fn a_log_that_was_moved_away_is_opened_again() {
    let folder = site();
    let (log, old) = (folder.path().join("access.log"), folder.path().join("old.log"));
    let server = logging(folder.path(), &log, "combined");
    server.get("/1");
    lines_of(&log, 1);
    fs::rename(&log, &old).unwrap();
    server.get("/2");
    assert_eq!(lines_of(&old, 2).len(), 2);
    server.signal(Signal::USR1);
    eventually("a new file", || log.exists().then_some(()));
    server.get("/3");
    assert!(lines_of(&log, 1)[0].contains("GET /3 "));
    assert_eq!(lines_of(&old, 2).len(), 2);

    // Where that fails, the old file goes on.
    fs::rename(&log, &old).unwrap();
    fs::create_dir(&log).unwrap();
    server.signal(Signal::USR1);
    assert!(server.line_with("cannot open the access log").contains("Is a directory"));
    server.get("/4");
    assert!(lines_of(&old, 2)[1].contains("GET /4 "));
}

#[test]
fn without_a_log_the_signal_to_open_it_again_is_harmless() {
    let folder = site();
    let mut server = Running::start(folder.path(), &[]);
    server.signal(Signal::USR1);
    assert_eq!(server.get("/a.txt").text(), "a");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn the_server_outlives_the_reader_of_its_log() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--access-log", "-"]).stdout(Stdio::piped());
    let mut server = Running::of(command);
    drop(server.child.stdout.take());
    assert_eq!(server.get("/a.txt").text(), "a");
    server.line_with("the access log is closed at its other end");
    for _ in 0..3 {
        assert_eq!(server.get("/a.txt").text(), "a");
    }
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(server.last_lines(), [""; 0], "it is said once");
}

#[test]
fn the_server_outlives_a_full_disk() {
    let folder = site();
    for to_standard_output in [false, true] {
        let mut command = serow([folder.path()]);
        command.args(["--listen", "0", "--workers", "1", "--access-log"]);
        if to_standard_output {
            command.arg("-").stdout(fs::File::create("/dev/full").unwrap());
        } else {
            command.arg("/dev/full");
        }
        let mut server = Running::of(command);
        assert_eq!(server.get("/a.txt").text(), "a");
        assert!(server.line_with("the access log cannot be written").contains("No space left on device"));
        for _ in 0..3 {
            assert_eq!(server.get("/a.txt").text(), "a");
        }
        assert_eq!(server.stop().code(), Some(0));
        let lines = server.last_lines();
        assert!(matches!(&lines[..], [line] if line.contains("lost") && line.contains("lines=4")), "{lines:?}");
    }
}

#[test]
fn a_reader_that_does_not_read_keeps_nobody_waiting() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--workers", "1", "--access-log", "-"]).stdout(Stdio::piped());
    let mut server = Running::of(command);
    // The pipe takes 64 KiB, a request makes 100 times that.
    let agent = format!("User-Agent: {}\r\n", "u".repeat(20_000));
    for _ in 0..50 {
        assert_eq!(server.ask("/a.txt", &agent).text(), "a");
    }
    assert_eq!(server.stop().code(), Some(0));
    server.line_with("nobody reads the access log");
}
