//! `serow run`: from its first line to its last.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        net::UnixStream,
        process::CommandExt,
    },
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::running::{Running, eventually, output, serow, site};
use rustix::{
    fs::{CWD, Mode, mkfifoat},
    process::{Pid, Signal, getuid, kill_process},
};
use serde_json::Value;
use serow_requirements::requires;
use tempfile::TempDir;

/// A server with a settings file, beside the folder that it serves.
struct Run {
    folder: TempDir,
    server: Running,
}

impl Run {
    /// With this text in the file, before the site.
    fn start(extra: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::rename(site().keep(), folder.path().join("site")).unwrap();
        // Where another user goes in too.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.path().join("site"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("logs")).unwrap();
        if getuid().is_root() {
            // The logs are for the user that the server becomes.
            chown(folder.path().join("logs"), Some(NOBODY), None).unwrap();
        }
        write_settings(&folder, extra);
        let mut command = serow(["run", "-c"]);
        command.arg(folder.path().join("serow.toml"));
        Self { server: Running::of(command), folder }
    }

    /// Sends a signal to the generation that serves.
    fn signal_serving(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.serving()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until another generation serves than this one.
    fn replaced(&self, before: i64) {
        eventually("another generation serves", || (self.serving() != before).then_some(()));
    }

    /// Waits until this generation has exited, which accepts connections for a moment after a reload.
    fn exited(&self, generation: u32) {
        self.server.line_with(&format!("generation {generation} has exited"));
    }

    /// A download that goes on until it is read.
    fn begin_download(&self) -> TcpStream {
        fs::File::create(self.path("site/large")).unwrap().set_len(LARGE).unwrap();
        let mut stream = self.server.connect();
        stream.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        stream.peek(&mut [0]).unwrap();
        stream
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn admin(&self) -> String {
        format!("unix:{}", self.path("admin.sock").display())
    }

    /// Asks by one of the commands: exit code, standard output, standard error.
    fn ask(&self, command: &str) -> (Option<i32>, String, String) {
        let output = output([command, "--admin", &self.admin()]);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn status(&self) -> Value {
        let output = output(["status", "--json", "--admin", &self.admin()]);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// The process of the generation that serves.
    fn serving(&self) -> i64 {
        eventually("a generation serves", || {
            let status = self.status();
            let mut generations = status["generations"].as_array()?.iter();
            generations.find(|generation| generation["stage"] == "serving")?["process"].as_i64()
        })
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// More than the buffers of both ends hold.
const LARGE: u64 = 50 << 20;

/// The user that Linux keeps for those who own nothing.
const NOBODY: u32 = 65534;

fn write_settings(folder: &TempDir, extra: &str) {
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"unix:{}\"\nworkers = 1\n{extra}\n[[site]]\nfiles = {{ root = \"site\" }}\n",
        folder.path().join("admin.sock").display()
    );
    fs::write(folder.path().join("serow.toml"), text).unwrap();
}

#[test]
fn a_reload_serves_with_the_new_settings_at_the_same_port() {
    let run = Run::start("");
    assert!(run.get("/").contains("Hello"));
    let before = run.serving();
    write_settings(&run.folder, "max-target = \"100\"");
    let answer = "generation 2 serves in a new process: `max-target` has another value\n";
    assert_eq!(run.ask("reload"), (Some(0), answer.to_owned(), String::new()));
    assert_ne!(run.serving(), before);
    run.exited(1);
    assert!(run.get(&format!("/{}", "a".repeat(200))).starts_with("HTTP/1.1 414 "));
    let status = run.status();
    assert_eq!((&status["requests"]["total"], &status["reloads"]["done"]), (&2.into(), &1.into()));
    let text = run.ask("status").1;
    assert!(text.contains("\nreloads        1 done, 0 failed, 0 crashes\n"), "{text}");
    assert!(text.contains("\ngeneration     2, serving, process "), "{text}");
}

#[test]
fn included_files_are_read_by_a_reload_and_not_by_a_restart() {
    let run = Run::start("");
    fs::create_dir(run.path("more")).unwrap();
    let write = |text: &str| {
        let route = "[[site]]\nhosts = \"localhost\"\n[[site.route]]\npath-regex = \"^/(.*)$\"\n";
        fs::write(run.path("more/a.toml"), format!("{route}respond = {{ body = \"{text}\" }}\n")).unwrap();
    };
    write("$1 of $host");
    write_settings(&run.folder, "include = \"more/*.toml\"");
    assert_eq!(run.ask("reload").1, "generation 1 serves with the new settings\n");
    assert!(run.get("/one").ends_with("\r\n\r\none of localhost"));
    write("$nothing");
    let (code, _, errors) = run.ask("reload");
    assert!(code == Some(1) && errors.contains("more/a.toml:5:20: `body`: there is no $nothing;"), "{errors}");
    // A generation that crashed is replaced by one with the settings that were right.
    let before = run.serving();
    run.signal_serving(Signal::KILL);
    run.replaced(before);
    assert!(run.get("/two").ends_with("\r\n\r\ntwo of localhost"));
}

#[test]
fn the_file_says_where_the_server_is_reached() {
    let run = Run::start("");
    let file = run.path("serow.toml");
    let ask = |command: &str| output([command, "-c", file.to_str().unwrap()]);
    assert!(ask("status").status.success() && ask("reload").status.success());
    // Also when it is wrong, which the server says.
    write_settings(&run.folder, "max-targt = \"100\"");
    let wrong = String::from_utf8(ask("reload").stderr).unwrap();
    assert!(wrong.contains("did you mean `max-target`"), "{wrong}");
    fs::write(&file, "").unwrap();
    let wrong = String::from_utf8(ask("reload").stderr).unwrap();
    assert!(wrong.contains("no server of") && wrong.contains("nothing listens on unix:"), "{wrong}");
}

#[test]
fn hup_is_a_reload() {
    let run = Run::start("");
    let before = run.serving();
    for (route, path) in [("", "/"), ("[[site.route]]\npath = \"/new\"\nrespond = { body = \"Hello\" }\n", "/new")] {
        let text = fs::read_to_string(run.path("serow.toml")).unwrap();
        let site = "files = { root = \"site\" }\n";
        fs::write(run.path("serow.toml"), if route.is_empty() { text } else { text.replace(site, route) }).unwrap();
        let done = run.status()["reloads"]["done"].as_u64();
        run.server.signal(Signal::HUP);
        eventually("it is reloaded", || (run.status()["reloads"]["done"].as_u64() > done).then_some(()));
        assert!(run.get(path).contains("Hello"));
    }
    assert_eq!(run.serving(), before);
}

#[test]
fn a_reload_with_an_invalid_file_reports_the_error_and_changes_nothing() {
    let run = Run::start("");
    let before = run.serving();
    write_settings(&run.folder, "max-targt = \"100\"");
    let (code, said, wrong) = run.ask("reload");
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert!(wrong.contains("serow.toml:4:1: ") && wrong.contains("max-target"), "{wrong}");
    assert!(wrong.contains("\n4 | max-targt = "), "the line is shown: {wrong}");
    fs::remove_file(run.path("serow.toml")).unwrap();
    let (code, _, wrong) = run.ask("reload");
    assert!(code == Some(1) && wrong.contains("there is no settings file "), "{wrong}");
    // No process writes into this FIFO, and the reload does not wait for one.
    mkfifoat(CWD, run.path("serow.toml"), Mode::RUSR).unwrap();
    let (code, _, wrong) = run.ask("reload");
    assert!(code == Some(1) && wrong.contains("serow.toml can be read once only"), "{wrong}");
    assert_eq!(run.serving(), before);
    // There is no file, and a generation that crashes is replaced by one with what was good.
    run.signal_serving(Signal::KILL);
    run.replaced(before);
    assert!(run.get("/").contains("Hello"));
    let reloads = &run.status()["reloads"];
    assert_eq!((&reloads["failed"], &reloads["crashes"]), (&3.into(), &1.into()));
    assert_eq!(reloads["last_failure"], Value::Null);
}

#[test]
fn the_first_start_fails_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let run = |folder: &TempDir| output(["run", "-c", folder.path().join("serow.toml").to_str().unwrap()]);
    for (text, expected) in [
        (None, "there is no settings file "),
        (Some("listen = 1"), "serow.toml:1:10: "),
        (Some("[[site]]\nfiles = { root = \"nowhere\" }\n"), "serow.toml:2:"),
    ] {
        if let Some(text) = text {
            fs::write(folder.path().join("serow.toml"), text).unwrap();
        }
        let output = run(&folder);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
    }
}

#[test]
fn it_ends_when_it_is_told_to() {
    for end in ["stop", "TERM", "INT", "QUIT"] {
        let mut run = Run::start("");
        match end {
            "stop" => assert_eq!(run.ask("stop").0, Some(0)),
            "TERM" => run.server.signal(Signal::TERM),
            "INT" => run.server.signal(Signal::INT),
            _ => run.server.signal(Signal::QUIT),
        }
        assert!(run.server.child.wait().unwrap().success(), "{end}");
        assert!(!run.path("admin.sock").exists(), "{end}");
        assert!(TcpStream::connect(run.server.address()).is_err(), "{end}");
    }
}

#[test]
fn stop_waits_until_the_server_has_ended() {
    let mut run = Run::start("");
    let admin = format!("unix:{}", run.path("admin.sock").display());
    let mut download = run.begin_download();
    let stop = |timeout: &str| output(["stop", "--admin", &admin, "--timeout", timeout]);
    let impatient = stop("100ms");
    let error = String::from_utf8(impatient.stderr).unwrap();
    assert!(error.starts_with(&format!("serow: the server at {admin} still runs: ")), "{error}");
    assert_eq!(impatient.status.code(), Some(1));
    assert!(stop("0").status.success(), "without waiting");
    assert!(run.server.child.try_wait().unwrap().is_none(), "the download is to be finished");
    let waiting = {
        let admin = admin.clone();
        thread::spawn(move || output(["stop", "--admin", &admin]))
    };
    let mut answer = Vec::new();
    download.read_to_end(&mut answer).unwrap();
    assert!(answer.len() as u64 > LARGE, "the download was cut after {} bytes", answer.len());
    assert!(waiting.join().unwrap().status.success());
    assert!(run.server.child.wait().unwrap().success());
    let gone = stop("1s");
    assert_eq!(gone.status.code(), Some(1), "there is nothing to stop: {}", String::from_utf8_lossy(&gone.stderr));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut run = Run::start("");
    let _download = run.begin_download();
    run.server.signal(Signal::TERM);
    eventually("nobody listens any more", || TcpStream::connect(run.server.address()).is_err().then_some(()));
    assert!(run.server.child.try_wait().unwrap().is_none(), "the download is to be finished");
    run.server.signal(Signal::TERM);
    assert!(run.server.child.wait().unwrap().success());
}

#[test]
fn signals_are_for_the_master() {
    let mut run = Run::start("");
    let before = run.serving();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1] {
        run.signal_serving(signal);
    }
    assert!(run.get("/").contains("Hello"));
    assert_eq!(run.serving(), before);
    // systemd tells all processes of a service.
    let mut download = run.begin_download();
    let generation = Pid::from_raw(i32::try_from(before).unwrap()).unwrap();
    run.server.signal(Signal::TERM);
    eventually("nobody listens any more", || TcpStream::connect(run.server.address()).is_err().then_some(()));
    kill_process(generation, Signal::TERM).unwrap();
    let mut answer = Vec::new();
    download.read_to_end(&mut answer).unwrap();
    assert!(answer.len() as u64 > LARGE, "the download was cut after {} bytes", answer.len());
    assert!(run.server.child.wait().unwrap().success());
}

#[test]
fn signals_that_were_blocked_and_ignored_arrive() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("site")).unwrap();
    write_settings(&folder, "");
    let mut command = Command::new("env");
    command.args(["--block-signal", "--ignore-signal", env!("CARGO_BIN_EXE_serow"), "run", "-c"]);
    command.arg(folder.path().join("serow.toml"));
    let mut run = Run { server: Running::of(command), folder };
    let before = run.serving();
    run.signal_serving(Signal::KILL);
    run.replaced(before);
    run.server.signal(Signal::HUP);
    eventually("it is reloaded", || (run.status()["reloads"]["done"] == 1).then_some(()));
    assert!(run.server.stop().success());
}

#[test]
fn connections_of_a_killed_generation_are_counted_as_closed() {
    let run = Run::start("");
    let before = run.serving();
    let mut stream = run.server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream.peek(&mut [0]).unwrap();
    assert_eq!(run.status()["connections"]["open"], 1);
    run.signal_serving(Signal::KILL);
    run.replaced(before);
    let status = run.status();
    assert_eq!((&status["connections"]["accepted"], &status["connections"]["open"]), (&1.into(), &0.into()));
}

#[test]
fn hundreds_of_listeners() {
    let run = Run::start("");
    let sockets: Vec<_> = (0..300).map(|number| format!("\"unix:{number}.sock\"")).collect();
    let text = fs::read_to_string(run.path("serow.toml")).unwrap();
    fs::write(run.path("serow.toml"), text.replace("listen = [", &format!("listen = [{}, ", sockets.join(", "))))
        .unwrap();
    let answer = "generation 2 serves in a new process: `listen` has another value\n";
    assert_eq!(run.ask("reload"), (Some(0), answer.to_owned(), String::new()));
    let mut stream = UnixStream::connect(run.path("299.sock")).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("Hello"), "{answer}");
}

#[test]
fn a_file_for_the_process_id() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("site")).unwrap();
    write_settings(&folder, "");
    let pid_file = folder.path().join("pid");
    let mut command = serow(["run", "-c"]);
    command.arg(folder.path().join("serow.toml")).arg("--pid-file").arg(&pid_file);
    let mut server = Running::of(command);
    assert_eq!(fs::read_to_string(&pid_file).unwrap().trim(), server.child.id().to_string());
    server.signal(Signal::TERM);
    assert!(server.child.wait().unwrap().success());
    assert!(!pid_file.exists());
}

#[test]
fn root_gives_its_rights_up() {
    if !getuid().is_root() {
        return;
    }
    let run = Run::start("user = \"nobody\"\naccess-log = \"logs/access.log\"");
    let status = fs::read_to_string(format!("/proc/{}/status", run.serving())).unwrap();
    let uid = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
    assert!(uid.split_ascii_whitespace().skip(1).all(|id| id == NOBODY.to_string()), "{uid}");
    assert!(run.get("/").contains("Hello"));
    assert_eq!(fs::metadata(run.path("logs/access.log")).unwrap().uid(), NOBODY);
}

/// A folder of this user with a copy of the program, which it finds there wherever that was built.
fn folder_of_nobody() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(folder.path(), Some(NOBODY), None).unwrap();
    fs::create_dir(folder.path().join("site")).unwrap();
    let program = folder.path().join("serow");
    fs::copy(env!("CARGO_BIN_EXE_serow"), &program).unwrap();
    // Another test may have started a process while the copy was open, which has it for a moment longer (ETXTBSY).
    let copied = Instant::now();
    while Command::new(&program).arg("--version").output().is_err() && copied.elapsed() < Duration::from_secs(10) {}
    (folder, program)
}

#[test]
fn only_root_becomes_another_user() {
    if !getuid().is_root() {
        return;
    }
    let (folder, program) = folder_of_nobody();
    let command = |user: &str, group: &str| {
        write_settings(&folder, &format!("user = \"{user}\"\n{group}"));
        let mut command = Command::new(&program);
        command.args(["run", "-c"]).arg(folder.path().join("serow.toml")).uid(NOBODY).gid(NOBODY);
        command
    };
    let fails = |mut command: Command, start: &str| {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.starts_with(start), "{said}");
    };
    fails(command("root", ""), "serow: user: only root can ");
    fails(command("nobody", "group = 12345"), "serow: group: only root can change the group, from 65534 to 12345");
    // The real user stays root, so that the process could become root again.
    let mut half = Command::new("setpriv");
    half.args(["--euid", "65534", "--regid", "65534", "--clear-groups"]);
    half.arg(&program).args(["run", "-c"]).arg(folder.path().join("serow.toml"));
    write_settings(&folder, "user = \"nobody\"");
    fails(half, "serow: user: this process is the user 65534, and could become another one again");
    // Nothing is to be given up.
    assert!(Running::of(command("nobody", "")).stop().success());
}

/// An application that the server runs is such a process.
#[test]
fn another_process_of_the_same_user_cannot_read_the_memory_of_the_server() {
    if !getuid().is_root() {
        return;
    }
    let (folder, program) = folder_of_nobody();
    write_settings(&folder, "");
    let mut command = Command::new(&program);
    command.args(["run", "-c"]).arg(folder.path().join("serow.toml")).uid(NOBODY).gid(NOBODY);
    let mut running = Running::of(command);
    let mut processes = vec![running.child.id()];
    let children = |of: u32| fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    eventually("a generation runs", || (!children(running.child.id()).trim().is_empty()).then_some(()));
    processes.extend(children(running.child.id()).split_ascii_whitespace().map(|id| id.parse::<u32>().unwrap()));
    for process in processes {
        let mut cat = Command::new("cat");
        let output = cat.arg(format!("/proc/{process}/environ")).uid(NOBODY).gid(NOBODY).output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{process} can be read");
    }
    assert!(running.stop().success());
}

#[test]
fn generations_are_started_by_the_master_only() {
    let output = output(["run", "--generation"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("serow run"), "{said}");
}

#[test]
fn collectors_get_metrics() {
    requires!("program:curl");
    let run = Run::start("");
    run.get("/");
    let socket = run.path("admin.sock");
    let mut curl = Command::new("curl");
    curl.args(["-s", "--max-time", "20", "--unix-socket"]).arg(socket).arg("http://localhost/metrics");
    let metrics = curl.output().unwrap();
    let metrics = String::from_utf8(metrics.stdout).unwrap();
    for line in ["serow_requests_total{http=\"1\"} 1", "serow_generations{stage=\"serving\"} 1"] {
        assert!(metrics.lines().any(|found| found == line), "{metrics}");
    }
}
