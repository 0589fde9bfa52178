//! The real binary, running, and a client as simple as can be.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    cell::RefCell,
    collections::VecDeque,
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Long enough for a machine with much else to do.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A folder with a few files in it.
pub(crate) fn site() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.html"), "<h1>Hello</h1>").unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    folder
}

/// The binary with arguments.
pub(crate) fn serow<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serow"));
    command.args(arguments).stdin(Stdio::null()).env_remove("NO_COLOR");
    // The certificate for development of whoever runs the tests is none of theirs.
    command.env_remove("PORT").env_remove("WEB_CONCURRENCY");
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("STATE_DIRECTORY");
    // Nor are the sockets of servers without `admin`.
    command.env("RUNTIME_DIRECTORY", concat!(env!("CARGO_TARGET_TMPDIR"), "/run"));
    command
}

/// Runs it to its end.
pub(crate) fn output<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    serow(arguments).output().unwrap()
}

/// A URL with the address of this machine in place of the host of a site.
fn local(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, rest) = rest.split_at(rest.find([':', '/']).unwrap_or(rest.len()));
    let is_address = host.starts_with(|first: char| first.is_ascii_digit() || first == '[') || host == "localhost";
    if is_address { url.to_owned() } else { format!("{scheme}://127.0.0.1{rest}") }
}

/// A server that runs; it is killed at the end of the test.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// The line that it printed.
    pub(crate) announcement: String,
    /// The URLs in it, with the address of this machine in place of the hosts of sites.
    urls: Vec<String>,
    lines: Receiver<String>,
    /// Lines that came before the announcement, and were not asked for yet: threads of the server write them at any time.
    early: RefCell<VecDeque<String>>,
}

impl Running {
    /// Serves a folder at a port of the system's choice.
    pub(crate) fn start(folder: &Path, options: &[&str]) -> Self {
        let mut command = serow([folder]);
        command.args(["--listen", "127.0.0.1:0", "--workers", "1"]).args(options);
        Self::of(command)
    }

    /// Starts a command and waits for its line with the URLs.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.split(b'\n') {
                let line = String::from_utf8_lossy(&line.unwrap()).into_owned();
                // Shown where the test fails.
                eprintln!("serow: {line}");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut running =
            Self { child, announcement: String::new(), urls: Vec::new(), lines, early: RefCell::default() };
        let mut early = VecDeque::new();
        running.announcement = running.next_line_with("Serving ", |line| early.push_back(line));
        running.early = RefCell::new(early);
        let urls = running.announcement.rsplit_once(" at ").unwrap().1.split(" and ");
        running.urls = urls.filter(|url| !url.ends_with(" more")).map(local).collect();
        running.urls.dedup();
        running
    }

    /// Waits for a line of standard error; lines before it are thrown away.
    pub(crate) fn line_with(&self, text: &str) -> String {
        self.early_line_with(text).unwrap_or_else(|| self.next_line_with(text, drop))
    }

    fn early_line_with(&self, text: &str) -> Option<String> {
        let mut early = self.early.borrow_mut();
        std::iter::from_fn(|| early.pop_front()).find(|line| line.contains(text))
    }

    fn next_line_with(&self, text: &str, mut other: impl FnMut(String)) -> String {
        loop {
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => other(line),
                Err(error) => panic!("no line with {text:?}: {error}"),
            }
        }
    }

    /// Whether a line with this text has come by now; lines before it are thrown away.
    pub(crate) fn warned(&self, text: &str) -> Option<()> {
        let line = self.early_line_with(text).or_else(|| self.lines.try_iter().find(|line| line.contains(text)));
        line.map(drop)
    }

    /// All lines of standard error up to its end.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        self.early.take().into_iter().chain(&self.lines).collect()
    }

    /// The URLs that were printed.
    pub(crate) fn urls(&self) -> Vec<&str> {
        self.urls.iter().map(String::as_str).collect()
    }

    /// Host and port of the first URL.
    pub(crate) fn address(&self) -> &str {
        self.urls[0].trim_start_matches("http://").trim_end_matches('/')
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Asks for a path on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(path, "")
    }

    /// Asks for a path with more header lines.
    pub(crate) fn ask(&self, path: &str, headers: &str) -> Answer {
        exchange(self.connect(), path, headers)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Tells it to stop and waits for its end.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Takes a whole response apart.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a whole head");
        Self { head: String::from_utf8(bytes[..end].to_vec()).unwrap(), body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// One request and its response, after which the connection closes.
pub(crate) fn exchange(mut stream: impl Read + Write, path: &str, headers: &str) -> Answer {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n").unwrap();
    received(stream)
}

/// The same with these header lines only, of which one is the host.
pub(crate) fn exchange_as(mut stream: impl Read + Write, path: &str, headers: &str) -> Answer {
    write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").unwrap();
    received(stream)
}

/// The response: all bytes until the connection closes.
pub(crate) fn received(mut stream: impl Read) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    Answer::parse(&bytes)
}

/// Waits until something is so.
pub(crate) fn eventually<T>(what: &str, mut question: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = question() {
            return answer;
        }
        assert!(start.elapsed() < TIMEOUT, "it never happened: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a file has so many lines.
pub(crate) fn lines_of(file: &PathBuf, count: usize) -> Vec<String> {
    eventually(&format!("{count} lines in {}", file.display()), || {
        let text = fs::read_to_string(file).ok()?;
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        (lines.len() >= count && text.ends_with('\n')).then_some(lines)
    })
}
