//! The lines of `serow files` for people: one for each request, if standard error is a terminal.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::running::{Running, eventually, exchange, serow, site};
use rustix::process::{Pid, Signal, kill_process};

/// A server whose standard error is a terminal: that of script(1), which is on every Linux.
struct OnTerminal {
    script: Child,
    lines: BufReader<ChildStdout>,
    server: Pid,
    address: String,
}

impl OnTerminal {
    fn start(folder: &Path, options: &str) -> Self {
        Self::of("\"$FOLDER\"", folder, options)
    }

    /// With these words behind the program's name.
    fn of(words: &str, folder: &Path, options: &str) -> Self {
        let program = serow([""; 0]).get_program().to_owned();
        let line = format!("echo $$; exec \"$PROGRAM\" {words} --listen 127.0.0.1:0 --workers 1");
        let mut command = Command::new("script");
        command.args(["-qec", &format!("{line} {options}"), "/dev/null"]).env("SHELL", "/bin/sh");
        command.env("PROGRAM", program).env("FOLDER", folder).env_remove("NO_COLOR").env_remove("PORT");
        let mut script = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(script.stdout.take().unwrap());
        let (number, mut announcement) = (line_of(&mut lines), line_of(&mut lines));
        while !announcement.starts_with("Serving ") {
            announcement = line_of(&mut lines);
        }
        let (_, url) = announcement.rsplit_once("http://").unwrap();
        let server = Pid::from_raw(number.parse().unwrap()).unwrap();
        Self { script, lines, server, address: url.trim_end_matches('/').to_owned() }
    }

    fn line(&mut self) -> String {
        line_of(&mut self.lines)
    }

    fn get(&self, path: &str) -> u16 {
        exchange(TcpStream::connect(&self.address).unwrap(), path, "").status()
    }

    /// All that is written from here to the end of the server, which gets TERM.
    fn rest(&mut self) -> String {
        kill_process(self.server, Signal::TERM).unwrap();
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = kill_process(self.server, Signal::KILL);
        let _ = self.script.wait();
    }
}

fn line_of(lines: &mut impl BufRead) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn requests_are_shown_on_a_terminal() {
    let folder = site();
    let mut server = OnTerminal::start(folder.path(), "");
    assert_eq!(server.get("/a.txt"), 200);
    let line = server.line();
    assert!(line.starts_with("GET /a.txt \u{1b}[32m200\u{1b}[0m 1 B ") && line.ends_with(" ms"), "{line:?}");
    assert_eq!(server.get("/missing"), 404);
    let line = server.line();
    assert!(line.contains("WARN") && line.contains("GET /missing: no file "), "{line:?}");
    assert!(server.line().starts_with("GET /missing \u{1b}[33m404\u{1b}[0m "));
}

#[test]
fn requests_are_not_shown_if_nobody_wants_the_lines() {
    let folder = site();
    let log = folder.path().join("access.log");
    for options in ["-q", "--quiet", &format!("--access-log {}", log.display())] {
        let mut server = OnTerminal::start(folder.path(), options);
        server.get("/a.txt");
        assert_eq!(server.rest(), "", "{options:?}");
    }
    let written = std::fs::read_to_string(log).unwrap();
    assert!(written.contains("GET /a.txt HTTP/1.1"), "{written}");
}

#[test]
fn a_proxy_and_an_application_show_requests_on_a_terminal_as_well() {
    let folder = site();
    let upstream = Running::start(folder.path(), &[]);
    let proxy = format!("proxy {}", upstream.address());
    let mut server = OnTerminal::of(&proxy, folder.path(), "");
    assert_eq!(server.get("/a.txt"), 200);
    let line = server.line();
    assert!(line.starts_with("GET /a.txt \u{1b}[32m200\u{1b}[0m 1 B ") && line.ends_with(" ms"), "{line:?}");
    let mut server = OnTerminal::of(&proxy, folder.path(), "--quiet");
    server.get("/a.txt");
    assert_eq!(server.rest(), "");
    let program = "--processes 1 -- \"$PROGRAM\" \"$FOLDER\" --listen 127.0.0.1:{port}";
    let mut server = OnTerminal::of("app", folder.path(), program);
    assert_eq!(server.get("/a.txt"), 200);
    eventually("the request is shown", || server.line().starts_with("GET /a.txt \u{1b}[32m200").then_some(()));
}

#[test]
fn applications_of_root_are_a_warning_that_names_the_remedy() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root");
    }
    let folder = site();
    let program = serow([""; 0]).get_program().to_str().unwrap().to_owned();
    let words = ["--processes", "1", "--", &program, ".", "--listen", "127.0.0.1:{port}"];
    let command = serow(["app", "--listen", "127.0.0.1:0"].iter().chain(&words));
    let settings = format!(
        "listen = \"127.0.0.1:0\"\n[[site]]\napp = {{ command = [{program:?}, \".\", \"--listen\", \"127.0.0.1:{{port}}\"] }}\n"
    );
    std::fs::write(folder.path().join("serow.toml"), settings).unwrap();
    for (mut command, expected) in [(command, "runuser -u www-data"), (serow(["run"]), "user = \"www-data\"")] {
        let mut server = command.current_dir(folder.path()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
        let lines: Vec<_> = lines.take_while(|line| !line.contains("Serving ")).collect();
        kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
        server.wait().unwrap();
        let warnings: Vec<_> = lines.iter().filter(|line| line.contains("as root")).collect();
        assert!(matches!(&warnings[..], [warning] if warning.contains(expected)), "{lines:?}");
    }
}
