//! The restriction of a generation to the files that it needs (Landlock).

mod folders;
mod shared_store;

use std::{
    fs,
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, TcpListener},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use crate::running::{Running, eventually, lines_of, output, serow};
use rcgen::{CertificateParams, KeyPair};
use rustix::process::Signal;
use serde_json::Value;
use serow_requirements::requires;
use tempfile::TempDir;

/// A server with a settings file in a folder of its own.
struct Sandboxed {
    folder: TempDir,
    server: Running,
}

impl Sandboxed {
    /// `make` prepares the folder, and gives the text of the settings file but for `listen` and `admin`.
    fn start(make: impl FnOnce(&Path) -> String) -> Self {
        Self::start_with(|_| {}, make)
    }

    /// As [`Self::start`], with a command that is changed.
    fn start_with(change: impl FnOnce(&mut Command), make: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = make(folder.path());
        write_settings(folder.path(), &text);
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let mut command = serow(["run", "-c"]);
        command.arg(folder.path().join("serow.toml")).env("TMPDIR", folder.path().join("tmp"));
        change(&mut command);
        Self { server: Running::of(command), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits for a generation that serves; what its status says of the sandbox.
    fn sandbox(&self) -> String {
        eventually("the status", || {
            let file = self.path("serow.toml");
            let output = output(["status", "--json", "-c", file.to_str()?]);
            let status: Value = serde_json::from_slice(&output.stdout).ok()?;
            status["sandbox"].as_str().map(str::to_owned)
        })
    }

    /// Whether the kernel of this machine restricts the server; where not, the test says so.
    fn is_restricted(&self) -> bool {
        let sandbox = self.sandbox();
        let is_restricted = sandbox.starts_with("landlock ABI ");
        if !is_restricted {
            let without = ["off: the kernel has no Landlock", "off: Landlock is not enabled in the kernel"];
            assert!(without.contains(&&*sandbox), "{sandbox}");
            eprintln!("SKIPPED: nothing is restricted on this machine: {sandbox}");
        }
        is_restricted
    }

    fn reload(&self, text: &str) {
        write_settings(self.folder.path(), text);
        let output = output(["reload", "-c", self.path("serow.toml").to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The status and the text of a response.
    fn get(&self, path: &str) -> (u16, String) {
        let answer = self.server.get(path);
        (answer.status(), answer.text().to_owned())
    }

    /// Waits until a path is answered so.
    fn comes_to_answer(&self, path: &str, status: u16, text: &str) {
        eventually(&format!("{path} is answered with {status} {text}"), || {
            let (found, body) = self.get(path);
            (found == status && (text.is_empty() || body == text)).then_some(())
        });
    }
}

fn write_settings(folder: &Path, text: &str) {
    let admin = folder.join("admin.sock");
    let text = format!("listen = [\"127.0.0.1:0\"]\nadmin = \"unix:{}\"\nworkers = 1\n{text}", admin.display());
    fs::write(folder.join("serow.toml"), text).unwrap();
}

/// A folder whose page has this text.
fn page(folder: &Path, text: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("page.txt"), text).unwrap();
}

const SITE: &str = "[[site]]\nfiles = { root = \"www/current\" }\n";

#[test]
fn folders_that_are_replaced_are_served_and_a_link_to_elsewhere_only_after_a_reload() {
    let elsewhere = tempfile::tempdir().unwrap();
    page(&elsewhere.path().join("site"), "elsewhere");
    for (key, text) in [("", SITE.to_owned()), ("off: the settings say so", format!("sandbox = \"off\"\n{SITE}"))] {
        let run = Sandboxed::start(|folder| {
            page(&folder.join("www/releases/1"), "one");
            page(&folder.join("www/releases/2"), "two");
            symlink("releases/1", folder.join("www/current")).unwrap();
            text.clone()
        });
        let current = run.path("www/current");
        assert_eq!(run.get("/page.txt"), (200, "one".to_owned()));
        fs::remove_file(&current).unwrap();
        symlink("releases/2", &current).unwrap();
        run.comes_to_answer("/page.txt", 200, "two");
        fs::remove_dir_all(run.path("www/releases/2")).unwrap();
        run.comes_to_answer("/page.txt", 404, "");
        page(&run.path("www/releases/2"), "two again");
        run.comes_to_answer("/page.txt", 200, "two again");
        fs::remove_file(&current).unwrap();
        page(&current, "a folder");
        run.comes_to_answer("/page.txt", 200, "a folder");

        fs::remove_dir_all(&current).unwrap();
        symlink(elsewhere.path().join("site"), &current).unwrap();
        if key.is_empty() && run.is_restricted() {
            run.comes_to_answer("/page.txt", 403, "");
            run.reload(&text);
            assert!(run.is_restricted());
        } else if !key.is_empty() {
            assert_eq!(run.sandbox(), key);
        }
        run.comes_to_answer("/page.txt", 200, "elsewhere");
    }
}

#[test]
fn a_reload_serves_a_new_root_and_restricts_again() {
    let elsewhere = tempfile::tempdir().unwrap();
    page(elsewhere.path(), "new");
    let run = Sandboxed::start(|folder| {
        page(&folder.join("www/current"), "old");
        SITE.to_owned()
    });
    assert_eq!(run.get("/page.txt"), (200, "old".to_owned()));
    run.reload(&format!("[[site]]\nfiles = {{ root = \"{}\" }}\n", elsewhere.path().display()));
    // The old generation may accept a connection in the moment in which it is replaced.
    run.comes_to_answer("/page.txt", 200, "new");
    run.is_restricted();
}

#[test]
fn conditions_see_files_that_the_sandbox_does_not_let_be_read() {
    let elsewhere = tempfile::tempdir().unwrap();
    let closed = elsewhere.path().join("closed");
    let run = Sandboxed::start(|folder| {
        page(&folder.join("www/current"), "open");
        let condition = format!("path = \"/*\"\nwhen = {{ file = \"{}\" }}\n", closed.display());
        let site = "[[site]]\n[[site.route]]\n";
        let files = "[[site.route]]\npath = \"/*\"\nfiles = { root = \"www/current\" }\n";
        format!("{site}{condition}respond = {{ status = 503 }}\n{files}")
    });
    assert_eq!(run.get("/page.txt"), (200, "open".to_owned()));
    fs::write(&closed, "").unwrap();
    assert_eq!(run.get("/page.txt").0, 503);
    fs::remove_file(&closed).unwrap();
    assert_eq!(run.get("/page.txt"), (200, "open".to_owned()));
    run.is_restricted();
}

#[test]
fn a_log_is_reopened_on_usr1() {
    let run = Sandboxed::start(|folder| {
        page(&folder.join("www/current"), "one");
        fs::create_dir(folder.join("logs")).unwrap();
        format!("access-log = \"logs/access.log\"\n{SITE}")
    });
    let (log, old) = (run.path("logs/access.log"), run.path("logs/old.log"));
    run.get("/1");
    lines_of(&log, 1);
    fs::rename(&log, &old).unwrap();
    run.server.signal(Signal::USR1);
    eventually("a new file", || log.exists().then_some(()));
    run.get("/2");
    assert!(lines_of(&log, 1)[0].contains("GET /2 "));
    run.is_restricted();
}

/// As certbot does: a link to the newest file, and files of other names.
#[test]
fn a_certificate_behind_a_link_is_renewed() {
    requires!("program:curl");
    let issue = |folder: &Path, number: u32| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let target = format!("archive/{number}.pem");
        fs::write(folder.join(&target), certificate.pem() + &key.serialize_pem()).unwrap();
        let (link, fresh) = (folder.join("live/site.pem"), folder.join("live/fresh.pem"));
        symlink(format!("../{target}"), &fresh).unwrap();
        fs::rename(fresh, link).unwrap();
    };
    let run = Sandboxed::start(|folder| {
        page(&folder.join("www/current"), "one");
        fs::create_dir(folder.join("archive")).unwrap();
        fs::create_dir(folder.join("live")).unwrap();
        issue(folder, 1);
        format!("tls = [\"live/site.pem\"]\nlog-level = \"info\"\n{SITE}")
    });
    issue(run.folder.path(), 2);
    eventually("the new certificate", || {
        // A handshake has the server look.
        let port = run.server.announcement.rsplit(':').next()?.trim_end_matches('/');
        let mut curl = Command::new("curl");
        curl.args(["-sk", "--max-time", "20", "-o", "/dev/null", &format!("https://127.0.0.1:{port}/page.txt")]);
        assert!(curl.status().unwrap().success());
        run.server.warned("site.pem: the new certificate is in use")
    });
    run.is_restricted();
}

#[test]
fn a_large_body_is_spooled_and_a_name_is_looked_up() {
    let (address, name) = name_of_this_machine();
    let upstream = TcpListener::bind((address, 0)).unwrap();
    let port = upstream.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in upstream.incoming() {
            let mut stream = stream.unwrap();
            let mut received = Vec::new();
            while received.iter().filter(|byte| **byte == b'x').count() < LENGTH {
                let mut piece = [0; 1 << 16];
                match stream.read(&mut piece).unwrap() {
                    0 => break,
                    length => received.extend_from_slice(&piece[..length]),
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nread");
        }
    });
    let run = Sandboxed::start(|_| {
        format!("[[site]]\nproxy = {{ servers = [\"{name}:{port}\"], buffer-requests = true }}\n")
    });
    let mut stream = run.server.connect();
    write!(stream, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {LENGTH}\r\n\r\n").unwrap();
    stream.write_all(&vec![b'x'; LENGTH]).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nread"), "{answer}");
    run.is_restricted();
}

/// A name that is in `/etc/hosts` only, with an address of this machine; what is named `localhost` needs no look-up.
fn name_of_this_machine() -> (IpAddr, String) {
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let found = hosts.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let address: IpAddr = words.next()?.parse().ok()?;
        let name = words.find(|name| !name.contains("localhost"))?;
        TcpListener::bind((address, 0)).ok().map(|_| (address, name.to_owned()))
    });
    found.unwrap_or_else(|| {
        eprintln!("SKIPPED: no name of this machine is in /etc/hosts, so none is looked up");
        (Ipv4Addr::LOCALHOST.into(), "localhost".to_owned())
    })
}

/// More than the 64 KiB that stay in memory.
const LENGTH: usize = 1 << 20;

#[test]
fn servers_that_run_programs_are_not_restricted_and_the_status_says_why() {
    requires!("program:perl");
    for (text, expected) in [
        (format!("access-log = \"| cat >lines\"\n{SITE}"), "off: the access log runs a command"),
        ("[[site]]\napp = { application = \"app.psgi\" }\n".to_owned(), "off: applications run programs"),
        ("[[site]]\ncgi = { root = \".\" }\n".to_owned(), "off: CGI programs run"),
        (
            format!("access-log = \"syslog:udp://localhost:9\"\n{SITE}"),
            "off: the name of the syslog server is resolved by libraries of the system",
        ),
    ] {
        let run = Sandboxed::start(|folder| {
            page(&folder.join("www/current"), "one");
            fs::write(folder.join("app.psgi"), "sub { [200, [], ['']] }\n").unwrap();
            text.clone()
        });
        assert_eq!(run.sandbox(), expected);
        let said = output(["status", "-c", run.path("serow.toml").to_str().unwrap()]);
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.contains(&format!("\nsandbox        {expected}\n")), "{said}");
    }
}
