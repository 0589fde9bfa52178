//! Scripts in PHP, run by a php-fpm that Serow starts.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serow_requirements::requires;
use tempfile::TempDir;

use crate::running::{Running, eventually, lines_of, output, received, serow};

/// Each answers with the number of its process. Those that wait do so until the file `go` is there, and write a line when they
/// begin and when they end.
const SCRIPTS: [(&str, &str); 10] = [
    ("index.php", "<?php echo getmypid();"),
    (
        "pause.php",
        "<?php function note($word) { file_put_contents('notes', \"$word \" . getmypid() . \"\\n\", FILE_APPEND | LOCK_EX); } \
      function pause() { while (!file_exists('go')) { usleep(2000); clearstatcache(); } }",
    ),
    (
        "after.php",
        "<?php require 'pause.php'; echo getmypid(); fastcgi_finish_request(); note('after'); pause(); note('over');",
    ),
    (
        "begun.php",
        "<?php require 'pause.php'; echo getmypid(), \"\\n\"; ob_end_flush(); flush(); note('begun'); pause(); echo 'end';",
    ),
    ("silent.php", "<?php require 'pause.php'; note('silent'); pause(); echo getmypid(), ' end';"),
    (
        "large.php",
        "<?php echo getmypid(); $GLOBALS['x'] = str_repeat('x', 64 << 20); if (isset($_GET['keep'])) { ini_set('memory_limit', -1); }",
    ),
    ("fatal.php", "<?php throw new Exception('it failed');"),
    ("ini.php", "<?php echo ini_get('memory_limit'), ' ', ini_get('display_errors'), ' ', getenv('COLOUR');"),
    ("cached.php", "<?php echo (int) opcache_is_script_cached(__DIR__ . '/ini.php');"),
    ("page.txt", "a file"),
];

struct Site {
    folder: TempDir,
    server: Running,
}

impl Site {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in SCRIPTS {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut command = serow(["app".as_ref(), folder.path().as_os_str()]);
        command.args(["--listen", "127.0.0.1:0", "--workers", "1"]).args(options);
        Self { server: Running::of(command), folder }
    }

    fn get(&self, path: &str) -> String {
        self.server.get(path).text().to_owned()
    }

    fn notes(&self) -> PathBuf {
        self.folder.path().join("notes")
    }

    /// Ends the pauses of scripts.
    fn go(&self) {
        fs::write(self.folder.path().join("go"), "").unwrap();
    }

    fn begin(&self, method: &str, path: &str) -> TcpStream {
        let mut stream = self.server.connect();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// The process that wrote the first line with this word.
    fn noted(&self, word: &str) -> Pid {
        let line = eventually(word, || {
            let text = fs::read_to_string(self.notes()).ok()?;
            text.lines().find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()))
        });
        Pid::from_raw(line.parse().unwrap()).unwrap()
    }

    /// The parent of a process, which is php-fpm.
    fn parent(child: Pid) -> Pid {
        let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
        Pid::from_raw(parent.trim().parse().unwrap()).unwrap()
    }
}

fn is_there(process: Pid) -> bool {
    test_kill_process(process).is_ok()
}

#[test]
fn a_folder_of_scripts_is_run_and_its_files_are_sent() {
    requires!("file:/usr/sbin/php-fpm*");
    let mut site = Site::start(&["--processes", "2", "--ini", "memory_limit=77M", "--env", "COLOUR=$red"]);
    assert!(site.server.announcement.contains("PHP in "), "{}", site.server.announcement);
    let process: i32 = site.get("/").parse().unwrap();
    assert!(is_there(Pid::from_raw(process).unwrap()));
    assert_eq!(site.get("/ini.php"), "77M 0 $red");
    assert_eq!(site.get("/page.txt"), "a file");
    let fatal = site.server.get("/fatal.php");
    assert_eq!((fatal.status(), fatal.body.len()), (500, 0));
    site.server.line_with("it failed");
    let master = Site::parent(Pid::from_raw(process).unwrap());
    assert!(site.server.stop().success());
    assert!(!is_there(master));
    // The message, its backtrace and nothing twice.
    let again = site.server.last_lines().into_iter().filter(|line| line.contains("it failed")).count();
    assert_eq!(again, 0);
}

#[test]
fn a_process_that_goes_on_after_its_response_gets_no_request() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2"]);
    let busy = site.get("/after.php");
    site.noted("after");
    for _ in 0..20 {
        assert_ne!(site.get("/index.php"), busy);
    }
    site.go();
    site.noted("over");
    eventually("it gets requests again", || (site.get("/index.php") == busy).then_some(()));
}

#[test]
fn all_processes_that_go_on_after_their_responses_make_requests_wait() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2"]);
    let first = site.get("/after.php");
    site.noted("after");
    assert_ne!(site.get("/after.php"), first);
    lines_of(&site.notes(), 2);
    let waiting = site.begin("POST", "/index.php");
    site.go();
    assert_eq!(received(waiting).status(), 200);
}

#[test]
fn an_overdue_response_costs_its_own_process_only() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2", "--app-timeout", "1500ms"]);
    let begun = site.begin("GET", "/begun.php");
    let other = site.noted("begun");
    let silent = site.server.get("/silent.php");
    assert_eq!(silent.status(), 504);
    let overdue = site.noted("silent");
    eventually("it is killed", || (!is_there(overdue)).then_some(()));
    assert!(is_there(other));
    site.go();
    assert!(received(begun).text().contains("end"));
    for _ in 0..5 {
        assert_eq!(site.server.get("/").status(), 200);
    }
}

#[test]
fn a_killed_process_costs_its_own_request_and_no_other() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2"]);
    let post = site.begin("POST", "/silent.php");
    let killed = site.noted("silent");
    kill_process(killed, Signal::KILL).unwrap();
    assert_eq!(received(post).status(), 502);
    for _ in 0..10 {
        assert_eq!(site.server.get("/").status(), 200);
    }
    // Another process answers a request that may be repeated.
    fs::remove_file(site.notes()).unwrap();
    let get = site.begin("GET", "/silent.php");
    let killed = site.noted("silent");
    kill_process(killed, Signal::KILL).unwrap();
    lines_of(&site.notes(), 2);
    site.go();
    assert!(received(get).text().ends_with(" end"));
}

#[test]
fn requests_outlive_a_killed_master() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2"]);
    let running = site.begin("POST", "/silent.php");
    let child = site.noted("silent");
    let master = Site::parent(child);
    kill_process(master, Signal::KILL).unwrap();
    let process: i32 = site.get("/index.php").parse().unwrap();
    let process = Pid::from_raw(process).unwrap();
    assert!(process != child);
    site.server.line_with("is started again");
    site.go();
    assert_eq!(received(running).text(), format!("{child} end"));
    eventually("the old process has ended", || (!is_there(child)).then_some(()));
    assert_eq!(site.server.get("/index.php").status(), 200);
}

#[test]
fn a_reload_loses_no_request() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2"]);
    let running = site.begin("POST", "/silent.php");
    let old = site.noted("silent");
    let after = site.get("/after.php");
    site.noted("after");
    let waiting = site.begin("POST", "/index.php");
    site.server.signal(Signal::HUP);
    site.server.line_with("The application is reloaded");
    assert_eq!(received(waiting).status(), 200);
    for _ in 0..10 {
        assert_ne!(site.get("/index.php"), old.to_string());
    }
    assert!(is_there(old));
    site.go();
    assert_eq!(received(running).text(), format!("{old} end"));
    site.noted("over");
    let after = Pid::from_raw(after.parse().unwrap()).unwrap();
    eventually("the old processes have ended", || (!is_there(old) && !is_there(after)).then_some(()));
}

#[test]
fn a_reload_fills_the_opcache_before_it_serves() {
    requires!("file:/usr/sbin/php-fpm*");
    // Otherwise, files that are younger than two seconds are not cached.
    let site = Site::start(&["--processes", "2", "--ini", "opcache.file_update_protection=0"]);
    assert_eq!(site.get("/cached.php"), "0");
    site.get("/ini.php");
    assert_eq!(site.get("/cached.php"), "1");
    site.server.signal(Signal::HUP);
    site.server.line_with("The application is reloaded");
    assert_eq!(site.get("/cached.php"), "1");
}

#[test]
fn processes_are_replaced_after_their_requests_and_for_their_memory() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2", "--max-requests", "3"]);
    let mut seen = std::collections::BTreeSet::new();
    eventually("others answer", || {
        let answer = site.server.get("/");
        assert_eq!(answer.status(), 200);
        seen.insert(answer.text().to_owned());
        (seen.len() > 4).then_some(())
    });
}

#[test]
fn a_stop_waits_for_running_requests() {
    requires!("file:/usr/sbin/php-fpm*");
    let mut site = Site::start(&["--processes", "2"]);
    let running = site.begin("POST", "/silent.php");
    let child = site.noted("silent");
    site.server.signal(Signal::TERM);
    site.go();
    assert_eq!(received(running).text(), format!("{child} end"));
    assert!(site.server.stop().success());
    assert!(!is_there(child));
}

#[test]
fn a_slow_upload_and_a_slow_download_hold_no_process() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2"]);
    let slow: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = site.server.connect();
            stream
                .write_all(b"POST /index.php HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf")
                .unwrap();
            stream
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(site.server.get("/").status(), 200);
    }
    for mut stream in slow {
        stream.write_all(b"456789").unwrap();
        assert_eq!(received(stream).status(), 200);
    }
}

#[test]
fn a_client_that_leaves_does_not_block_its_process() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = Site::start(&["--processes", "2"]);
    for _ in 0..2 {
        let mut stream = site.begin("GET", "/begun.php");
        let mut byte = [0; 1];
        stream.read_exact(&mut byte).unwrap();
    }
    let waiting = site.begin("POST", "/index.php");
    site.go();
    assert_eq!(received(waiting).status(), 200);
}

#[test]
fn settings_that_cannot_work_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(folder.path().join("index.php"), "").unwrap();
    let rack = folder.path().join("rack");
    fs::create_dir(&rack).unwrap();
    fs::write(rack.join("config.ru"), "").unwrap();
    let (here, empty) = (folder.path().to_str().unwrap(), empty.to_str().unwrap());
    let rack = rack.to_str().unwrap();
    for (arguments, expected) in [
        (&["app", empty][..], "there is no index.php in "),
        (&["app", rack], "contains a Rack application: write serow app "),
        (&["app", here, "--processes", "1"], "PHP needs at least 2"),
        (&["app", here, "--interpreter", "php"], "is not php-fpm: write the path of php-fpm"),
        (&["app", here, "--interpreter", "/nowhere/php-fpm"], "there is no program /nowhere/php-fpm"),
        (&["app", here, "--ini", "a b=c"], "cannot be set"),
        (&["app", here, "--preload"], "--preload is not for PHP"),
        (&["app", here, "--static", here], "files beside the scripts are sent anyway"),
        (&["app", "config.ru", "--ini", "a=b"], "--ini is for PHP only"),
    ] {
        let output = output(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(expected), "{arguments:?}: {text}");
    }
}

#[test]
fn a_settings_file_needs_only_the_folder() {
    requires!("file:/usr/sbin/php-fpm*");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("site");
    fs::create_dir(&root).unwrap();
    for (name, text) in SCRIPTS {
        fs::write(root.join(name), text).unwrap();
    }
    let file = folder.path().join("serow.toml");
    let text = "listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = \"unix:admin.sock\"\n[[site]]\n\
                php = { root = \"site\", processes = 2, ini = { memory_limit = \"66M\" }, hidden = \"/page.*\" }\n";
    fs::write(&file, text).unwrap();
    let mut command = serow(["run", "-c"]);
    command.arg(&file);
    let server = Running::of(command);
    assert_eq!(server.get("/ini.php").text(), "66M 0 ");
    assert_eq!(server.get("/page.txt").status(), 404);
    let before = server.get("/").text().to_owned();
    let reloaded = output(["reload", "-c", file.to_str().unwrap()]);
    assert_eq!(
        String::from_utf8(reloaded.stdout).unwrap(),
        "generation 2 serves in a new process: applications start again\n"
    );
    assert_ne!(server.get("/").text(), before);
}
