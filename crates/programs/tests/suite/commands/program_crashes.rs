//! Requests that crash copies of a program, and connections that are closed without a crash.

use std::{ffi::OsString, fs, num::NonZero, path::Path, thread, time::Duration};

use crate::answering::{Answering, body, wait_until};
use serow_processes::Workers;
use serow_programs::commands::{Binding, CommandApplication, CommandSettings};
use serow_requirements::requires;
use tempfile::TempDir;

/// Writes down its start and each call. `/poison` ends the process; `/close` closes a connection that had a request before. With a
/// file `slow`, it starts slowly.
const SERVER: &str = r#"
import http.server, os, socketserver, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    count = 0
    def do_GET(self):
        self.count += 1
        with open('calls', 'a') as calls:
            print(self.path, file=calls)
        if self.path.startswith('/poison'):
            os._exit(3)
        if self.path == '/close' and self.count > 1:
            self.close_connection = True
            return
        body = self.path.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *_):
        pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
if os.path.exists('slow'):
    time.sleep(2)
with open('starts', 'a') as starts:
    print('start', file=starts)
Server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
"#;

struct Running {
    // Before its copies, which answer until it has ended.
    answering: Answering,
    application: CommandApplication,
    _workers: Workers,
    folder: TempDir,
}

impl Running {
    fn new(copies: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("server.py"), SERVER).unwrap();
        let command = ["/usr/bin/python3", "server.py", "{port}"].map(OsString::from).to_vec();
        let mut settings = CommandSettings::new("test", command, folder.path().canonicalize().unwrap());
        settings.run.start_timeout = Duration::from_secs(20);
        settings.run.queue.timeout = Duration::from_secs(20);
        settings.run.processes = NonZero::new(copies).unwrap();
        assert_eq!(settings.binding, Binding::Port);
        let application = CommandApplication::new(settings);
        let workers = application.run().unwrap_or_else(|error| panic!("{error}"));
        Self { answering: Answering::new(application.handler()), application, _workers: workers, folder }
    }

    /// Waits until the copies that have ended are replaced: the last copy is spared.
    fn recover(&self) {
        let copies = self.application.settings().run.processes.get();
        let lines = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        let crashes = lines("calls").lines().filter(|line| line.starts_with("/poison")).count();
        let has_started = || lines("starts").lines().count() == copies + crashes;
        wait_until("copies that have ended are replaced", || {
            has_started() && self.application.upstream().servers().len() >= copies
        });
    }

    /// Every copy has connections that were used before.
    fn warm_up(&self) {
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| assert_eq!(body(&self.answering.get("/well")), "/well"));
            }
        });
    }

    fn calls(&self, path: &str) -> usize {
        calls(self.folder.path(), path)
    }
}

fn calls(folder: &Path, path: &str) -> usize {
    let calls = fs::read_to_string(folder.join("calls")).unwrap_or_default();
    calls.lines().filter(|line| *line == path).count()
}

#[test]
fn a_get_that_crashes_copies_takes_two_the_first_time_and_one_from_then_on() {
    requires!("program:/usr/bin/python3");
    let running = Running::new(3);
    for (is_warm, path) in [(false, "/poison/cold"), (true, "/poison/warm")] {
        for expected in [2, 3, 4] {
            running.recover();
            if is_warm {
                running.warm_up();
            }
            let answer = running.answering.get(path);
            assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
            assert_eq!(running.calls(path), expected, "{path}");
        }
    }
    assert_eq!(body(&running.answering.get("/well")), "/well");
}

#[test]
fn the_only_copy_is_crashed_once() {
    requires!("program:/usr/bin/python3");
    let running = Running::new(1);
    for (round, is_warm) in [(1, false), (2, true), (3, true)] {
        if is_warm {
            running.warm_up();
        }
        let answer = running.answering.get("/poison");
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert_eq!(running.calls("/poison"), round);
        assert_eq!(body(&running.answering.get("/well")), "/well");
    }
}

#[test]
fn crashing_requests_do_not_reach_the_last_copy() {
    requires!("program:/usr/bin/python3");
    let running = Running::new(2);
    running.warm_up();
    fs::write(running.folder.path().join("slow"), "").unwrap();
    thread::scope(|scope| {
        let poison = scope.spawn(|| running.answering.get("/poison"));
        wait_until("the request has reached a copy", || running.calls("/poison") > 0);
        for _ in 0..20 {
            assert_eq!(body(&running.answering.get("/well")), "/well");
        }
        assert_eq!(running.calls("/poison"), 1, "while there is one copy only");
        assert!(poison.join().unwrap().starts_with("HTTP/1.1 502 "));
        assert_eq!(running.calls("/poison"), 2);
    });
}

/// Servers close connections that were idle at any moment, also when a request is on its way.
#[test]
fn a_connection_that_a_living_copy_closes_costs_no_request() {
    requires!("program:/usr/bin/python3");
    for copies in [1, 2] {
        let running = Running::new(copies);
        running.warm_up();
        for _ in 0..5 {
            let answer = running.answering.get("/close");
            assert_eq!(body(&answer), "/close", "{copies}: {answer}");
        }
    }
}
