//! Any program as an application: Node, Python, Go, and a shell.

use std::{ffi::OsString, num::NonZero, path::Path, sync::Mutex, thread, time::Duration};

use crate::answering::{Answering, body, wait_until};
use serow_processes::Output;
use serow_programs::commands::{Binding, CommandApplication, CommandSettings};
use serow_requirements::requires;
use tempfile::TempDir;

/// A server in Python that answers with its process id and address; some paths are special.
const SERVER: &str = r#"
import http.server, os, socket, socketserver, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        if self.path == '/die':
            os._exit(3)
        if self.path.startswith('/slow'):
            time.sleep(1)
        text = {'/limit': lambda: __import__('resource').getrlimit(__import__('resource').RLIMIT_NOFILE)[0],
                '/env': lambda: os.environ.get('GREETING'), '/folder': os.getcwd}.get(self.path, os.getpid)()
        self.answer(str(text).encode())
    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers['Content-Length']))[::-1])
    def answer(self, body):
        self.send_response(404 if self.path == '/missing' else 200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
    def address_string(self):
        return ''
class Tcp(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
print('beginning', flush=True)
place = sys.argv[1]
server = Tcp(('127.0.0.1', int(place)), Handler) if place.isdigit() else Unix(place, Handler)
server.serve_forever()
"#;

/// A program behind a server, until this is dropped.
struct Running {
    // Before its copies, which answer until it has ended.
    answering: Answering,
    application: CommandApplication,
    workers: serow_processes::Workers,
    _folder: TempDir,
}

fn settings(words: &[&str]) -> (CommandSettings, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.py"), SERVER).unwrap();
    let command = words.iter().map(OsString::from).collect();
    let mut settings = CommandSettings::new("test", command, folder.path().canonicalize().unwrap());
    settings.run.start_timeout = Duration::from_secs(20);
    settings.run.grace = Duration::from_secs(5);
    (settings, folder)
}

fn python() -> (CommandSettings, TempDir) {
    settings(&["/usr/bin/python3", "server.py", "{port}"])
}

impl Running {
    fn new((settings, folder): (CommandSettings, TempDir)) -> Self {
        let application = CommandApplication::new(settings);
        let workers = application.run().unwrap_or_else(|error| panic!("{error}"));
        let answering = Answering::new(application.handler());
        Self { answering, application, workers, _folder: folder }
    }

    fn get(&self, path: &str) -> String {
        self.answering.get(path)
    }

    fn reload(&self) -> Result<(), String> {
        crate::answering::reload(&self.workers)
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.application.settings().run.folder.join(name)
    }
}

#[test]
fn a_program_answers_at_its_port() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = python();
    settings.run.environment.push(("GREETING".into(), "hello".into()));
    settings.run.open_files = Some(321);
    let expected = settings.run.folder.display().to_string();
    let running = Running::new((settings, folder));
    assert_eq!(body(&running.get("/env")), "hello");
    assert_eq!(body(&running.get("/folder")), expected);
    assert_eq!(body(&running.get("/limit")), "321");
    assert!(running.get("/missing").starts_with("HTTP/1.1 404 "));
    assert_eq!(body(&running.answering.post("/", b"abc")), "cba");
}

#[test]
fn a_program_answers_at_a_unix_socket() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = settings(&["/usr/bin/python3", "server.py", "{socket}"]);
    settings.binding = Binding::Unix;
    settings.run.processes = NonZero::new(2).unwrap();
    let running = Running::new((settings, folder));
    let (first, second) = (running.get("/"), running.get("/"));
    assert_ne!(body(&first), body(&second));
    let servers = running.application.upstream().servers();
    let path = servers[0].name().strip_prefix("unix:").unwrap().to_owned();
    let folder = Path::new(&path).parent().unwrap().to_owned();
    assert!(folder.exists());
    drop(running);
    assert!(!folder.exists());
}

#[test]
fn failed_starts_report_the_last_output() {
    requires!("program:/usr/bin/python3");
    let cases: [(&[&str], &[&str]); 5] = [
        (&["/no/such/program"], &["/no/such/program cannot be started", "No such file"]),
        (
            &["sh", "-c", "echo one; echo two >&2; exit 7"],
            &["exited before it was ready (exit status: 7)", "\n  one\n  two"],
        ),
        (&["sh", "-c", "kill -9 $$"], &["signal: 9"]),
        (
            &["sleep", "60"],
            &[
                "accepts no connections on 127.0.0.1:",
                " (from the variable PORT or {port} in its arguments), after 300ms",
            ],
        ),
        (&["/usr/bin/python3", "-c", "raise Exception('no database')"], &["Exception: no database"]),
    ];
    for (words, expected) in cases {
        let (mut settings, _folder) = settings(words);
        if words[0] == "sleep" {
            settings.run.start_timeout = Duration::from_millis(300);
        }
        let error = CommandApplication::new(settings).run().unwrap_err().to_string();
        assert!(expected.iter().all(|text| error.contains(text)), "{words:?}: {error}");
    }
}

#[test]
fn the_check_path_must_succeed() {
    requires!("program:/usr/bin/python3");
    for (path, is_well) in [("/", true), ("/missing", false)] {
        let (mut settings, _folder) = python();
        settings.check_path = Some(path.to_owned());
        settings.run.start_timeout = Duration::from_secs(if is_well { 20 } else { 1 });
        let outcome = CommandApplication::new(settings).run().map_err(|error| error.to_string());
        match outcome {
            Ok(_) => assert!(is_well, "{path}"),
            Err(error) => {
                assert!(error.contains("does not answer /missing successfully") && !is_well, "{path}: {error}")
            }
        }
    }
}

#[test]
fn a_copy_that_dies_is_out_at_once_and_started_again() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = python();
    settings.run.processes = NonZero::new(2).unwrap();
    let running = Running::new((settings, folder));
    let before: Vec<_> = (0..2).map(|_| body(&running.get("/")).to_owned()).collect();
    let victim = rustix::process::Pid::from_raw(before[0].parse().unwrap()).unwrap();
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
    for _ in 0..50 {
        assert!(running.get("/").starts_with("HTTP/1.1 200 "));
    }
    wait_until("two copies", || running.application.upstream().servers().len() == 2);
    let after: Vec<_> = (0..2).map(|_| body(&running.get("/")).to_owned()).collect();
    assert!(!after.contains(&before[0]) && after.contains(&before[1]), "{before:?} {after:?}");
}

#[test]
fn requests_wait_for_the_only_copy() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = python();
    settings.run.queue.timeout = Duration::from_secs(20);
    let running = Running::new((settings, folder));
    let before = body(&running.get("/")).to_owned();
    assert!(running.get("/die").starts_with("HTTP/1.1 502 "));
    wait_until("its end is noticed", || running.application.upstream().servers().is_empty());
    let after = running.get("/");
    assert!(after.starts_with("HTTP/1.1 200 ") && body(&after) != before, "{after}");
}

#[test]
fn reloads_fail_no_requests_and_failed_reloads_change_nothing() {
    requires!("program:/usr/bin/python3");
    let running = Running::new(python());
    let before = body(&running.get("/")).to_owned();
    let answers = thread::scope(|scope| {
        let asking = scope.spawn(|| (0..4).map(|number| running.get(&format!("/slow?{number}"))).collect::<Vec<_>>());
        for _ in 0..3 {
            wait_until("a request at the present copy", || {
                running.application.upstream().report().servers.iter().any(|server| server.active > 0)
            });
            running.reload().unwrap();
        }
        asking.join().unwrap()
    });
    assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 200 ")), "{answers:?}");
    let after = body(&running.get("/")).to_owned();
    assert_ne!(before, after);
    std::fs::write(running.file("server.py"), "print('broken', flush=True); raise SystemExit(4)").unwrap();
    let error = running.reload().unwrap_err();
    assert!(error.contains("exit status: 4") && error.contains("broken"), "{error}");
    assert_eq!(body(&running.get("/")), after);
    wait_until("the old ones have left", || !Path::new(&format!("/proc/{before}")).exists());
}

#[test]
fn a_copy_is_replaced_after_its_requests() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = python();
    settings.run.lifetime = Some(serow_processes::Lifetime { least: 5, most: 5 });
    let running = Running::new((settings, folder));
    let first = body(&running.get("/")).to_owned();
    wait_until("another copy", || {
        let answer = running.get("/");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        body(&answer) != first
    });
}

#[test]
fn a_copy_is_replaced_for_its_memory() {
    requires!("program:/usr/bin/python3");
    let (mut settings, folder) = python();
    settings.run.memory_limit = Some(1 << 20);
    let running = Running::new((settings, folder));
    let first = body(&running.get("/")).to_owned();
    wait_until("another copy", || body(&running.get("/")) != first);
}

#[test]
fn output_has_the_copys_number_and_child_processes_end_with_it() {
    requires!("program:/usr/bin/python3");
    static LINES: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());
    let (mut settings, folder) =
        settings(&["sh", "-c", "sleep 1000 & echo $!; /usr/bin/python3 server.py {port}; exit 1"]);
    settings.run.output = Output { take: |_, place, line| LINES.lock().unwrap().push((place, line.to_owned())) };
    settings.run.processes = NonZero::new(2).unwrap();
    let running = Running::new((settings, folder));
    let lines = LINES.lock().unwrap().clone();
    let said = |place| lines.iter().any(|line| *line == (place, "beginning".to_owned()));
    assert!(said(1) && said(2), "{lines:?}");
    drop(running);
    let sleepers = lines.iter().filter_map(|(_, line)| line.parse::<u32>().ok());
    for sleeper in sleepers {
        let gone = || {
            let state = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        wait_until("the sleepers are gone", gone);
    }
}

#[test]
fn inheriting_a_socket_needs_a_launcher() {
    requires!("program:/usr/bin/python3");
    let (mut settings, _folder) = python();
    settings.binding = Binding::Inherit;
    let error = CommandApplication::new(settings).run().unwrap_err().to_string();
    assert!(error.contains("launcher"), "{error}");
}

#[test]
fn express_serves_requests() {
    requires!("node:express", "program:node");
    let (mut settings, folder) = settings(&["node", "server.js"]);
    let code = "const app = require('express')();\n\
                app.get('/', (request, response) => response.send('express ' + request.ip));\n\
                app.listen(process.env.PORT, '127.0.0.1');\n";
    std::fs::write(folder.path().join("server.js"), code).unwrap();
    // Debian's modules are in two folders that only Debian's own Node knows; others need NODE_PATH.
    settings.run.environment.push(("NODE_PATH".into(), "/usr/share/nodejs:/usr/lib/nodejs".into()));
    let running = Running::new((settings, folder));
    assert!(body(&running.get("/")).contains("express"), "{}", running.get("/"));
}

#[test]
fn a_go_program_runs() {
    requires!("program:go");
    let (mut settings, folder) = settings(&["./server"]);
    let code = "package main\nimport (\"fmt\"; \"net\"; \"net/http\"; \"os\")\nfunc main() {\n\
                listener, error := net.Listen(\"unix\", os.Getenv(\"SOCKET\"))\n\
                if error != nil { panic(error) }\n\
                http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {\n\
                fmt.Fprint(w, \"go \", r.URL.Path)\n}))\n}\n";
    std::fs::write(folder.path().join("server.go"), code).unwrap();
    let mut build = std::process::Command::new("go");
    let built = build.args(["build", "-o", "server", "server.go"]).current_dir(folder.path()).status();
    assert!(built.unwrap().success());
    settings.binding = Binding::Unix;
    assert_eq!(body(&Running::new((settings, folder)).get("/a")), "go /a");
}
