//! `worker-cores`: which cores the threads of the server and the processes below it may use.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::Output,
    thread,
};

use crate::running::{Running, eventually, output, serow};
use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use serde_json::Value;
use serow_requirements::requires;
use tempfile::TempDir;

/// Its answers are the number of its process.
const PERL: &str = "sub { [200, [], [\"$$\"]] }\n";

/// The cores that a thread or a process may use, or those of this thread.
fn cores_of(id: Option<i32>) -> Vec<usize> {
    let set = sched_getaffinity(id.map(|id| Pid::from_raw(id).unwrap())).unwrap();
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

/// A core that this process may not use, if there is one below the largest number.
fn foreign_core() -> usize {
    let allowed = cores_of(None);
    (0..CpuSet::MAX_CPU).find(|core| !allowed.contains(core)).unwrap()
}

/// The threads of a process, with their cores.
struct Threads {
    /// Those that serve connections, in their order.
    workers: Vec<Vec<usize>>,
    /// All others, with their names.
    others: Vec<(String, Vec<usize>)>,
}

fn threads(process: i32) -> Threads {
    let (mut workers, mut others) = (Vec::new(), Vec::new());
    for task in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        let task = task.unwrap();
        let name = fs::read_to_string(task.path().join("comm")).unwrap().trim().to_owned();
        let cores = cores_of(Some(task.file_name().to_str().unwrap().parse().unwrap()));
        match name.strip_prefix("serow-").and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => workers.push((number, cores)),
            None => others.push((name, cores)),
        }
    }
    workers.sort();
    Threads { workers: workers.into_iter().map(|(_, cores)| cores).collect(), others }
}

/// Waits until the threads that serve have these cores: a server is announced before they run.
fn await_workers(process: i32, expected: &[Vec<usize>]) {
    eventually(&format!("workers on {expected:?}"), || (threads(process).workers == expected).then_some(()));
}

/// A server with an application and a folder in which clients create files.
struct Site {
    folder: TempDir,
    server: Running,
}

impl Site {
    fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        fs::write(folder.path().join("app.psgi"), PERL).unwrap();
        write_settings(folder.path(), settings);
        let mut command = serow(["run", "-c"]);
        command.arg(folder.path().join("serow.toml"));
        Self { server: Running::of(command), folder }
    }

    fn ask(&self, words: &[&str]) -> Output {
        let file = self.folder.path().join("serow.toml").display().to_string();
        output(words.iter().copied().chain(["-c", &file]))
    }

    /// Reloads with these settings, and waits until only the new generation is there.
    fn reload(&self, settings: &str, generation: u32) {
        write_settings(self.folder.path(), settings);
        let told = String::from_utf8(self.ask(&["reload"]).stdout).unwrap();
        assert!(told.starts_with(&format!("generation {generation} serves in a new process: ")), "{told}");
        self.server.line_with(&format!("generation {} has exited", generation - 1));
    }

    /// The process of the generation that serves.
    fn serving(&self) -> i32 {
        eventually("a generation serves", || {
            let status: Value = serde_json::from_slice(&self.ask(&["status", "--json"]).stdout).ok()?;
            let serving = status["generations"].as_array()?.iter().find(|it| it["stage"] == "serving")?;
            i32::try_from(serving["process"].as_i64()?).ok()
        })
    }

    /// Waits until the workers have these cores. Then a blocking thread runs, which may use all cores as other threads do.
    fn expect_workers(&self, expected: &[Vec<usize>], file: &str) {
        await_workers(self.serving(), expected);
        let created = self.put(file);
        assert!(created.starts_with("HTTP/1.1 201 "), "{created}");
        let others = threads(self.serving()).others;
        assert!(others.iter().any(|(name, _)| name.starts_with("tokio")), "there is a blocking thread: {others:?}");
        for (name, cores) in others {
            assert_eq!(cores, cores_of(None), "{name}");
        }
        assert_eq!(self.application(), cores_of(None));
    }

    fn put(&self, file: &str) -> String {
        let mut connection = self.server.connect();
        let head = format!("PUT /{file} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
        connection.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        text
    }

    /// The cores of the process of the application.
    fn application(&self) -> Vec<usize> {
        cores_of(Some(self.server.get("/app").text().parse().unwrap()))
    }
}

fn write_settings(folder: &Path, settings: &str) {
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"unix:{}\"\n{settings}\n[[site]]\n[[site.route]]\npath = \"/app\"\n\
         app = {{ application = \"app.psgi\", processes = 1 }}\n[[site.route]]\npath = \"/*\"\n\
         files = {{ root = \"files\", write = \"put\" }}\n",
        folder.join("admin.sock").display()
    );
    fs::write(folder.join("serow.toml"), text).unwrap();
}

#[test]
fn workers_are_pinned_as_the_settings_say_and_applications_and_blocking_threads_are_not() {
    requires!("program:perl");
    let allowed = cores_of(None);
    let (first, last) = (allowed[0], *allowed.last().unwrap());
    let list = if first == last { last.to_string() } else { format!("{last},{first}") };
    let named: Vec<Vec<usize>> = if first == last { vec![vec![last]] } else { vec![vec![last], vec![first]] };
    let site = Site::start(&format!("worker-cores = \"{list}\""));
    site.expect_workers(&named, "1");
    // More workers than cores, in turn.
    let count = allowed.len() + 1;
    site.reload(&format!("worker-cores = \"auto\"\nworkers = {count}"), 2);
    let in_turn: Vec<_> = allowed.iter().cycle().take(count).map(|&core| vec![core]).collect();
    site.expect_workers(&in_turn, "2");
    site.reload("workers = 1", 3);
    site.expect_workers(std::slice::from_ref(&allowed), "3");
    // A reload that cannot be done changes nothing.
    let before = site.serving();
    write_settings(site.folder.path(), &format!("worker-cores = \"{}\"", foreign_core()));
    let refused = site.ask(&["reload"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    let expected = format!("workers cannot be pinned to core {}: it does not exist, or ", foreign_core());
    assert!(refused.status.code() == Some(1) && told.contains(&expected), "{told}");
    assert_eq!((site.serving(), site.application()), (before, allowed));
}

#[test]
fn a_core_that_may_not_be_used_is_an_error_of_the_start_and_not_of_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let core = foreign_core().to_string();
    let refused = serow([folder.path()]).args(["--listen", "127.0.0.1:0", "--worker-cores", &core]).output().unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    let expected = format!(
        "workers cannot be pinned to core {core}: it does not exist, or this process may not use it; choose among the \
         cores that it may use, "
    );
    assert!(refused.status.code() == Some(1) && told.contains(&expected), "{:?} {told}", refused.status);
    assert_eq!(told.lines().count(), 1, "{told}");
    // The settings may be for another machine.
    let settings =
        format!("listen = \"127.0.0.1:0\"\nworker-cores = \"{core}\"\n[[site]]\nfiles = {{ root = \".\" }}\n");
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let file = folder.path().join("serow.toml").display().to_string();
    assert!(output(["check", "-c", &file]).status.success());
    let refused = output(["run", "-c", &file]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && told.contains(&expected), "{told}");
}

#[test]
fn auto_takes_the_cores_that_the_process_was_left_with() {
    let last = *cores_of(None).last().unwrap();
    // As taskset does.
    let server = thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(last);
        sched_setaffinity(None, &set).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut command = serow([folder.path()]);
        command.args(["--listen", "127.0.0.1:0", "--workers", "3", "--worker-cores", "auto"]);
        (Running::of(command), folder)
    });
    let (server, _folder) = server.join().unwrap();
    await_workers(i32::try_from(server.child.id()).unwrap(), &vec![vec![last]; 3]);
}
