//! `serow supervise` with real workers: shells, and Serow itself.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpListener,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
};

use crate::running::{TIMEOUT, eventually, output, serow};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A supervisor with its files in a folder; told to stop at the end of the test.
struct Supervisor {
    child: Child,
    folder: TempDir,
}

impl Supervisor {
    /// Starts one with these options and this command, and waits until its workers are up. `{}` is its folder.
    fn start(options: &[&str], command: &[&str]) -> Self {
        let supervisor = Self::start_in(tempfile::tempdir().unwrap(), options, command);
        wait_for("a status", || supervisor.read("status").is_some());
        supervisor
    }

    fn start_in(folder: TempDir, options: &[&str], command: &[&str]) -> Self {
        let path = folder.path().to_str().unwrap();
        let words = options.iter().chain(&["--"]).chain(command).map(|word| word.replace("{}", path));
        let files = ["supervise", "--pid-file={}/pid", "--status-file={}/status"].map(|word| word.replace("{}", path));
        let mut serow = serow(files.into_iter().chain(words));
        serow.stderr(File::create(folder.path().join("log")).unwrap());
        Self { child: serow.spawn().unwrap(), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// The lines of the log, where `PID` stands for all process ids.
    fn log(&self) -> String {
        let text = self.read("log").unwrap();
        let is_pid = |word: &&str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_digit());
        let words = text.split_inclusive(|character: char| !character.is_ascii_alphanumeric()).map(|word| {
            let bare = word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
            if is_pid(&bare) { word.replace(bare, "PID") } else { word.to_owned() }
        });
        words.collect()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// `--restart` or `--stop`.
    fn control(&self, what: &str) -> Output {
        let (pid_file, status_file) = (self.path("pid"), self.path("status"));
        let files = ["--pid-file", pid_file.to_str().unwrap(), "--status-file", status_file.to_str().unwrap()];
        output(["supervise", what].iter().chain(&files))
    }

    /// The worker's environment, which it wrote into a file with the number of its generation behind the name.
    fn environment(&self, generation: u32) -> Vec<(String, String)> {
        let name = format!("environment.{generation}");
        wait_for(&name, || self.read(&name).is_some_and(|text| text.contains("COMPLETE=")));
        let text = self.read(&name).unwrap();
        text.lines().filter_map(|line| line.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
    }
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    eventually(what, || condition().then_some(()));
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
        eprintln!("{}", self.read("log").unwrap_or_default());
    }
}

/// A worker that writes its environment into a file, and lives on.
const ENVIRONMENT: [&str; 3] =
    ["sh", "-c", "(env; echo COMPLETE=) > {}/environment.$SERVER_STARTER_GENERATION; exec sleep 1000"];

fn value<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    environment.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

fn error_of(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The status line of the answer to a request at a unix socket.
fn ask(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn workers_are_told_of_their_sockets() {
    let options = ["--port=127.0.0.1:0", "--port", "[127.0.0.1]:u0", "--path={}/a.sock", "--interval=50ms"];
    let supervisor = Supervisor::start(&options, &ENVIRONMENT);
    let environment = supervisor.environment(1);
    let path = supervisor.path("a.sock").display().to_string();
    let status = supervisor.read("status").unwrap();
    let pid = status.trim_end().strip_prefix("1:").unwrap();
    let expected = [
        ("SERVER_STARTER_PORT", format!("127.0.0.1:0=3;127.0.0.1:0=4;{path}=5")),
        ("SERVER_STARTER_GENERATION", "1".to_owned()),
        ("LISTEN_FDS", "3".to_owned()),
        ("LISTEN_PID", pid.to_owned()),
        ("LISTEN_FDNAMES", format!("127.0.0.1-0:127.0.0.1-0:{path}")),
    ];
    for (name, expected) in expected {
        assert_eq!(value(&environment, name), Some(expected.as_str()), "{name}");
    }
    assert!(value(&environment, "NOTIFY_SOCKET").is_some_and(|address| address.starts_with('@')));
}

#[test]
fn a_socket_is_where_it_is_wanted() {
    let options = ["--port=127.0.0.1:0=7", "--port=127.0.0.1:0=12", "--interval=50ms"];
    let supervisor = Supervisor::start(&options, &ENVIRONMENT);
    let environment = supervisor.environment(1);
    assert_eq!(value(&environment, "SERVER_STARTER_PORT"), Some("127.0.0.1:0=7;127.0.0.1:0=12"));
    assert_eq!(value(&environment, "LISTEN_FDS"), None);
    assert!(supervisor.read("log").unwrap().contains("socket is duplicated to file descriptor 12\n"));
}

#[test]
fn a_stale_socket_is_replaced_by_one_for_everybody() {
    let folder = tempfile::tempdir().unwrap();
    drop(UnixListener::bind(folder.path().join("a.sock")).unwrap());
    let supervisor = Supervisor::start_in(folder, &["--path={}/a.sock", "--interval=50ms"], &["sleep", "1000"]);
    wait_for("a status", || supervisor.read("status").is_some());
    let socket = supervisor.path("a.sock");
    let line = format!("removing existing socket file:{}\n", socket.display());
    assert!(supervisor.read("log").unwrap().contains(&line));
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o777);
    UnixStream::connect(&socket).unwrap();
}

#[test]
fn a_server_is_replaced_and_no_request_is_lost() {
    let folder = crate::running::site();
    let site = folder.path().to_str().unwrap();
    let binary = env!("CARGO_BIN_EXE_serow");
    // It says that it is ready; otherwise this would take two minutes.
    let options = ["--path={}/a.sock", "--interval=120"];
    let mut supervisor = Supervisor::start(&options, &[binary, "files", site, "--workers", "1"]);
    let socket = supervisor.path("a.sock");
    thread::scope(|scope| {
        let restarts =
            scope.spawn(|| (0..3).map(|_| supervisor.control("--restart").status.code()).collect::<Vec<_>>());
        let mut answers = 0;
        while !restarts.is_finished() || answers < 10 {
            assert_eq!(ask(&socket), "HTTP/1.1 200 OK");
            answers += 1;
        }
        assert_eq!(restarts.join().unwrap(), [Some(0); 3]);
    });
    let status = supervisor.read("status").unwrap();
    assert!(status.starts_with("4:") && status.lines().count() == 1, "{status}");
    assert_eq!(supervisor.control("--stop").status.code(), Some(0));
    assert!(supervisor.child.wait().unwrap().success());
    for name in ["pid", "status", "a.sock"] {
        assert!(!supervisor.path(name).exists(), "{name}");
    }
}

#[test]
fn the_log_says_what_happens() {
    let command = ["sh", "-c", "trap 'exit 3' USR2; trap 'exit 4' TERM; while :; do sleep 0.01; done"];
    let mut supervisor = Supervisor::start(&["--interval=200ms", "--signal-on-hup=sigusr2"], &command);
    supervisor.signal(Signal::HUP);
    wait_for("the old one's end", || supervisor.log().contains("old worker PID died"));
    supervisor.signal(Signal::INT);
    assert!(supervisor.child.wait().unwrap().success());
    let expected = "\
start_server (pid:PID) starting now...
starting new worker PID
received HUP, spawning a new worker
starting new worker PID
new worker is now running, sending USR2 to old workers:PID
killing old workers
old worker PID died, status:PID
received INT, sending TERM to all workers:PID
worker PID died, status:PID
exiting
";
    assert_eq!(supervisor.log(), expected);
    let log = supervisor.read("log").unwrap();
    assert!(log.contains("status:768\n") && log.contains("status:1024\n"), "{log}");
}

#[test]
fn a_restart_that_fails_comes_back_and_says_so() {
    let worker = "test $SERVER_STARTER_GENERATION -gt 1 && test -e {}/broken && exit 3; exec sleep 1000";
    // A worker that lives longer than this counts as started, also where the shell is slow because the machine is busy.
    let interval = ["--interval=1s"];
    let supervisor = Supervisor::start(&interval, &["sh", "-c", worker]);
    fs::write(supervisor.path("broken"), "").unwrap();
    let output = supervisor.control("--restart");
    assert_eq!(output.status.code(), Some(1));
    let line = error_of(&output);
    let (times, rest) = line.strip_prefix("serow: the new worker failed to start ").unwrap().split_once(' ').unwrap();
    // A machine with much else to do looks a little later.
    assert!(times.parse::<u32>().unwrap() >= 5, "{line}");
    assert!(rest.starts_with("times, the last time with exit status:768;"), "{line}");
    assert!(supervisor.read("status").unwrap().starts_with("1:"));
    fs::remove_file(supervisor.path("broken")).unwrap();
    wait_for("the next start", || supervisor.read("status").is_some_and(|status| !status.starts_with("1:")));
    // A few failures are no reason to give up.
    let twice = "test $SERVER_STARTER_GENERATION -gt 1 -a $SERVER_STARTER_GENERATION -lt 4 && exit 3; exec sleep 1000";
    let supervisor = Supervisor::start(&interval, &["sh", "-c", twice]);
    assert_eq!(supervisor.control("--restart").status.code(), Some(0));
    assert!(supervisor.read("status").unwrap().starts_with("4:"));
    assert!(!supervisor.path("status.failure").exists());
}

#[test]
fn variables_of_files_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let variables = folder.path().join("variables");
    fs::create_dir(&variables).unwrap();
    fs::write(variables.join("A"), "1\nmore").unwrap();
    fs::write(variables.join("B"), "1").unwrap();
    let options = ["--interval=50ms", "--envdir={}/variables"];
    let supervisor = Supervisor::start_in(folder, &options, &ENVIRONMENT);
    let environment = supervisor.environment(1);
    assert_eq!((value(&environment, "A"), value(&environment, "B")), (Some("1"), Some("1")));
    assert_eq!(value(&environment, "ENVDIR"), variables.to_str());
    fs::write(variables.join("A"), "2").unwrap();
    fs::remove_file(variables.join("B")).unwrap();
    wait_for("a status", || supervisor.read("status").is_some());
    supervisor.signal(Signal::HUP);
    let environment = supervisor.environment(2);
    assert_eq!((value(&environment, "A"), value(&environment, "B")), (Some("2"), None));
}

#[test]
fn in_the_background_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--daemonize", "--log-file={}/daemon.log", "--path={}/a.sock", "--interval=50ms", "--dir={}"];
    let mut supervisor =
        Supervisor::start_in(folder, &options, &["sh", "-c", "readlink /proc/self/fd/0; pwd; exec sleep 1000"]);
    assert!(supervisor.child.wait().unwrap().success());
    wait_for("a status", || supervisor.read("status").is_some());
    let pid = supervisor.read("pid").unwrap();
    assert_ne!(pid.trim_end(), supervisor.child.id().to_string());
    assert!(supervisor.path("a.sock").exists());
    let folder = supervisor.folder.path().canonicalize().unwrap();
    let said = format!("/dev/null\n{}\n", folder.display());
    wait_for("what the command says", || supervisor.read("daemon.log").is_some_and(|log| log.contains(&said)));
    let second = supervisor.control("--daemonize");
    assert_eq!(second.status.code(), Some(2), "no command");
    assert_eq!(supervisor.control("--stop").status.code(), Some(0));
    assert!(!supervisor.path("pid").exists() && !supervisor.path("a.sock").exists());
}

#[test]
fn a_worker_has_to_answer() {
    let folder = crate::running::site();
    let site = folder.path().to_str().unwrap();
    let worker = [env!("CARGO_BIN_EXE_serow"), site, "--workers", "1"];
    let health = |page: &str| format!("--health-url=http://unix:{{}}/a.sock:/{page}");
    let supervisor = Supervisor::start(&["--path={}/a.sock", "--interval=120", &health("a.txt")], &worker);
    assert!(supervisor.read("status").unwrap().starts_with("1:"));
    let options = ["--path={}/a.sock", "--interval=50ms", "--start-timeout=300ms", &health("none?{generation}")];
    let supervisor = Supervisor::start_in(tempfile::tempdir().unwrap(), &options, &worker);
    let line = "new worker PID is not healthy after 0.3 secs, sending KILL\n";
    wait_for(line, || supervisor.log().contains(line));
    assert_eq!(supervisor.read("status"), None);
}

#[test]
fn several_workers_run_at_a_time() {
    let supervisor = Supervisor::start(&["--workers=3", "--interval=50ms"], &["sleep", "1000"]);
    let status = supervisor.read("status").unwrap();
    assert_eq!(status.lines().filter(|line| line.starts_with("1:")).count(), 3, "{status}");
    assert_eq!(supervisor.control("--restart").status.code(), Some(0));
    let status = supervisor.read("status").unwrap();
    assert_eq!(status.lines().filter(|line| line.starts_with("2:")).count(), 3, "{status}");
    let (_, first) = status.lines().next().unwrap().split_once(':').unwrap();
    kill_process(Pid::from_raw(first.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let is_whole = |status: &String| status.lines().count() == 3 && status.contains("3:");
    wait_for("a third generation", || supervisor.read("status").as_ref().is_some_and(is_whole));
}

#[test]
fn it_answers_to_the_name_of_start_server() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("start_server");
    symlink(env!("CARGO_BIN_EXE_serow"), &name).unwrap();
    let run = |arguments: &[&str]| Command::new(&name).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(String::from_utf8(run(&["--version"]).stdout).unwrap().contains("start_server"));
    assert!(String::from_utf8(run(&["--help"]).stdout).unwrap().contains("--signal-on-hup"));
    // Without -- too, as in Server::Starter's first example; all behind the command is the command's.
    let log = format!("--log-f={}", folder.path().join("log").display());
    let script = "echo \"$0 $*\"; kill -TERM $PPID; exec sleep 1000";
    let output = run(&[&log, "--interval=10ms", "sh", "-c", script, "--port=80", "--", "--stop"]);
    assert!(output.status.success(), "{}", error_of(&output));
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("--port=80 -- --stop\n") && log.ends_with("\nexiting\n"), "{log}");
}

#[test]
fn workers_keep_the_limit_of_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limit");
    let script = format!(
        "ulimit -Sn 256; exec {} supervise -- sh -c 'ulimit -Sn > {}; kill -TERM $PPID; exec sleep 9'",
        env!("CARGO_BIN_EXE_serow"),
        file.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", error_of(&output));
    assert_eq!(fs::read_to_string(file).unwrap(), "256\n");
}

#[test]
fn a_worker_ends_with_a_supervisor_that_is_killed() {
    let worker = "trap 'echo told > {}/told; exit' USR1; echo ready > {}/ready; while :; do sleep 0.05; done";
    let options = ["--port=127.0.0.1:0", "--interval=50ms", "--signal-on-term=USR1"];
    let supervisor = Supervisor::start(&options, &["sh", "-c", worker]);
    wait_for("the trap", || supervisor.read("ready").is_some());
    supervisor.signal(Signal::KILL);
    wait_for("the signal", || supervisor.read("told").is_some());
}

#[test]
fn a_second_signal_kills_workers_that_ignore_the_first() {
    let worker = ["sh", "-c", "trap '' TERM; echo ready > {}/ready; exec sleep 1000"];
    let supervisor = Supervisor::start(&["--interval=50ms"], &worker);
    wait_for("the trap", || supervisor.read("ready").is_some());
    wait_for("the end", || {
        supervisor.signal(Signal::TERM);
        supervisor.read("pid").is_none()
    });
    let log = supervisor.log();
    assert!(log.contains("received TERM again, sending KILL to all workers:PID\n"), "{log}");
}

#[test]
fn invalid_options_and_failed_starts_are_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "123\n").unwrap();
    let file = file.to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let cases: [(&[&str], i32, &str); 14] = [
        (&[], 2, "the command is missing; write it behind --"),
        (&["--port", "x", "--", "a"], 2, "--port: \"x\" is not a port: a port is a number from 0 to 65535"),
        (&["--port=1=2", "--", "a"], 2, "--port: \"1=2\" is not a port: descriptors 1 and 2 are for output"),
        (&["--interval=soon", "--", "a"], 2, "--interval: \"soon\" is not a time: write a number of seconds"),
        (&["--signal-on-hup=NO", "--", "a"], 2, "--signal-on-hup: unknown signal \"NO\": use a name"),
        (&["--workers=0", "--", "a"], 2, "--workers: \"0\" is not a whole number from 1 to 1024"),
        (&["--health-url=ftp://a", "--", "a"], 2, "--health-url: \"ftp://a\" is not one of http:// and https://"),
        (&["--daemonize", "--", "a"], 2, "--daemonize needs --log-file too"),
        (&["--restart", "--pid-file=a"], 2, "--restart needs --status-file too"),
        (&["--stop"], 2, "--stop needs --pid-file too"),
        (&["--prot=80", "--", "a"], 2, "there is no option --prot; did you mean --port?"),
        (&["--stop", "--pid-file", file], 1, &format!("--pid-file {file}: no running supervisor holds it")),
        (&["--port", &port, "--", "a"], 1, &format!("failed to bind to {port}: it is in use by another program")),
        (&["--path", file, "--", "a"], 1, &format!("failed to listen to file {file}: there is a file that is")),
    ];
    for (arguments, code, expected) in cases {
        let output = output(["supervise"].iter().chain(arguments));
        let said = error_of(&output);
        let line = said.lines().last().unwrap_or_default().strip_prefix("serow: ").unwrap();
        assert!(line.starts_with(expected), "{line}");
        assert_eq!(output.status.code(), Some(code), "{line}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "123\n", "nobody wrote into it");
}

#[test]
fn a_command_that_is_not_there_fails_to_start() {
    let options = ["--interval=50ms"];
    let supervisor = Supervisor::start_in(tempfile::tempdir().unwrap(), &options, &["/nowhere/at/all"]);
    wait_for("two failures", || supervisor.read("log").is_some_and(|log| log.matches("failed to start").count() > 1));
    let log = supervisor.read("log").unwrap();
    assert!(log.contains("failed to exec /nowhere/at/all: No such file or directory"), "{log}");
    assert!(log.contains("seems to have failed to start, exit status:65280\n"), "{log}");
}
